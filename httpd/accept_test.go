package httpd_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// TestListenerClosed: a listener that its owner closes ends Serve, though the loop accepts from a duplicate. Meanwhile
// it is what BaseContext gets.
func TestListenerClosed(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(network, func(t *testing.T) {
				t.Parallel()
				addr := testutil.Loopback() + ":0"
				if network == "unix" {
					addr = filepath.Join(t.TempDir(), "s")
				}
				ln, err := net.Listen(network, addr)
				if err != nil {
					t.Fatal(err)
				}
				var based atomic.Pointer[net.Listener]
				srv := &http.Server{
					Handler:     mux(),
					BaseContext: func(ln net.Listener) context.Context { based.Store(&ln); return t.Context() },
				}
				ended := make(chan error)
				go func() { ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b}) }()
				c, err := net.Dial(network, ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				if got := get(t, c, bufio.NewReader(c), "/hello?n=1"); got != "hello 1" {
					t.Errorf("%q", got)
				}
				if got := *based.Load(); got != ln {
					t.Errorf("BaseContext got %T", got)
				}
				if err := ln.Close(); err != nil {
					t.Error(err)
				}
				err = <-ended
				op := &net.OpError{}
				if !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) || op.Op != "accept" || op.Addr != ln.Addr() {
					t.Errorf("Serve: %v, want net.ErrClosed of accept", err)
				}
				if _, err := net.Dial(network, ln.Addr().String()); err == nil {
					t.Error("something listens still")
				}
				if _, err := os.Stat(addr); network == "unix" && err == nil {
					t.Error("the file of the socket is left")
				}
				c.Close()
			})
		}
	})
}

// counting is a listener with an Accept of its own.
type counting struct {
	*net.TCPListener
	n atomic.Int32
}

func (l *counting) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	l.n.Add(1)
	return c, err
}

// TestListenerOfUser: what a listener does with its connections is not passed over. The log says that net/http
// serves it.
func TestListenerOfUser(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		own := &counting{TCPListener: ln.(*net.TCPListener)}
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		o := httpd.Options{Backend: b, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		go func() { ended <- httpd.Serve(ctx, &http.Server{Handler: mux()}, own, o) }()
		c := dial(t, ln.Addr().String())
		if got := get(t, c, bufio.NewReader(c), "/hello?n=1"); got != "hello 1" || own.n.Load() != 1 {
			t.Errorf("%q, after %d Accepts", got, own.n.Load())
		}
		cancel()
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "net/http serves this listener"); n != 1 {
			t.Errorf("logged %d times: %s", n, &log)
		}
	})
}

// loud is a connection with a Write of its own.
type loud struct{ *net.TCPConn }

func (l loud) Write(b []byte) (int, error) { return l.TCPConn.Write(bytes.ToUpper(b)) }

type makesLoud struct{ *net.TCPListener }

func (l makesLoud) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	return loud{c}, err
}

// TestConnectionOfUser: what a connection's own methods do is not passed over, though it has a descriptor.
func TestConnectionOfUser(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c := dial(t, serveOn(t, b, &http.Server{Handler: mux()}, makesLoud{ln.(*net.TCPListener)}))
		io.WriteString(c, "GET /hello?n=1 HTTP/1.0\r\n\r\n")
		if got, err := io.ReadAll(c); !strings.HasSuffix(string(got), "HELLO 1") || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestUnixPeer: what a handler sees of the peer of a unix socket, with a name and without, is what
// it sees with net/http.
func TestUnixPeer(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		ask := func(ln net.Listener, as string) string {
			var local *net.UnixAddr
			if as != "" {
				local = &net.UnixAddr{Name: filepath.Join(t.TempDir(), as), Net: "unix"}
			}
			c, err := net.DialUnix("unix", local, ln.Addr().(*net.UnixAddr))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			got := get(t, c, bufio.NewReader(c), "/addr")
			if local != nil {
				got = strings.ReplaceAll(got, local.Name, as)
			}
			return strings.ReplaceAll(got, ln.Addr().String(), "server")
		}
		listen := func() net.Listener {
			ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			return ln
		}
		std := &http.Server{Handler: mux()}
		theirs, ours := listen(), listen()
		go std.Serve(theirs)
		defer std.Close()
		serveOn(t, b, &http.Server{Handler: mux()}, ours)
		for _, as := range []string{"", "named"} {
			if got, want := ask(ours, as), ask(theirs, as); got != want {
				t.Errorf("%q, by net/http %q", got, want)
			}
		}
	})
}

