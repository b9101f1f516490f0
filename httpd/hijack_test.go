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
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// TestHijackGivesTheConnection: what Hijack gives is what net/http would have accepted, with what
// was read too far, and without the server's deadlines; it is told of its address.
func TestHijackGivesTheConnection(t *testing.T) {
	ahead := strings.Repeat("read too far. ", 1000)
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, network := range []string{"tcp", "unix"} {
			for _, first := range []string{
				"GET /take HTTP/1.1\r\nUpgrade: x\r\nConnection: Upgrade\r\n",
				"CONNECT x:1 HTTP/1.1\r\n", "GET /take HTTP/1.1\r\n",
			} {
				taken := make(chan net.Conn, 1)
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					nc, rw, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					got, _ := rw.Reader.Peek(rw.Reader.Buffered()) // and then of the connection itself, as some do
					got = bytes.Clone(got)
					rest := make([]byte, len(ahead)-len(got))
					if _, err := io.ReadFull(nc, rest); err != nil || string(got)+string(rest) != ahead {
						t.Errorf("read %d and %d bytes: %v", len(got), len(rest), err)
					}
					fmt.Fprintf(rw, "%T", nc)
					rw.Flush()
					taken <- nc
				})
				addr := "127.0.0.1:0"
				if network == "unix" {
					addr = filepath.Join(t.TempDir(), "s")
				}
				ln, err := net.Listen(network, addr)
				if err != nil {
					t.Fatal(err)
				}
				srv, ended := &http.Server{Handler: h, ReadTimeout: patience, WriteTimeout: patience}, make(chan error)
				go func() { ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }()
				c, err := net.Dial(network, ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				c.SetDeadline(time.Now().Add(patience))
				io.WriteString(c, first+"Host: x:1\r\n\r\n"+ahead)
				nc := <-taken
				srv.Close()
				if err := <-ended; err != http.ErrServerClosed {
					t.Error(err)
				}
				io.WriteString(nc, ".") // it outlives the server
				nc.Close()
				want := map[string]string{"tcp": "*net.TCPConn.", "unix": "*net.UnixConn."}[network]
				if got, err := io.ReadAll(c); string(got) != want || err != nil {
					t.Errorf("%q: %q, %v; want %s", first, got, err, want)
				}
				c.Close()
			}
		}
	})
}

// TestHijackBehindAnswers: the answers that are still to be sent come first, and so does what was
// written before Hijack.
func TestHijackBehindAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/take", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Upgrade", "x")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
			nc, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(nc, "%T", nc)
			nc.Close()
		})
		c := dial(t, serve(t, b, &http.Server{Handler: m}))
		r := bufio.NewReader(c)
		io.WriteString(c, "GET /big HTTP/1.1\r\nHost: x\r\n\r\nGET /take HTTP/1.1\r\nHost: x\r\n\r\n")
		for _, want := range []int{http.StatusOK, http.StatusSwitchingProtocols} {
			res, err := http.ReadResponse(r, nil)
			if err != nil || res.StatusCode != want {
				t.Fatal(res, err)
			}
			if want == http.StatusOK {
				io.Copy(io.Discard, res.Body)
			}
		}
		if got, err := io.ReadAll(r); string(got) != "*net.TCPConn" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestHijackTLS: of TLS it is the *tls.Conn.
func TestHijackTLS(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv := &http.Server{}
		srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			nc, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			line, err := rw.ReadString('\n')
			if s := httpd.StatsOf(srv); s.Conns > 0 || s.Hijacked > 0 || s.UnreadBytes > 0 {
				// whoever does not close it would keep the loop
				t.Errorf("it is aio's still: %+v", s)
			}
			next := make([]byte, 5)
			fmt.Fprintf(nc, "%T %q %v", nc, line, err)
			_, _ = io.ReadFull(rw, next)
			nc.SetReadDeadline(time.Now())
			_, late := nc.Read(next[:1])
			fmt.Fprintf(nc, ", %q %t", next, errors.Is(late, os.ErrDeadlineExceeded))
			nc.Close()
		})
		addr, client := secured(t, b, srv)
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		c := tls.Client(dial(t, addr), config)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\nmore\n")
		first := make([]byte, len(`*tls.Conn "more\n" <nil>`))
		_, _ = io.ReadFull(c, first)
		io.WriteString(c, "again")
		if rest, err := io.ReadAll(c); string(first)+string(rest) != `*tls.Conn "more\n" <nil>, "again" true` ||
			err != nil {
			t.Errorf("%q %q, %v", first, rest, err)
		}
	})
}

