// Command server is every server of the benchmark of package httpd, by -kind: what its library's
// documentation recommends, with one loop where the library has loops. It answers /hello, /json,
// /64k, /large with 4 MiB, /cpu-100us and /cpu-1ms after about so much of a processor's time, and
// /sleep after a millisecond. The first line that it prints is its address. SIGUSR1 gives memory
// back to the system, SIGTERM ends it.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
)

// kinds are the servers. Each serves until it fails.
var kinds = map[string]func(net.Listener) error{
	"nethttp": func(ln net.Listener) error { return plain().Serve(ln) },
	"httpd-epoll": func(ln net.Listener) error {
		return httpd.Serve(context.Background(), plain(), ln, httpd.Options{Backend: aio.BackendEpoll})
	},
	"httpd-uring": func(ln net.Listener) error {
		return httpd.Serve(context.Background(), plain(), ln, httpd.Options{Backend: aio.BackendIOUring})
	},
	"fasthttp": serveFasthttp,
}

// secured are servers of TLS.
var secured = map[string]func(net.Listener) error{
	"nethttp": func(ln net.Listener) error { return withTLS().ServeTLS(ln, "", "") },
	"httpd-epoll": func(ln net.Listener) error {
		return httpd.ServeTLS(context.Background(), withTLS(), ln, "", "", httpd.Options{Backend: aio.BackendEpoll})
	},
	"httpd-uring": func(ln net.Listener) error {
		return httpd.ServeTLS(context.Background(), withTLS(), ln, "", "", httpd.Options{Backend: aio.BackendIOUring})
	},
}

// binders are servers that listen for themselves.
var binders = map[string]func(addr string) error{"gnet": serveGnet, "nbio": serveNbio, "hertz": serveHertz}

const nap = time.Millisecond

var large = bytes.Repeat([]byte("evenkeel"), 512<<10)

// order is what /json answers.
type order struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Items []string `json:"items"`
	Total float64  `json:"total"`
}

func encoded() []byte {
	b, err := json.Marshal(order{7, "a customer's name", []string{"first", "second", "third", "fourth"}, 1234.5})
	if err != nil {
		log.Fatal("server: ", err)
	}
	return b
}

// answer returns the body and its type for a path.
func answer(path string) ([]byte, string) {
	switch path {
	case "/json":
		return encoded(), "application/json"
	case "/64k":
		return large[:64<<10], "application/octet-stream"
	case "/large":
		return large, "application/octet-stream"
	case "/cpu-100us":
		compute(160 << 10)
	case "/cpu-1ms":
		compute(1600 << 10)
	case "/sleep":
		time.Sleep(nap)
	}
	return []byte("hello"), "text/plain"
}

// compute takes a processor's time, the same for all servers: some 100 µs for 160 KiB, where the
// processor has instructions for it.
func compute(bytes int) { _ = sha256.Sum256(large[:bytes]) }

// unencryptedHTTP2 has net/http's server take it. With TLS it takes HTTP/2 in any case.
var unencryptedHTTP2 = flag.Bool("h2", false, "nethttp, httpd: take HTTP/2 without TLS, too")

// plain is net/http's server.
func plain() *http.Server {
	srv := &http.Server{Handler: http.HandlerFunc(handle)}
	if *unencryptedHTTP2 {
		srv.Protocols = new(http.Protocols)
		srv.Protocols.SetHTTP1(true)
		srv.Protocols.SetHTTP2(true)
		srv.Protocols.SetUnencryptedHTTP2(true)
	}
	return srv
}

// withTLS has a certificate of its own.
func withTLS() *http.Server {
	cert, err := certificate()
	if err != nil {
		log.Fatal("server: ", err)
	}
	srv := plain()
	srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	return srv
}

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func handle(w http.ResponseWriter, r *http.Request) {
	body, kind := answer(r.URL.Path)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func main() {
	log.SetFlags(0)
	names := strings.Join(slices.Concat(slices.Sorted(maps.Keys(kinds)), slices.Sorted(maps.Keys(binders))), ", ")
	kind := flag.String("kind", "nethttp", "one of "+names)
	overTLS := flag.Bool("tls", false, "serve TLS")
	flag.Parse()
	serve, bind := kinds[*kind], binders[*kind]
	if *overTLS {
		serve, bind = secured[*kind], nil
	}
	if serve == nil && bind == nil {
		log.Fatalf("server: -kind %s is not known; it is one of %s", *kind, names)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1)
	go obey(signals)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal("server: ", err)
	}
	addr := ln.Addr().String()
	if bind != nil {
		_ = ln.Close() // it said which port is free
		serve = func(net.Listener) error { return bind(addr) }
	}
	fmt.Println(addr)
	log.Fatalf("server: %s: %v", *kind, serve(ln))
}

// obey does what signals ask for.
func obey(signals <-chan os.Signal) {
	for sig := range signals {
		if sig == syscall.SIGTERM {
			os.Exit(0)
		}
		debug.FreeOSMemory() // twice: what a sync.Pool holds outlives one collection
		debug.FreeOSMemory()
		fmt.Println("settled")
	}
}
