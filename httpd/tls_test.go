package httpd_test

import (
	"bufio"
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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
)

// secured starts a server of TLS, and returns its address and a client that trusts it.
func secured(t *testing.T, b aio.Backend, srv *http.Server) (string, *http.Client) {
	from := httptest.NewUnstartedServer(nil) // for its certificate
	from.EnableHTTP2 = true
	from.StartTLS()
	t.Cleanup(from.Close)
	if srv.TLSConfig == nil {
		srv.TLSConfig = &tls.Config{}
	}
	srv.TLSConfig.Certificates = from.TLS.Certificates
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- httpd.ServeTLS(t.Context(), srv, ln, "", "", httpd.Options{Backend: b}) }()
	client := from.Client()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		srv.Close()
		select {
		case err := <-ended:
			if err != http.ErrServerClosed {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("Serve does not return")
		}
	})
	return ln.Addr().String(), client
}

// TestTLS: many connections of TLS, most of them idle, with requests in small pieces, by a few
// workers; the state is each connection's own.
func TestTLS(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/tls", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.TLS.ServerName, " ",
				r.RemoteAddr)
		})
		addr, client := secured(t, b, &http.Server{Handler: m})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos = nil
		var asking sync.WaitGroup
		for i := range 16 {
			asking.Go(func() {
				raw := dial(t, addr)
				config := config.Clone()
				config.ServerName = "example.com"
				c := tls.Client(&pieces{raw}, config)
				r := bufio.NewReader(c)
				for n := range 5 {
					if got, want := get(t, c, r, fmt.Sprintf("/hello?n=%d", n)),
						fmt.Sprintf("hello %d", n); got != want {
						t.Errorf("%q, want %q", got, want)
					}
				}
				if got, want := get(t, c, r, "/tls"), "example.com "+raw.LocalAddr().String(); got != want {
					t.Errorf("%q, want %q", got, want)
				}
				if i > 1 { // a race detector takes its time for AES
					c.Close()
					return
				}
				if got := get(t, c, r, "/big"); len(got) != 3<<20 {
					t.Errorf("%d bytes", len(got))
				}
				c.Close()
			})
		}
		asking.Wait()
	})
}

// TestHandshakePanics: a callback of the handshake that panics ends its connection, as with net/http, and nothing else.
func TestHandshakePanics(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		srv, said := &http.Server{Handler: mux()}, make(logged, 10)
		srv.ErrorLog = log.New(said, "", 0)
		srv.TLSConfig = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			if h.ServerName == "panics.example.com" {
				panic("as the test wants")
			}
			return nil, nil
		}}
		addr, client := secured(t, b, srv)
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.ServerName = "panics.example.com"
		c := tls.Client(dial(t, addr), config)
		if err := c.HandshakeContext(t.Context()); err == nil {
			t.Error("the handshake succeeds")
		}
		if got, want := <-said, "http: panic serving "+c.LocalAddr().String()+
			": as the test wants\n"; !strings.HasPrefix(got, want) {
			t.Errorf("the log says %q, want %q", got, want)
		}
		resp, err := client.Get("https://" + addr + "/hello?n=1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		until(t, srv, "the end of the first", func(s httpd.Stats) bool { return s.Handshakes == 1 && s.Conns == 1 })
	})
}

// TestHandshakeContext: callbacks of the handshake have the context that net/http gives them, and
// ConnContext is asked once for a connection.
func TestHandshakeContext(t *testing.T) {
	type key struct{}
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, second := range []bool{false, true} {
			srv := &http.Server{Handler: mux()}
			var asked atomic.Int32
			srv.BaseContext = func(net.Listener) context.Context {
				return context.WithValue(context.Background(), key{},
					"base")
			}
			srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
				asked.Add(1)
				return context.WithValue(ctx, key{}, fmt.Sprint(ctx.Value(key{}), " ", c.RemoteAddr()))
			}
			hellos := make(chan [4]any, 1)
			srv.TLSConfig = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				ctx := h.Context()
				hellos <- [4]any{
					ctx.Value(key{}), ctx.Value(http.ServerContextKey),
					ctx.Value(http.LocalAddrContextKey), h.Conn.LocalAddr(),
				}
				if _, ok := h.Conn.(syscall.Conn); !ok {
					t.Error("the socket has no options")
				}
				return nil, nil
			}}
			addr, client := secured(t, b, srv)
			client.Transport.(*http.Transport).ForceAttemptHTTP2 = second
			if !second {
				client.Transport.(*http.Transport).TLSClientConfig.NextProtos = nil
			}
			for range 2 {
				resp, err := client.Get("https://" + addr + "/hello?n=1")
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if (resp.ProtoMajor == 2) != second {
					t.Errorf("%s", resp.Proto)
				}
			}
			got := <-hellos
			text, _ := got[0].(string)
			if !strings.HasPrefix(text, "base 127.0.0.1:") || got[1] != srv || fmt.Sprint(got[2]) != addr ||
				fmt.Sprint(got[3]) != addr {
				t.Errorf("%v", got)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("ConnContext was asked %d times", n)
			}
		}
	})
}

