package httpd_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/leaks"
)

// parking has f called with each connection that a request hijacks.
func parking(t *testing.T, f func(c *httpd.Conn)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nc, rw, err := http.NewResponseController(httpd.Parkable(w, r)).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if n := rw.Reader.Buffered(); n > 0 {
			t.Errorf("%d bytes are buffered", n)
		}
		f(nc.(*httpd.Conn))
	})
}

// onEachParked runs a test with connections of aio, of TLS over it, and of net/http itself; ask
// sends a request with more behind it.
func onEachParked(t *testing.T, test func(t *testing.T, handle func(http.Handler) (ask func(more string) net.Conn),
	own bool),
) {
	const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	onEach(t, func(t *testing.T, b aio.Backend) {
		t.Run("plain", func(t *testing.T) {
			test(t, func(h http.Handler) func(string) net.Conn {
				addr := serve(t, b, &http.Server{Handler: h})
				return func(more string) net.Conn {
					c := dial(t, addr)
					io.WriteString(c, request+more)
					return c
				}
			}, true)
		})
		t.Run("tls", func(t *testing.T) {
			test(t, func(h http.Handler) func(string) net.Conn {
				addr, client := secured(t, b, &http.Server{Handler: h})
				config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
				config.NextProtos, config.ServerName = nil, "example.com"
				return func(more string) net.Conn {
					c := tls.Client(dial(t, addr), config)
					io.WriteString(c, request+more)
					return c
				}
			}, true)
		})
	})
	t.Run("net/http", func(t *testing.T) {
		test(t, func(h http.Handler) func(string) net.Conn {
			srv := httptest.NewServer(h)
			t.Cleanup(srv.Close)
			return func(more string) net.Conn {
				c := dial(t, srv.Listener.Addr().String())
				io.WriteString(c, request+more)
				return c
			}
		}, false)
	})
}

// echo parks c, and has it send back what comes, until its end.
func echo(c *httpd.Conn, ended *sync.WaitGroup) {
	ended.Add(1)
	var serve func()
	serve = func() {
		b := make([]byte, 7)
		n, err := c.Read(b)
		if err != nil {
			c.Close()
			ended.Done()
			return
		}
		c.Write(b[:n])
		c.Park(serve)
	}
	c.Park(serve)
}

// TestPark: parked connections echo what comes, that too which came with the request; while they
// wait they have no goroutine.
func TestPark(t *testing.T) {
	const conns = 30
	onEachParked(t, func(t *testing.T, handle func(http.Handler) func(string) net.Conn, own bool) {
		var ended sync.WaitGroup
		ask := handle(parking(t, func(c *httpd.Conn) { echo(c, &ended) }))
		warm := ask("")
		sayTo(t, warm, "warm")
		started := leaks.Started()
		var all []net.Conn
		for i := range conns {
			first := fmt.Sprintf("first of %d", i)
			c := ask(first)
			expect(t, c, first)
			all = append(all, c)
		}
		for i := range 3 {
			for n, c := range all {
				sayTo(t, c, fmt.Sprintf("message %d of %d, which is longer", i, n))
			}
		}
		if own {
			for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				n := started()
				if n <= conns/3 {
					break
				}
				if time.Now().After(until) {
					t.Fatalf("%d goroutines for %d connections", n, conns)
				}
			}
		}
		for _, c := range append(all, warm) {
			c.Close()
		}
		ended.Wait()
	})
}

func sayTo(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if _, err := io.WriteString(c, what); err != nil {
		t.Fatal(err)
	}
	expect(t, c, what)
}

func expect(t *testing.T, c net.Conn, what string) {
	t.Helper()
	b := make([]byte, len(what))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != what {
		t.Fatalf("%q, %v; want %q", b, err, what)
	}
}

