package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
)

// TestConnStateLocked closes a connection while holding what ConnState locks, as httptest.Server.Close does; also from
// inside of net/http, which holds its Server's mutex then.
func TestConnStateLocked(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		var mu sync.Mutex
		idle, closed := make(chan net.Conn, 9), make(chan net.Conn, 9)
		srv := &http.Server{Handler: http.NotFoundHandler(), ConnState: func(c net.Conn, to http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			switch to {
			case http.StateIdle:
				idle <- c
			case http.StateClosed:
				closed <- c
			}
		}}
		addr := serve(t, b, srv)
		for _, end := range []func(c net.Conn){
			func(c net.Conn) { c.Close() },
			func(net.Conn) { srv.SetKeepAlivesEnabled(false) },
		} {
			c := dial(t, addr)
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
				t.Fatal(err)
			}
			real := wait(t, idle, "StateIdle")
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				mu.Lock()
				defer mu.Unlock()
				end(real)
			}()
			wait(t, ended, "the closing")
			c.Close()
			if wait(t, closed, "StateClosed") != real {
				t.Error("another connection's end was told")
			}
		}
	})
}

func wait[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s does not come", what)
		panic("unreachable")
	}
}

// TestHappensBefore sends a request that a test has prepared with the server running already: with -race
// this is no race, as with net/http.
func TestHappensBefore(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		var there, back int
		url := "http://" + serve(t, b,
			&http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { back = there })})
		for i := range 10 {
			there = i
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if back != i {
				t.Fatalf("%d, not %d", back, i)
			}
		}
		http.DefaultClient.CloseIdleConnections()
	})
}

// pipes is a listener in memory.
type pipes struct {
	net.Listener // nil
	conns        chan net.Conn
	closed       chan struct{}
	once         sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// TestSynctest serves in a bubble, where a goroutine that waits in the kernel would keep time from passing.
func TestSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		srv := &http.Server{IdleTimeout: time.Minute, Handler: http.NotFoundHandler()}
		ended := begin(t, httpd.Options{}, srv, ln)
		client, server := net.Pipe()
		ln.conns <- server
		synctest.Wait()
		if err := httptest.NewRequest("GET", "http://x/", nil).Write(client); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(client)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != http.StatusNotFound {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		start := time.Now()
		if _, err := in.WriteTo(new(discard)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("closed after %v", d)
		}
		srv.Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestWritePastDeadline writes when the deadline is over: the handler hears of it at once, and nothing is sent.
func TestWritePastDeadline(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		flushed := make(chan error, 1)
		c := dial(t, serve(t, b, &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			ctl := http.NewResponseController(rw)
			fmt.Fprint(rw, "one")
			ctl.Flush()
			ctl.SetWriteDeadline(time.Now().Add(-time.Second))
			fmt.Fprint(rw, "two")
			flushed <- ctl.Flush()
		})}))
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if err := wait(t, flushed, "the handler's end"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Flush: %v", err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != "one" {
			t.Errorf("the body is %q", body)
		}
	})
}

// TestEmptyLines: those before a request are blankLines where the connection's own last request was a
// POST, as by net/http, whatever was asked on the connections that its workers had meanwhile.
func TestEmptyLines(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		plain := serve(t, b, &http.Server{Handler: opinions()})
		secure, client := secured(t, b, &http.Server{Handler: opinions()})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		for name, dial := range map[string]func() net.Conn{
			"plain": func() net.Conn { return dial(t, plain) },
			"TLS":   func() net.Conn { return tls.Client(dial(t, secure), config) },
		} {
			t.Run(name, func(t *testing.T) {
				ask := func(c net.Conn, r *bufio.Reader, request string) int {
					t.Helper()
					fmt.Fprint(c, request)
					res, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Fatalf("%q: %v", request, err)
					}
					_, _ = io.Copy(io.Discard, res.Body)
					return res.StatusCode
				}
				const post, get = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
					"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
				posted, got := dial(), dial()
				p, g := bufio.NewReader(posted), bufio.NewReader(got)
				for _, blank := range []string{"\r\n", "\r\n\r\n", "\n", "\n\r\n\n"} {
					ask(got, g, get)
					ask(posted, p, post)
					third := dial()
					if status := ask(third, bufio.NewReader(third), blank+get); status != 400 {
						t.Errorf("%q at the beginning: %d, want 400", blank, status)
					}
					ask(got, g, get)
					if status := ask(posted, p, blank+get); status != 200 {
						t.Errorf("%q after a POST: %d, want 200", blank, status)
					}
					ask(posted, p, post)
				}
				if status := ask(posted, p, "\r\n\r\n\r\n"+get); status != 400 {
					t.Errorf("six bytes after a POST: %d, want 400", status)
				}
				ask(got, g, get)
				if status := ask(got, g, "\r\n"+get); status != 400 {
					t.Errorf("after a GET: %d, want 400", status)
				}
			})
		}
	})
}

