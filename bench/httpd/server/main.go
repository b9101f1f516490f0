//go:build linux

// Command server is each server of package httpd's cases (-kind), as its library's documentation
// recommends, with one loop, or with -loops. It answers /hello, /json, /64k, /cpu-100us, /cpu-1ms and /sleep (1
// ms). SIGUSR1 gives memory back to the system, SIGUSR2 prints shares of a profile.
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
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/fasthttp"
	"go.uber.org/zap"

	"evenkeel.dev/aio"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/httpd"
)

var kinds = map[string]func(net.Listener) error{
	"nethttp": func(ln net.Listener) error {
		if *overTLS {
			return withTLS().ServeTLS(ln, "", "")
		}
		return plain().Serve(ln)
	},
	"httpd-epoll": func(ln net.Listener) error { return serveHTTPD(ln, aio.BackendEpoll) },
	"httpd-uring": func(ln net.Listener) error { return serveHTTPD(ln, aio.BackendIOUring) },
	"fasthttp":    serveFasthttp,
}

func serveHTTPD(ln net.Listener, backend aio.Backend) error {
	o := httpd.Options{Backend: backend, Loops: *loops}
	if *overTLS {
		return httpd.ServeTLS(context.Background(), withTLS(), ln, "", "", o)
	}
	return httpd.Serve(context.Background(), plain(), ln, o)
}

// These listen for themselves.
var binders = map[string]func(addr string) error{"gnet": serveGnet, "nbio": serveNbio, "hertz": serveHertz}

const nap = time.Millisecond

var large = bytes.Repeat([]byte("evenkeel"), 512<<10)

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

func answer(path string) ([]byte, string) {
	switch path {
	case "/json":
		return encoded(), "application/json"
	case "/64k":
		return large[:64<<10], "application/octet-stream"
	case "/cpu-100us":
		compute(160 << 10)
	case "/cpu-1ms":
		compute(1600 << 10)
	case "/sleep":
		time.Sleep(nap)
	}
	return []byte("hello"), "text/plain"
}

// some 100 µs for 160 KiB
func compute(bytes int) { _ = sha256.Sum256(large[:bytes]) }

var (
	unencryptedHTTP2 = flag.Bool("h2", false, "nethttp, httpd: take HTTP/2 without TLS, too")
	overTLS          = flag.Bool("tls", false, "nethttp, httpd: serve TLS")
	loops            = flag.Int("loops", 1, "httpd: the most loops")
	unix             = flag.String("unix", "", "serve a unix socket at this `path`")
)

// srv is the server of nethttp and httpd.
var srv = &http.Server{Handler: http.HandlerFunc(handle)}

func plain() *http.Server {
	if *unencryptedHTTP2 {
		srv.Protocols = new(http.Protocols)
		srv.Protocols.SetHTTP1(true)
		srv.Protocols.SetHTTP2(true)
		srv.Protocols.SetUnencryptedHTTP2(true)
	}
	return srv
}

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
	flag.Parse()
	serve, bind := kinds[*kind], binders[*kind]
	if serve == nil && bind == nil {
		log.Fatalf("server: -kind %s is not known; it is one of %s", *kind, names)
	}
	machine.Obey(profiled)
	network, at := "tcp4", "127.0.0.1:0"
	if *unix != "" {
		network, at = "unix", *unix
	}
	ln, err := net.Listen(network, at)
	if err != nil {
		log.Fatal("server: ", err)
	}
	addr := ln.Addr().String()
	if bind != nil {
		_ = ln.Close() // its port is free
		serve = func(net.Listener) error { return bind(addr) }
	}
	fmt.Println(addr)
	log.Fatalf("server: %s: %v", *kind, serve(ln))
}

func serveFasthttp(ln net.Listener) error {
	return (&fasthttp.Server{Handler: func(c *fasthttp.RequestCtx) {
		body, kind := answer(string(c.Path()))
		c.SetContentType(kind)
		c.SetBody(body)
	}}).Serve(ln)
}

func serveNbio(addr string) error {
	logging.SetLevel(logging.LevelNone)
	engine := nbhttp.NewEngine(nbhttp.Config{
		Network: "tcp", Addrs: []string{addr}, NPoller: 1,
		Handler: http.HandlerFunc(handle),
	})
	if err := engine.Start(); err != nil {
		return err
	}
	select {}
}

func serveHertz(addr string) error {
	hlog.SetLevel(hlog.LevelFatal)
	hlog.SetOutput(io.Discard)
	h := hertz.New(hertz.WithHostPorts(addr), hertz.WithDisablePrintRoute(true))
	h.Any("/*path", func(_ context.Context, c *app.RequestContext) {
		body, kind := answer(string(c.Path()))
		c.Data(http.StatusOK, kind, body)
	})
	return h.Run()
}

// gnetHTTP finds only the ends of requests and their paths.
type gnetHTTP struct{ gnet.BuiltinEventEngine }

func serveGnet(addr string) error {
	return gnet.Run(&gnetHTTP{}, "tcp://"+addr, gnet.WithNumEventLoop(1), gnet.WithLogger(zap.NewNop().Sugar()))
}

func (*gnetHTTP) OnTraffic(c gnet.Conn) gnet.Action {
	for {
		buf, _ := c.Peek(-1)
		end := bytes.Index(buf, []byte("\r\n\r\n"))
		if end < 0 {
			return gnet.None
		}
		_, rest, _ := bytes.Cut(buf[:end], []byte(" "))
		path, _, _ := bytes.Cut(rest, []byte(" "))
		body, kind := answer(string(path))
		if _, err := c.Discard(end + 4); err != nil {
			return gnet.Close
		}
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", kind, len(body))
		if _, err := c.Writev([][]byte{head, body}); err != nil {
			return gnet.Close
		}
	}
}