// TestParkEnds: what Park was given is called at the peer's end, at a deadline, be it set before or
// after, and when the connection is closed.
func TestParkEnds(t *testing.T) {
	onEachParked(t, func(t *testing.T, handle func(http.Handler) func(string) net.Conn, _ bool) {
		conns := make(chan *httpd.Conn, 1)
		ask := handle(parking(t, func(c *httpd.Conn) { conns <- c }))
		for what, step := range map[string]struct {
			before, after func(c *httpd.Conn, peer net.Conn)
			want          error
		}{
			"the peer ends": {nil, func(_ *httpd.Conn, peer net.Conn) { peer.Close() }, io.EOF},
			"closed":        {nil, func(c *httpd.Conn, _ net.Conn) { c.Close() }, net.ErrClosed},
			"closed before": {func(c *httpd.Conn, _ net.Conn) { c.Close() }, nil, net.ErrClosed},
			"a deadline": {func(c *httpd.Conn,
				_ net.Conn,
			) {
				c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
			}, nil, os.ErrDeadlineExceeded},
			"a deadline before": {
				func(c *httpd.Conn, _ net.Conn) { c.SetReadDeadline(time.Unix(1, 0)) }, nil,
				os.ErrDeadlineExceeded,
			},
			"a deadline after": {
				nil, func(c *httpd.Conn, _ net.Conn) { c.SetReadDeadline(time.Unix(1, 0)) },
				os.ErrDeadlineExceeded,
			},
		} {
			peer := ask("")
			c, called := <-conns, make(chan error, 2)
			if step.before != nil {
				step.before(c, peer)
			}
			c.Park(func() {
				_, err := c.Read(make([]byte, 1))
				called <- err
			})
			if step.after != nil {
				step.after(c, peer)
			}
			if err := wait(t, called, what); !errors.Is(err, step.want) {
				t.Errorf("%s: %v, want %v", what, err, step.want)
			}
			if errors.Is(step.want, os.ErrDeadlineExceeded) { // which is no end
				c.SetDeadline(time.Time{})
				io.WriteString(c, "on")
				expect(t, peer, "on")
				c.Park(func() {
					b := make([]byte, 2)
					_, err := io.ReadFull(c, b)
					called <- err
				})
				io.WriteString(peer, "it")
				if err := wait(t, called, "what comes later"); err != nil {
					t.Errorf("%s, and then %v", what, err)
				}
			}
			c.Close()
			peer.Close()
		}
	})
}

// TestParkedWrites: what several goroutines write to a parked connection stands together.
func TestParkedWrites(t *testing.T) {
	const writers, size = 4, 100 << 10
	onEachParked(t, func(t *testing.T, handle func(http.Handler) func(string) net.Conn, _ bool) {
		conns := make(chan *httpd.Conn, 1)
		peer := handle(parking(t, func(c *httpd.Conn) { conns <- c }))("")
		c, ended := <-conns, make(chan bool)
		c.Park(func() {
			c.Close()
			close(ended)
		})
		var writing sync.WaitGroup
		for i := range writers {
			writing.Go(func() {
				for n, part := range []int{size, 9000, 1} {
					if _, err := c.Write(bytes.Repeat([]byte{byte('a' + 3*i + n)}, part)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		r := bufio.NewReader(peer)
		for range 3 * writers {
			first, err := r.ReadByte()
			if err != nil {
				t.Fatal(err)
			}
			rest := make([]byte, []int{size, 9000, 1}[(first-'a')%3]-1)
			if _, err := io.ReadFull(r, rest); err != nil || bytes.Count(rest, []byte{first}) != len(rest) {
				t.Fatalf("not all of %d bytes are %q: %v", len(rest), first, err)
			}
		}
		writing.Wait()
		peer.Close()
		wait(t, ended, "the end")
	})
}

// TestParkableIsOfOneRequest: one that Hijack has failed for leaves no trace on the worker: the
// next request's plain Hijack, on another connection, gives what net/http gives.
func TestParkableIsOfOneRequest(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		kinds := make(chan string, 1)
		m := http.NewServeMux()
		m.Handle("/limited", http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, err := http.NewResponseController(httpd.Parkable(w, r)).Hijack(); !errors.Is(err,
				errors.ErrUnsupported) {
				t.Errorf("Hijack of a TimeoutHandler's writer: %v", err)
			}
		}), patience, ""))
		m.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) {
			nc, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			kinds <- fmt.Sprintf("%T", nc)
			nc.Close()
		})
		srv := &http.Server{Handler: m}
		addr := serve(t, b, srv)
		c := dial(t, addr)
		get(t, c, bufio.NewReader(c), "/limited")
		for start := time.Now(); httpd.StatsOf(srv).Parked == 0; time.Sleep(time.Millisecond) { // the worker is free
			if time.Since(start) > patience {
				t.Fatal("the connection is not parked")
			}
		}
		if n := httpd.StatsOf(srv).Workers; n != 1 {
			t.Fatalf("%d workers, want 1", n)
		}
		io.WriteString(dial(t, addr), "GET /plain HTTP/1.1\r\nHost: x\r\n\r\n")
		if kind := wait(t, kinds, "a plain Hijack"); kind != "*net.TCPConn" {
			t.Errorf("%s, want *net.TCPConn", kind)
		}
	})
}

func TestMain(m *testing.M) { leaks.Main(m) }