// TestSeveralListeners: one http.Server serves TCP, a unix socket and TLS, begun at the same time;
// idle connections of all end by one Shutdown, and StatsOf has all.
func TestSeveralListeners(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		from := httptest.NewUnstartedServer(nil) // for its certificate
		from.StartTLS()
		defer from.Close()
		config := from.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		for round := range 5 {
			srv := &http.Server{Handler: mux(), TLSConfig: &tls.Config{Certificates: from.TLS.Certificates}}
			var clients []net.Conn
			ended := make(chan error)
			for _, network := range []string{"tcp", "unix", "tls"} {
				addr := "127.0.0.1:0"
				if network == "unix" {
					addr = filepath.Join(t.TempDir(), "s")
				}
				ln, err := net.Listen(strings.Replace(network, "tls", "tcp", 1), addr)
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					if network == "tls" {
						ended <- httpd.ServeTLS(t.Context(), srv, ln, "", "", httpd.Options{Backend: b})
					} else {
						ended <- httpd.Serve(t.Context(), srv, ln, httpd.Options{Backend: b})
					}
				}()
				c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				if network == "tls" {
					c = tls.Client(c, config)
				}
				clients = append(clients, c)
			}
			var readers []*bufio.Reader
			for i, c := range clients {
				r := bufio.NewReader(c)
				if got, want := get(t, c, r, fmt.Sprintf("/hello?n=%d", i)), fmt.Sprintf("hello %d", i); got != want {
					t.Errorf("round %d: %q, want %q", round, got, want)
				}
				readers = append(readers, r)
			}
			until(t, srv, "all are idle", func(s httpd.Stats) bool { return s.Parked == len(clients) })
			if err := srv.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			for i, r := range readers {
				if _, err := r.ReadByte(); err != io.EOF {
					t.Errorf("idle connection %d: %v, want EOF", i, err)
				}
				if err := wait(t, ended, "Serve's end"); err != http.ErrServerClosed {
					t.Error(err)
				}
			}
			if s := httpd.StatsOf(srv); s.Accepted != 3 || s.Conns != 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// TestConnStateBlocks: a ConnState that does not return for a new connection holds up that one alone.
func TestConnStateBlocks(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		release, entered := make(chan bool), make(chan bool)
		var first atomic.Bool
		srv := &http.Server{Handler: mux(), ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew && first.CompareAndSwap(false, true) {
				close(entered)
				<-release
			}
		}}
		addr := serve(t, b, srv)
		late := dial(t, addr)
		<-entered
		c := dial(t, addr)
		if got := get(t, c, bufio.NewReader(c), "/hello?n=1"); got != "hello 1" {
			t.Errorf("%q", got)
		}
		close(release)
		if got := get(t, late, bufio.NewReader(late), "/hello?n=2"); got != "hello 2" {
			t.Errorf("%q", got)
		}
	})
}

// TestConnStateCloses: a ConnState that closes a new connection leaves nothing behind that Serve would wait for.
func TestConnStateCloses(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{Handler: mux(), ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateNew {
				c.Close()
			}
		}})
		if n, err := dial(t, addr).Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes of a connection that was closed", n)
		}
	})
}

// TestServeAfterShutdown: of a server that was shut down nothing is accepted, and Serve says so. In a bubble nothing is
// called later, either.
func TestServeAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := &pipes{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		ln.conns <- nil
		srv := &http.Server{Handler: mux()}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := httpd.Serve(t.Context(), srv, ln, httpd.Options{}); err != http.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		synctest.Wait()
		if len(ln.conns) == 0 {
			t.Error("a connection was accepted")
		}
		<-ln.closed
	})
}

// TestZone: the address of a client on this link has the name of its interface, as with net/http.
func TestZone(t *testing.T) {
	local := func() string {
		interfaces, _ := net.Interfaces()
		for _, i := range interfaces {
			addrs, _ := i.Addrs()
			for _, a := range addrs {
				if n, ok := a.(*net.IPNet); ok && n.IP.To4() == nil && n.IP.IsLinkLocalUnicast() {
					return n.IP.String() + "%" + i.Name
				}
			}
		}
		return ""
	}()
	if local == "" {
		t.Skip("no interface has an IPv6 address of its link")
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		ln, err := net.Listen("tcp", net.JoinHostPort(local, "0"))
		if err != nil {
			t.Skip(err)
		}
		serveOn(t, b, &http.Server{Handler: mux()}, ln)
		c := dial(t, net.JoinHostPort(local, fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)))
		if got := get(t, c, bufio.NewReader(c), "/addr"); !strings.HasPrefix(got, c.LocalAddr().String()+" ") {
			t.Errorf("the client at %v is told %q", c.LocalAddr(), got)
		}
	})
}
