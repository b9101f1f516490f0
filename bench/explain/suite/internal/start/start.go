//go:build linux

// Package start is how the suite's programs begin, and what little else they have in common. The driver, two folders up, knows what
// each of their features suffers from; nothing in here says it, since names would end up in the binaries.
package start

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"time"
)

// Env is what the driver gives a program in its environment.
type Env struct {
	Feature  string // the number of the one that is asked for
	Dir      string // for files
	Upstream string // URL of the services behind
	Names    string // address of the name server
	Secure   string // URL of a service behind, over TLS
	Office   string // address of the service behind over gRPC
}

// Read reads the environment of the program of that name.
func Read(program string) Env {
	log.SetFlags(0)
	log.SetPrefix(program + ": ")
	return Env{
		os.Getenv("FEATURE"), os.Getenv("DIR"), os.Getenv("UPSTREAM"),
		os.Getenv("NAMES"), os.Getenv("SECURE"), os.Getenv("OFFICE"),
	}
}

// None ends a program that has not got the feature.
func (e Env) None() { log.Fatalf("FEATURE=%s: there is none", e.Feature) }

// Handler makes the feature's handler, by the features' numbers, out of what they share.
func Handler[T any](e Env, features map[string]func(T) (http.Handler, error), shared T) http.Handler {
	feature := features[e.Feature]
	if feature == nil {
		e.None()
	}
	h, err := feature(shared)
	if err != nil {
		log.Fatal(err)
	}
	return h
}

// Serve tells the driver where the program serves, its profiles on the same port, and serves until it is ended.
func Serve(srv *http.Server) {
	srv.ReadHeaderTimeout = time.Minute
	ln := listen()
	fmt.Println("listening on", ln.Addr(), ln.Addr())
	log.Fatal(srv.Serve(ln))
}

// ServeBeside is Serve of what is no server of net/http: the profiles are on a port of their own.
func ServeBeside(serve func(net.Listener) error) {
	ln, admin := listen(), listen()
	go func() { log.Fatal((&http.Server{ReadHeaderTimeout: time.Minute}).Serve(admin)) }()
	fmt.Println("listening on", ln.Addr(), admin.Addr())
	log.Fatal(serve(ln))
}

func listen() net.Listener {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return ln
}

// Every calls f again and again.
func Every(d time.Duration, f func()) {
	for range time.Tick(d) {
		f()
	}
}

// Fail answers that a request has failed.
func Fail(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusInternalServerError)
}