// pieces is a connection whose writes arrive one byte, then the rest.
type pieces struct{ net.Conn }

func (p *pieces) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b[:1])
	if err == nil && len(b) > 1 {
		var more int
		more, err = p.Conn.Write(b[1:])
		n += more
	}
	return n, err
}

// torn is a connection whose next write has its last bytes late, once.
type torn struct {
	net.Conn
	late int
}

func (c *torn) Write(b []byte) (n int, err error) {
	if first := len(b) - c.late; c.late > 0 {
		if n, err = c.Conn.Write(b[:first]); err != nil {
			return n, err
		}
		c.late = 0
		time.Sleep(50 * time.Millisecond) // a worker has seen the first part by then; else the test passes in any case
	}
	more, err := c.Conn.Write(b[n:])
	return n + more, err
}

// TestTLSTorn: a request of which up to three bytes of its record came late is as any other: its
// worker is free behind it, and Hijack gets the connection.
func TestTLSTorn(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/take", func(w http.ResponseWriter, r *http.Request) {
			nc, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntaken")
			nc.Close()
		})
		srv := &http.Server{Handler: m}
		addr, client := secured(t, b, srv)
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		for late := 1; late <= 3; late++ {
			for path, want := range map[string]string{"/hello?n=1": "hello 1", "/take": "taken"} {
				raw := &torn{Conn: dial(t, addr)}
				c := tls.Client(raw, config)
				if err := c.Handshake(); err != nil {
					t.Fatal(err)
				}
				raw.late = late
				if got := get(t, c, bufio.NewReader(c), path); got != want {
					t.Errorf("%s: %q, want %q", path, got, want)
				}
			}
		}
		down := make(chan error, 1)
		go func() { down <- srv.Shutdown(context.Background()) }()
		if err := wait(t, down, "Shutdown's end"); err != nil {
			t.Error(err)
		}
	})
}

// TestTLSClients: a request has the certificate of its own connection's client, and whether that
// has resumed a session; who needs a certificate and has none is refused, and counted.
func TestTLSClients(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/client", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, len(r.TLS.PeerCertificates), r.TLS.DidResume)
		})
		srv := &http.Server{Handler: m, TLSConfig: &tls.Config{ClientAuth: tls.RequestClientCert}}
		addr, client := secured(t, b, srv)
		plain := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		plain.NextProtos, plain.ServerName, plain.ClientSessionCache = nil, "example.com",
			tls.NewLRUClientSessionCache(1)
		known := plain.Clone()
		known.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		known.Certificates = srv.TLSConfig.Certificates
		for _, resumed := range []bool{false, true} {
			conns := []net.Conn{tls.Client(dial(t, addr), plain), tls.Client(dial(t, addr), known)}
			readers := []*bufio.Reader{bufio.NewReader(conns[0]), bufio.NewReader(conns[1])}
			for range 3 {
				for i, c := range conns {
					if got, want := get(t, c, readers[i], "/client"), fmt.Sprint(i, resumed); got != want {
						t.Errorf("client %d: %q, want %q", i, got, want)
					}
				}
			}
		}

		strict := &http.Server{
			Handler: m, TLSConfig: &tls.Config{ClientAuth: tls.RequireAnyClientCert},
			ErrorLog: log.New(io.Discard, "", 0),
		}
		addr, _ = secured(t, b, strict)
		c := tls.Client(dial(t, addr), &tls.Config{RootCAs: plain.RootCAs, ServerName: "example.com"})
		io.WriteString(c, "GET /client HTTP/1.1\r\nHost: x\r\n\r\n")
		if got, err := io.ReadAll(c); len(got) > 0 || err == nil {
			t.Errorf("without a certificate: %q, %v", got, err)
		}
		until(t, strict, "the refusal is counted", func(s httpd.Stats) bool { return s.Handshakes == 1 })
	})
}

// TestTLSLeave: a request's context ends when its client leaves, also one that has sent other requests before.
func TestTLSLeave(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, left := mux(), make(chan error, 1)
		m.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			left <- r.Context().Err()
		})
		addr, client := secured(t, b, &http.Server{Handler: m})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		for _, politely := range []bool{true, false} {
			c := tls.Client(dial(t, addr), config)
			r := bufio.NewReader(c)
			get(t, c, r, "/hello")
			io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := r.ReadByte(); err != nil {
				t.Fatal(err)
			}
			if politely {
				c.Close()
			} else {
				c.NetConn().Close()
			}
			if err := wait(t, left, "the end of the request's context"); err != context.Canceled {
				t.Errorf("the context says %v", err)
			}
		}
	})
}

