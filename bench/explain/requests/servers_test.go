//lint:file-ignore SA1019 the server of golang.org/x/net is deprecated, and what many programs run

package requests

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/valyala/fasthttp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// cache is what each server answers from. Whoever refreshes it holds the lock, and requests wait.
type cache struct {
	mu   sync.Mutex
	hold time.Duration // for which refresh holds the lock

	// think is for how long a client of a queue or an actor pauses after each answer, so that who
	// gave it waits again: work that is there already when it is asked for is not seen to begin.
	think time.Duration
}

func (c *cache) get() {
	c.mu.Lock() // the planted place
	defer c.mu.Unlock()
}

// refresh holds the lock for long, and closes locked when it has it.
func (c *cache) refresh(locked chan<- bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(locked)
	time.Sleep(c.hold)
}

func (c *cache) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.get()
	_, _ = io.WriteString(w, "hello")
}

// A server starts one that answers from c, and returns what makes a request; each goroutine that
// makes requests asks for its own.
type server func(t *testing.T, c *cache) (client func() (call func() error))

// get makes requests of HTTP with one client.
func get(client *http.Client, url string) func() func() error {
	return func() func() error {
		return func() error {
			res, err := client.Get(url)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				return err
			}
			return res.Body.Close()
		}
	}
}

func serveHTTP1(t *testing.T, c *cache) func() func() error {
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return get(s.Client(), s.URL)
}

// serveHTTP2 serves HTTP/2 by the standard library, over TLS.
func serveHTTP2(t *testing.T, c *cache) func() func() error {
	s := httptest.NewUnstartedServer(c)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return get(s.Client(), s.URL)
}

// serveH2C serves it without TLS.
func serveH2C(t *testing.T, c *cache) func() func() error {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	s := httptest.NewUnstartedServer(c)
	s.Config.Protocols = p
	s.Start()
	t.Cleanup(s.Close)
	client := &http.Client{Transport: &http.Transport{Protocols: p}}
	t.Cleanup(client.CloseIdleConnections)
	return get(client, s.URL)
}

// serveXNet serves HTTP/2 by golang.org/x/net, over TLS.
func serveXNet(t *testing.T, c *cache) func() func() error {
	s := httptest.NewUnstartedServer(c)
	s.EnableHTTP2 = true
	if err := http2.ConfigureServer(s.Config, &http2.Server{}); err != nil {
		t.Fatal(err)
	}
	s.TLS = s.Config.TLSConfig
	s.StartTLS()
	t.Cleanup(s.Close)
	return get(s.Client(), s.URL)
}

// serveXNetH2C serves it without TLS, on connections that it takes from net/http.
func serveXNetH2C(t *testing.T, c *cache) func() func() error {
	s := httptest.NewServer(h2c.NewHandler(c, &http2.Server{}))
	t.Cleanup(s.Close)
	transport := &http2.Transport{AllowHTTP: true, DialTLSContext: func(ctx context.Context, network, addr string,
		_ *tls.Config,
	) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return get(&http.Client{Transport: transport}, s.URL)
}

// health is a service of gRPC.
type health struct {
	healthpb.UnimplementedHealthServer
	c *cache
}

func (h *health) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	h.c.get()
	return &healthpb.HealthCheckResponse{}, nil
}

// serveGRPC serves gRPC with so many stream workers; 0: a goroutine for each stream.
func serveGRPC(workers uint32) server {
	return func(t *testing.T, c *cache) func() func() error {
		s := grpc.NewServer(grpc.NumStreamWorkers(workers))
		healthpb.RegisterHealthServer(s, &health{c: c})
		l := listen(t)
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return func() func() error {
			return func() error {
				_, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
				return err
			}
		}
	}
}

func serveFastHTTP(t *testing.T, c *cache) func() func() error {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		c.get()
		ctx.WriteString("hello") //nolint:errcheck // into memory
	}}
	l := listen(t)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Shutdown() })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	t.Cleanup(client.CloseIdleConnections)
	return get(client, "http://"+l.Addr().String())
}

// serveWebsocket answers each message of a websocket.
func serveWebsocket(t *testing.T, c *cache) func() func() error {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			c.get()
			if conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return func() func() error {
		conn, _, err := websocket.DefaultDialer.Dial(strings.Replace(s.URL, "http", "ws", 1), nil)
		if err != nil {
			t.Error(err)
			return func() error { return err }
		}
		t.Cleanup(func() { conn.Close() })
		return func() error {
			if err := conn.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
				return err
			}
			_, r, err := conn.NextReader() // not ReadMessage, which the server's requests are found by
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			return err
		}
	}
}

// job is a piece of work in a queue.
type job struct{ done chan bool }

// worker takes jobs from a queue.
func worker(c *cache, jobs <-chan job) {
	for j := range jobs {
		c.get()
		j.done <- true
	}
}

// serveQueue has workers that take jobs from a channel.
func serveQueue(t *testing.T, c *cache) func() func() error {
	jobs := make(chan job)
	for range 4 {
		go worker(c, jobs)
	}
	t.Cleanup(func() { close(jobs) })
	return func() func() error {
		return func() error {
			j := job{make(chan bool, 1)}
			jobs <- j
			<-j.done
			time.Sleep(c.think)
			return nil
		}
	}
}

// actor does what its mailbox says, and asks another one meanwhile.
type actor struct {
	mailbox chan job
	c       *cache
	next    *actor // nil: none
}

func (a *actor) run() {
	for j := range a.mailbox {
		a.handle(j)
	}
}

func (a *actor) handle(j job) {
	if a.next == nil {
		a.c.get()
	} else {
		k := job{make(chan bool)}
		a.next.mailbox <- k
		<-k.done
	}
	j.done <- true
}

// serveActors has pairs of actors, the first of which asks the second: each request is one of
// either.
func serveActors(t *testing.T, c *cache) func() func() error {
	return func() func() error {
		back := &actor{mailbox: make(chan job), c: c}
		front := &actor{mailbox: make(chan job), next: back}
		go back.run()
		go front.run()
		t.Cleanup(func() { close(front.mailbox); close(back.mailbox) })
		return func() error {
			j := job{make(chan bool)}
			front.mailbox <- j
			<-j.done
			time.Sleep(c.think)
			return nil
		}
	}
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
