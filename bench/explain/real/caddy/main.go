//go:build linux

// Command caddy is Caddy as a proxy, built as a user would. Its admin endpoint serves the profiles.
package main

import (
	"fmt"
	"log"
	"net"
	"net/url"
	"os"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/logging"
)

const config = `{
	"admin": {"listen": %q, "config": {"persist": false}},
	"logging": {"logs": {"default": {"level": "ERROR"}}},
	"apps": {"http": {"servers": {"front": {
		"listen": [%q], "protocols": ["h1", "h2c"], "automatic_https": {"disable": true},
		"routes": [{"handle": [{"handler": "reverse_proxy", "upstreams": [{"dial": %q}]}]}]
	}}}}
}`

func main() {
	log.SetFlags(0)
	upstream := os.Getenv("UPSTREAM")
	u, err := url.Parse(upstream)
	if err != nil {
		log.Fatal("caddy: ", err)
	}
	front, admin := free(), free()
	if err := caddy.Load(fmt.Appendf(nil, config, admin, front, u.Host), false); err != nil {
		log.Fatal("caddy: ", err)
	}
	fmt.Println("listening on", front, admin)
	select {}
}

// free returns a free address, because Caddy does not print its own.
func free() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("caddy: ", err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
