package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	backendEnv = "NETHTTP_BACKEND" // aio's backend
	missing    = 3                 // exit code without the backend
)

// hooked are changes to net/http's server.go.
var hooked = [][2]string{
	{"func (s *Server) Serve(l net.Listener) error {", `// HookServe is what Serve is in the tests.
var HookServe func(s *Server, l net.Listener) error

func (s *Server) Serve(l net.Listener) error { return HookServe(s, l) }

// ServeItself is Serve as it was.
func (s *Server) ServeItself(l net.Listener) error {`},
	{`func (s *Server) ServeTLS(l net.Listener, certFile, keyFile string) error {`, `
// HookServeTLS is what ServeTLS is in the tests.
var HookServeTLS func(s *Server, l net.Listener, certFile, keyFile string) error

func (s *Server) ServeTLS(l net.Listener, certFile, keyFile string) error {
	return HookServeTLS(s, l, certFile, keyFile)
}

// ServeTLSItself is ServeTLS as it was.
func (s *Server) ServeTLSItself(l net.Listener, certFile, keyFile string) error {`},
}

var hook = `package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"reflect"
	"time"

	"evenkeel.dev/aio"
)

func init() {
	var o Options
	if err := o.Backend.UnmarshalText([]byte(os.Getenv("` + backendEnv + `"))); err != nil {
		panic(err)
	}
	o.Loops = 2
	// connections move as often as they can
	crowded, uneven, quiet, balanceEvery, quietEvery = 0, 0, -1, time.Millisecond, time.Millisecond
	if w, err := aio.New(aio.Options{Backend: o.Backend}); err == nil {
		w.Close()
	} else if errors.Is(err, errors.ErrUnsupported) {
		fmt.Println(err)
		os.Exit(` + fmt.Sprint(missing) + `)
	}
	http.HookServe, http.HookServeTLS = (*http.Server).ServeItself, (*http.Server).ServeTLSItself
	if err := prove(); err != nil { // now, because it serves by net/http
		panic(err)
	}
	alone := func(srv *http.Server) bool { // so httpd.Serve would call Serve
		return srv.Protocols != nil && !srv.Protocols.HTTP1()
	}
	http.HookServe = func(srv *http.Server, ln net.Listener) error {
		_, own := ln.(*server)
		// Not a listener: from Go 1.27 on, x/net/http2 configures srv so.
		_, config := ln.(interface{ HTTP2Config() http.HTTP2Config })
		if own || config || alone(srv) {
			return srv.ServeItself(ln)
		}
		inner, secure := ln, (*tls.Config)(nil)
		if fmt.Sprintf("%T", ln) == "*tls.listener" { // as of a program that calls ServeTLS
			l := reflect.ValueOf(ln).Elem()
			inner = l.FieldByName("Listener").Interface().(net.Listener)
			secure = (*tls.Config)(l.FieldByName("config").UnsafePointer())
		}
		switch inner.(type) {
		case *net.TCPListener, *net.UnixListener:
		default: // so httpd.Serve would call Serve
			return srv.ServeItself(ln)
		}
		return serve(context.Background(), srv, inner, o, secure)
	}
	http.HookServeTLS = func(srv *http.Server, ln net.Listener, certFile, keyFile string) error {
		if ln == nil || alone(srv) { // nil: httpd asks what net/http does
			return srv.ServeTLSItself(ln, certFile, keyFile)
		}
		return ServeTLS(context.Background(), srv, ln, certFile, keyFile, o)
	}
}
`

const imports = "package http_test\n\nimport _ \"evenkeel.dev/httpd\"\n"

// overlay writes what go test -overlay reads to tmp, and returns its name.
func overlay(tmp, nethttp, httpd string) (string, error) {
	file := filepath.Join(nethttp, "server.go")
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	server := string(b)
	for _, h := range hooked {
		if !strings.Contains(server, h[0]) {
			return "", fmt.Errorf("%s has no %q any more: see how it serves now", file, h[0])
		}
		server = strings.Replace(server, h[0], h[1], 1)
	}
	replace := map[string]string{}
	for path, text := range map[string]string{
		file: server,
		filepath.Join(nethttp, "evenkeel_test.go"): imports,
		filepath.Join(httpd, "nethttp_hook.go"):    hook,
	} {
		replace[path] = filepath.Join(tmp, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	if b, err = json.Marshal(map[string]any{"Replace": replace}); err != nil {
		return "", err
	}
	file = filepath.Join(tmp, "overlay.json")
	return file, os.WriteFile(file, b, 0o600)
}