// TestHijackTLSAhead: what was read ahead of crypto/tls comes first, and no longer counts as the server's.
func TestHijackTLSAhead(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv, more := &http.Server{}, make(chan bool)
		srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for httpd.StatsOf(srv).UnreadBytes == 0 { // net/http itself reads the first ones
				more <- true
				time.Sleep(time.Millisecond)
			}
			close(more)
			nc, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			if n := httpd.StatsOf(srv).UnreadBytes; n != 0 {
				t.Errorf("%d bytes count as unread", n)
			}
			line, _ := rw.ReadString('.')
			io.WriteString(nc, line)
		})
		addr, client := secured(t, b, srv)
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		c := tls.Client(dial(t, addr), config)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		want := ""
		for range more {
			io.WriteString(c, "m")
			want += "m"
		}
		io.WriteString(c, ".")
		if got, err := io.ReadAll(c); string(got) != want+"." || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want+".")
		}
	})
}

// TestMaxBytesReaderCloses: net/http hears of a body that is too large, though the request asks for an upgrade.
func TestMaxBytesReaderCloses(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1)); err != nil {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
		})
		c := dial(t, serve(t, b, &http.Server{Handler: h}))
		io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n"+
			"Connection: Upgrade\r\nContent-Length: 2\r\n\r\nab")
		if got, err := io.ReadAll(c); !strings.Contains(string(got), "\r\nConnection: close\r\n") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// hijackBehind has a client ask for an upgrade behind an answer that it does not read; clogged is
// told whether that answer's time was not over before. before is called by the handler that
// hijacks; what that comes to goes to hijacked.
func hijackBehind(t *testing.T, b aio.Backend, srv *http.Server, before func()) (c net.Conn, clogged <-chan bool,
	hijacked <-chan error,
) {
	m, first, err := http.NewServeMux(), make(chan bool, 1), make(chan error, 1)
	m.HandleFunc("/first", func(w http.ResponseWriter, _ *http.Request) {
		_, ok := clog(srv, w)
		first <- ok
	})
	m.HandleFunc("/hijack", func(w http.ResponseWriter, _ *http.Request) {
		before()
		c, _, e := w.(http.Hijacker).Hijack()
		if e == nil {
			_, e = io.WriteString(c, "hijacked")
			c.Close()
		}
		err <- e
	})
	srv.Handler = m
	c = slowly(t, serveOn(t, b, srv, narrow(t)))
	io.WriteString(c, "GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /hijack HTTP/1.1\r\nHost: x\r\n\r\n")
	return c, first, err
}

// TestHijackBehindWhatNobodyReads: Hijack waits for what is queued, but not for ever.
func TestHijackBehindWhatNobodyReads(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	httpd.SetFlushLimit(t, time.Second)
	onEach(t, func(t *testing.T, b aio.Backend) {
		c, _, hijacked := hijackBehind(t, b, &http.Server{}, func() {})
		select {
		case err := <-hijacked:
			if err == nil {
				t.Error("what was written behind a cut answer was taken")
			}
		case <-time.After(patience):
			t.Error("Hijack does not return")
			c.Close()
		}
	})
}

// TestHijackBehindWhatWasCut: a connection behind a cut answer is no good any more.
func TestHijackBehindWhatWasCut(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		for limit, late := time.Second, true; late; limit *= 2 { // again where a busy machine has used it up before
			var begun atomic.Bool
			srv, cut := &http.Server{WriteTimeout: limit}, make(chan bool)
			c, clogged, hijacked := hijackBehind(t, b, srv, func() {
				begun.Store(true)
				for end := time.Now().Add(patience); httpd.StatsOf(srv).QueuedBytes > 0 && time.Now().Before(end); {
					time.Sleep(10 * time.Millisecond)
				}
				close(cut)
			})
			late = !wait(t, clogged, "the first answer")
			until(t, srv, "the handler that hijacks, or the end", func(s httpd.Stats) bool {
				return begun.Load() ||
					s.Conns == 0
			})
			if late = late || !begun.Load(); late {
				continue
			}
			wait(t, cut, "the first answer's end")
			all, _ := io.ReadAll(c)
			if err := wait(t, hijacked, "Hijack's end"); err == nil || bytes.Contains(all, []byte("hijacked")) {
				t.Errorf("of %d bytes the last are those behind a cut answer (%v)", len(all), err)
			}
		}
	})
}