// TestTornRequest: a first request that stops after two bytes and is not there in time is closed and
// counted, whatever its worker has served before. It is a bad one, or gets no answer.
func TestTornRequest(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, before := range []string{"", "GET", "POST"} {
			srv := &http.Server{Handler: mux(), ReadHeaderTimeout: 250 * time.Millisecond}
			addr := serve(t, b, srv)
			if before != "" {
				c := dial(t, addr)
				fmt.Fprintf(c, "%s /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", before)
				if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
					t.Fatal(err)
				}
				until(t, srv, "an idle worker", func(s httpd.Stats) bool { return s.Parked == 1 })
			}
			c := dial(t, addr)
			io.WriteString(c, "GE")
			got, err := io.ReadAll(c)
			if err != nil && !isReset(err) {
				t.Fatal(err)
			}
			if len(got) > 0 && !bytes.HasPrefix(got, []byte("HTTP/1.1 400 Bad Request")) {
				t.Errorf("by a worker that has served %q: %q", before, got)
			}
			if s := httpd.StatsOf(srv); s.HeaderTimeouts != 1 {
				t.Errorf("%+v, want one header that was late", s)
			}
		}
	})
}

// states notes what ConnState is told of each connection.
type states struct {
	mu   sync.Mutex
	told map[string][]string // by the client's address
	some chan struct{}       // something was told
}

func noting(srv *http.Server) *states {
	s := &states{told: map[string][]string{}, some: make(chan struct{}, 1000)}
	srv.ConnState = func(c net.Conn, to http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told[c.RemoteAddr().String()] = append(s.told[c.RemoteAddr().String()], to.String())
		s.some <- struct{}{}
	}
	return s
}

// await waits until this was told of the connection.
func (s *states) await(t *testing.T, client net.Conn, want ...string) {
	t.Helper()
	for {
		s.mu.Lock()
		got := fmt.Sprint(s.told[client.LocalAddr().String()])
		s.mu.Unlock()
		if got == fmt.Sprint(want) {
			return
		}
		select {
		case <-s.some:
		case <-time.After(patience):
			t.Fatalf("ConnState was told %s, want %s", got, want)
		}
	}
}

// TestConnStateBlocksAtTheEnd: a ConnState that does not return from one connection's end keeps no
// other one from its end.
func TestConnStateBlocksAtTheEnd(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		silent, entered, release := "", make(chan bool), make(chan bool)
		goOn := sync.OnceFunc(func() { close(release) })
		defer goOn()
		srv := &http.Server{Handler: mux(), ErrorLog: log.New(io.Discard, "", 0)}
		srv.ConnState = func(c net.Conn, to http.ConnState) {
			if to == http.StateClosed && c.RemoteAddr().String() == silent {
				close(entered)
				<-release
			}
		}
		addr, client := secured(t, b, srv)
		first := dial(t, addr)
		silent = first.LocalAddr().String()
		until(t, srv, "it is there", func(s httpd.Stats) bool { return s.Parked == 1 })
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		idle := tls.Client(dial(t, addr), config)
		r := bufio.NewReader(idle)
		get(t, idle, r, "/hello")
		until(t, srv, "both are idle", func(s httpd.Stats) bool { return s.Parked == 2 })
		srv.Close()
		wait(t, entered, "StateClosed")
		if got, err := io.ReadAll(r); len(got) > 0 || err != nil {
			t.Errorf("the other one: %q, %v; want the end", got, err)
		}
	})
}

// TestConnStateAtTheEnd: the end of a connection is told that net/http never saw: whose handshake
// fails, and one of HTTP/2 that waits for net/http's Serve when that is closed. ConnContext is
// asked for the same net.Conn that ConnState is told of.
func TestConnStateAtTheEnd(t *testing.T) {
	start := func(srv *http.Server) (asked func(what string), told *states, release chan bool) {
		entered, begun := make(chan net.Conn, 1), make(chan net.Conn, 9)
		release = make(chan bool, 9)
		srv.Handler, srv.ErrorLog = mux(), log.New(io.Discard, "", 0)
		srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			entered <- c
			<-release
			return ctx
		}
		told = noting(srv)
		note := srv.ConnState
		srv.ConnState = func(c net.Conn, to http.ConnState) {
			if to == http.StateNew {
				begun <- c
			}
			note(c, to)
		}
		return func(what string) {
			t.Helper()
			if c := wait(t, entered, "ConnContext"); c != wait(t, begun, "StateNew") {
				t.Errorf("%s: ConnContext is asked for a %T that ConnState was not told of", what, c)
			}
		}, told, release
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv := &http.Server{}
		asked, told, release := start(srv)
		for range 9 {
			release <- true
		}
		addr, client := secured(t, b, srv)
		plain := dial(t, addr)
		io.WriteString(plain, "not a handshake")
		told.await(t, plain, "new", "closed")
		asked("a handshake that fails")
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.ServerName = "example.com"
		for _, config.NextProtos = range [][]string{nil, {"h2"}} {
			c := tls.Client(dial(t, addr), config)
			if err := c.Handshake(); err != nil {
				t.Fatal(err)
			}
			asked(fmt.Sprint("HTTP/1 or ", config.NextProtos))
		}

		srv = &http.Server{Protocols: protocols((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2)}
		asked, told, release = start(srv)
		addr = serve(t, b, srv)
		var both []net.Conn
		for range 2 {
			c := dial(t, addr)
			io.WriteString(c, preface)
			both = append(both, c)
			if len(both) == 1 {
				asked("HTTP/2") // net/http's Serve waits with it from here on
			}
		}
		told.await(t, both[1], "new")
		until(t, srv, "both have a worker", func(s httpd.Stats) bool {
			return s.Conns == 2 && s.Parked == 0 &&
				s.UnreadBytes > 0
		})
		closed := make(chan error)
		go func() { closed <- srv.Close() }()
		told.await(t, both[1], "new", "closed")
		close(release)
		if err := wait(t, closed, "Close's end"); err != nil {
			t.Error(err)
		}
	})
}