// TestTLSEnds: an idle connection is told of its end; who stalls in the handshake is closed, and
// who speaks plain HTTP is told.
func TestTLSEnds(t *testing.T) {
	const short = 300 * time.Millisecond // only those meet it that are to
	onEach(t, func(t *testing.T, b aio.Backend) {
		quiet := log.New(io.Discard, "", 0)
		addr, _ := secured(t, b, &http.Server{ReadHeaderTimeout: short, ErrorLog: quiet})
		stalled, silent := dial(t, addr), dial(t, addr)
		stalled.Write([]byte{22, 3, 1})
		addr, client := secured(t, b, &http.Server{Handler: mux(), IdleTimeout: short, ErrorLog: quiet})
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		plain := dial(t, addr)
		io.WriteString(plain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		idle := tls.Client(dial(t, addr), config)
		r := bufio.NewReader(idle)
		get(t, idle, r, "/hello")
		if b, err := io.ReadAll(r); len(b) > 0 || err != nil { // without close_notify it were io.ErrUnexpectedEOF
			t.Errorf("idle: %q, %v; want the end", b, err)
		}
		for what, c := range map[string]net.Conn{"stalled": stalled, "silent": silent} {
			if _, err := io.Copy(io.Discard, c); err != nil && !(what == "stalled" && isReset(err)) {
				// on a busy machine nobody has read it
				t.Errorf("%s: %v; want the end", what, err)
			}
		}
		if b, _ := io.ReadAll(plain); !strings.Contains(string(b), "Client sent an HTTP request to an HTTPS server.") {
			t.Errorf("%q", b)
		}
	})
}

// TestTLSSilent: who connects and says nothing is logged, as net/http does it, which counts
// WriteTimeout for a handshake too, before its end can be seen.
func TestTLSSilent(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		said := make(logged)
		for want, srv := range map[string]*http.Server{
			"i/o timeout": {WriteTimeout: 50 * time.Millisecond},
			"EOF":         {},
		} {
			srv.ErrorLog = log.New(said, "", 0)
			addr, _ := secured(t, b, srv)
			c := dial(t, addr)
			if want == "EOF" {
				c.Close()
			} else { // said takes nothing yet
				_ = c.SetReadDeadline(time.Now().Add(150 * time.Millisecond))
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("its end can be seen before that is logged: %v", err)
				}
			}
			got := wait(t, said, "what is logged")
			if want = ": " + want + "\n"; !strings.HasPrefix(got, "http: TLS handshake error from "+
				c.LocalAddr().String()+": ") || !strings.HasSuffix(got, want) {
				t.Errorf("%q is logged", got)
			}
		}
	})
}

// logged is a Writer that passes on what is written.
type logged chan string

func (l logged) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestTLSRefused: after a handshake that failed the worker takes no other connection, as its time
// for the first one runs; and ConnState is told of the end. Each connection has some time, and the
// last one has plenty.
func TestTLSRefused(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		var err error
		for limit := 50 * time.Millisecond; limit < patience; limit *= 4 {
			if err = refused(t, b, limit); err == nil {
				return
			}
		}
		t.Error(err)
	})
}

func refused(t *testing.T, b aio.Backend, limit time.Duration) error {
	ended := make(chan net.Conn, 9)
	addr, client := secured(t, b, &http.Server{
		Handler: mux(), ReadHeaderTimeout: limit, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(c net.Conn, to http.ConnState) {
			if to == http.StateClosed {
				ended <- c
			}
		},
	})
	plain := dial(t, addr)
	io.WriteString(plain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if c := wait(t, ended, "StateClosed"); c.RemoteAddr().String() != plain.LocalAddr().String() {
		t.Errorf("%v ended", c.RemoteAddr())
	}
	time.Sleep(2 * limit)
	resp, err := client.Get("https://" + addr + "/hello")
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// TestTLSAnswerAtTheEnd: what is queued when the connection is closed behind an answer is sent,
// though crypto/tls takes its time to write away.
func TestTLSAnswerAtTheEnd(t *testing.T) {
	const size, part = 16 << 20, 8 << 10 // more than the kernel takes; less than what a Write waits for
	onEach(t, func(t *testing.T, b aio.Backend) {
		closed := make(chan bool)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			for range size / part {
				w.Write(make([]byte, part))
			}
		})}
		srv.ConnState = func(_ net.Conn, to http.ConnState) {
			if to == http.StateClosed {
				close(closed)
			}
		}
		addr, client := secured(t, b, srv)
		config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
		config.NextProtos, config.ServerName = nil, "example.com"
		c := tls.Client(dial(t, addr), config)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for reading := true; reading && n < size; n += part {
			select {
			case <-closed:
				reading = false
			default:
			}
			if _, err := io.ReadFull(res.Body, make([]byte, part)); err != nil {
				t.Fatalf("after %d bytes: %v", n, err)
			}
		}
		if rest, err := io.Copy(io.Discard, res.Body); n+int(rest) != size || err != nil {
			t.Errorf("%d and %d bytes, %v", n, rest, err)
		}
	})
}
