//go:build linux

// Command etcd is one embedded member of etcd.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	log.SetFlags(0)
	dir := os.Getenv("DIR")
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("etcd: ", err)
	}
	go func() { log.Fatal((&http.Server{ReadHeaderTimeout: time.Minute}).Serve(admin)) }()
	c := embed.NewConfig()
	c.Dir, c.LogLevel = filepath.Join(dir, "etcd"), "error"
	c.ListenClientUrls, c.ListenPeerUrls = local(), local()
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = c.ListenClientUrls, c.ListenPeerUrls
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	e, err := embed.StartEtcd(c)
	if err != nil {
		log.Fatal("etcd: ", err)
	}
	<-e.Server.ReadyNotify()
	fmt.Println("listening on", e.Clients[0].Addr(), admin.Addr())
	log.Fatal("etcd: ", <-e.Err())
}

func local() []url.URL { return []url.URL{{Scheme: "http", Host: free()}} }

func free() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal("etcd: ", err)
	}
	defer ln.Close()
	return ln.Addr().String()
}
