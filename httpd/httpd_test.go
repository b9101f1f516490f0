package httpd_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/leaks"
)

// patience bounds what only a hang meets.
const patience = 30 * time.Second

var backends = []aio.Backend{aio.BackendEpoll, aio.BackendIOUring}

// onEach runs a test on each backend that is available.
func onEach(t *testing.T, test func(t *testing.T, b aio.Backend)) {
	for _, b := range backends {
		t.Run(b.String(), func(t *testing.T) {
			w, err := aio.New(aio.Options{Backend: b})
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.Close()
			test(t, b)
		})
	}
}

// serve serves srv until the test ends, and returns its address.
func serve(t testing.TB, b aio.Backend, srv *http.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, b, srv, ln)
}

// begin serves, and gives what Serve returns.
func begin(t testing.TB, o httpd.Options, srv *http.Server, ln net.Listener) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- httpd.Serve(t.Context(), srv, ln, o) }()
	return ended
}

func serveOn(t testing.TB, b aio.Backend, srv *http.Server, ln net.Listener) string {
	t.Helper()
	return serveWith(t, httpd.Options{Backend: b}, srv, ln)
}

func serveWith(t testing.TB, o httpd.Options, srv *http.Server, ln net.Listener) string {
	t.Helper()
	ended := begin(t, o, srv, ln)
	t.Cleanup(func() {
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
	return ln.Addr().String()
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

func mux() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s",
			r.URL.Query().Get("n"))
	})
	m.HandleFunc("/addr", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.RemoteAddr, " ", r.Context().Value(http.LocalAddrContextKey))
	})
	m.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	m.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 3<<20)) })
	return m
}

func get(t testing.TB, c net.Conn, r *bufio.Reader, path string) string {
	t.Helper()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestMany: each of many connections gets its own answers, and is told its own address.
func TestMany(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{Handler: mux()})
		var running sync.WaitGroup
		for i := range 64 {
			c := dial(t, addr)
			running.Go(func() {
				r := bufio.NewReader(c)
				for n := range 20 {
					want := fmt.Sprintf("hello %d-%d", i, n)
					if got := get(t, c, r, fmt.Sprintf("/hello?n=%d-%d", i, n)); got != want {
						t.Errorf("%q, want %q", got, want)
						return
					}
				}
				if got, want := get(t, c, r, "/addr"), c.LocalAddr().String()+" "+addr; got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		}
		running.Wait()
	})
}

// TestBlockedHandlers: as many handlers as there are requests may block, and one more is served.
func TestBlockedHandlers(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, entered, release := mux(), make(chan bool), make(chan bool)
		m.HandleFunc("/block", func(w http.ResponseWriter,
			r *http.Request,
		) {
			entered <- true
			<-release
			io.WriteString(w, "done")
		})
		addr := serve(t, b, &http.Server{Handler: m})
		var running sync.WaitGroup
		for range 50 {
			c := dial(t, addr)
			running.Go(func() {
				if got := get(t, c, bufio.NewReader(c), "/block"); got != "done" {
					t.Errorf("%q", got)
				}
			})
		}
		for range 50 {
			<-entered
		}
		c := dial(t, addr)
		if got := get(t, c, bufio.NewReader(c), "/hello?n=1"); got != "hello 1" {
			t.Errorf("%q", got)
		}
		close(release)
		running.Wait()
	})
}

// TestBodies: uploads and downloads that are larger than all that is read ahead or queued.
func TestBodies(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{Handler: mux()})
		sent := strings.Repeat("evenkeel", 1<<17)
		res, err := http.Post("http://"+addr+"/echo", "", strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(got) != sent {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		c := dial(t, addr)
		if got := get(t, c, bufio.NewReader(c), "/big"); len(got) != 3<<20 {
			t.Errorf("%d bytes", len(got))
		}
		http.DefaultClient.CloseIdleConnections()
	})
}

// TestLeave: a request's context ends when its client leaves.
func TestLeave(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, entered, left := mux(), make(chan bool), make(chan error, 1)
		m.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			select {
			case <-r.Context().Done():
				left <- r.Context().Err()
			case <-time.After(patience):
				left <- nil
			}
		})
		c := dial(t, serve(t, b, &http.Server{Handler: m}))
		fmt.Fprintf(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
		<-entered
		c.Close()
		if err := <-left; err != context.Canceled {
			t.Errorf("the context says %v", err)
		}
	})
}

// TestTimeouts: of idle connections, and of those that never say anything.
func TestTimeouts(t *testing.T) {
	const short = 200 * time.Millisecond // only those meet it that are to
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{Handler: mux(), ReadHeaderTimeout: short})
		silent, half := dial(t, addr), dial(t, addr)
		idle := dial(t, serve(t, b, &http.Server{Handler: mux(), IdleTimeout: short}))
		io.WriteString(half, "GET /hello HT")
		r := bufio.NewReader(idle)
		get(t, idle, r, "/hello?n=1")
		for what, from := range map[string]io.Reader{"silent": silent, "idle": r, "half": half} {
			if b, err := io.ReadAll(from); err != nil && !(what == "half" && isReset(err)) {
				// on a busy machine nobody has read it
				t.Errorf("%s: %q, %v; want the end", what, b, err)
			}
		}
	})
}

// TestShutdown lets a request end, and closes what is idle.
func TestShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, entered, release := mux(), make(chan bool), make(chan bool)
		m.HandleFunc("/block", func(w http.ResponseWriter,
			r *http.Request,
		) {
			close(entered)
			<-release
			io.WriteString(w, "done")
		})
		srv := &http.Server{Handler: m}
		told := make(chan bool)
		srv.RegisterOnShutdown(func() { close(told) })
		addr := serve(t, b, srv)
		idle, busy := dial(t, addr), dial(t, addr)
		r := bufio.NewReader(idle)
		get(t, idle, r, "/hello?n=1")
		answer := make(chan string)
		go func() { answer <- get(t, busy, bufio.NewReader(busy), "/block") }()
		<-entered
		down := make(chan error)
		go func() { down <- srv.Shutdown(t.Context()) }()
		<-told
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("the idle connection: %v, want EOF", err)
		}
		close(release)
		if got := <-answer; got != "done" {
			t.Errorf("%q", got)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
	})
}

// TestHijack: the connection is the handler's, with what was read too far, and outlives the server.
func TestHijack(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		taken := make(chan net.Conn, 1)
		m.HandleFunc("/take", func(w http.ResponseWriter, r *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			line, err := rw.ReadString('\n')
			fmt.Fprintf(c, "read %q, %v\n", line, err)
			taken <- c
		})
		srv := &http.Server{Handler: m}
		c := dial(t, serve(t, b, srv))
		io.WriteString(c, "GET /take HTTP/1.1\r\nHost: x\r\n\r\nmore\n")
		r := bufio.NewReader(c)
		if line, err := r.ReadString('\n'); line != "read \"more\\n\", <nil>\n" {
			t.Fatalf("%q, %v", line, err)
		}
		nc := <-taken
		srv.Close()
		io.WriteString(c, "ping\n")
		if line, err := bufio.NewReader(nc).ReadString('\n'); line != "ping\n" {
			t.Errorf("%q, %v", line, err)
		}
		io.WriteString(nc, "pong")
		nc.Close()
		if b, err := io.ReadAll(r); string(b) != "pong" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// TestWithoutDescriptor: connections of TLS are served too, as net/http does it.
func TestWithoutDescriptor(t *testing.T) {
	from := httptest.NewUnstartedServer(nil) // for its certificate
	from.StartTLS()
	defer from.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, ended := &http.Server{Handler: mux()}, make(chan error)
	go func() { ended <- httpd.Serve(t.Context(), srv, tls.NewListener(ln, from.TLS), httpd.Options{}) }()
	client := from.Client()
	client.Transport.(*http.Transport).DialTLSContext = nil
	res, err := client.Get("https://" + ln.Addr().String() + "/hello?n=tls")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(b) != "hello tls" {
		t.Errorf("%q", b)
	}
	client.CloseIdleConnections()
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != http.ErrServerClosed {
		t.Error(err)
	}
}

// TestConnState: the states are those of real connections, and each ends.
func TestConnState(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		var mu sync.Mutex
		states, moved := map[string][]string{}, make(chan bool, 100)
		srv := &http.Server{Handler: mux(), ConnState: func(c net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			states[c.RemoteAddr().String()] = append(states[c.RemoteAddr().String()], s.String())
			if s == http.StateClosed {
				moved <- true
			}
		}}
		type key struct{}
		srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, key{}, c.RemoteAddr().String())
		}
		srv.Handler.(*http.ServeMux).HandleFunc("/key",
			func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Context().Value(key{})) })
		addr := serve(t, b, srv)
		var conns []net.Conn
		for range 5 {
			c := dial(t, addr)
			r := bufio.NewReader(c)
			get(t, c, r, "/hello")
			if got := get(t, c, r, "/key"); got != c.LocalAddr().String() {
				t.Errorf("the context has %s, want %s", got, c.LocalAddr())
			}
			conns = append(conns, c)
		}
		for _, c := range conns {
			c.Close()
			<-moved
		}
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			if got := fmt.Sprint(states[c.LocalAddr().String()]); got != "[new active idle active idle closed]" {
				t.Errorf("%s", got)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	for want, o := range map[string]httpd.Options{
		"httpd.Options.MaxConns: -1 is not a limit: write 1 to 16777216 connections, or 0 for 1048576": {
			MaxConns: -1,
		},
		"aio.Options.Backend: 77 is not a backend: write BackendAuto, BackendIOUring, BackendEpoll or BackendKqueue": {
			Backend: 77,
		},
	} {
		var refusal *evenkeel.OptionError
		if err := httpd.ListenAndServe(t.Context(), &http.Server{Addr: "127.0.0.1:0"}, o); !errors.As(err, &refusal) ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if err := httpd.ListenAndServe(t.Context(), &http.Server{Addr: busy.Addr().String()},
		httpd.Options{}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v", err)
	}
}

// TestContext: the end of Serve's context closes the server.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- httpd.ListenAndServe(ctx, &http.Server{Addr: "127.0.0.1:0", Handler: mux()}, httpd.Options{})
	}()
	cancel()
	if err := <-ended; err != http.ErrServerClosed {
		t.Error(err)
	}
}

// TestConnContextEnds: a request ends with the context that ConnContext gave its connection, by the
// same error and cause as with net/http; and what a handler derives from a request's context needs
// no goroutine.
func TestConnContextEnds(t *testing.T) {
	type key struct{}
	contexts := map[string]func(context.Context) context.Context{
		"cancelled": func(ctx context.Context) context.Context {
			ctx, cancel := context.WithCancelCause(ctx)
			return context.WithValue(ctx, key{}, func() { cancel(errors.New("planned")) })
		},
		"deadline": func(ctx context.Context) context.Context {
			ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Millisecond, errors.New("planned"))
			return context.WithValue(ctx, key{}, func() { time.AfterFunc(patience, cancel) })
		},
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := leaks.Started()
		for range 100 {
			_, cancel := context.WithCancel(r.Context())
			defer cancel()
		}
		goroutines := started()
		r.Context().Value(key{}).(func())()
		<-r.Context().Done()
		_, limited := r.Context().Deadline()
		fmt.Fprint(w, r.Context().Err(), "; ", context.Cause(r.Context()), "; ", limited, "; ", goroutines >= 100)
	})
	onEach(t, func(t *testing.T, b aio.Backend) {
		for name, connContext := range contexts {
			var got [2]string
			std := httptest.NewUnstartedServer(h)
			std.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return connContext(ctx) }
			std.Start()
			addr := serve(t, b, &http.Server{Handler: h, ConnContext: std.Config.ConnContext})
			for i, addr := range []string{std.Listener.Addr().String(), addr} {
				c := dial(t, addr)
				got[i] = get(t, c, bufio.NewReader(c), "/")
				c.Close()
			}
			std.Close()
			if got[0] != got[1] || !strings.HasSuffix(got[1], "false") {
				t.Errorf("%s: %q, by net/http %q", name, got[1], got[0])
			}
		}
	})
}

// TestBaseContextEnds: the same where what ends is BaseContext's, with a ConnContext that adds a value.
func TestBaseContextEnds(t *testing.T) {
	type key struct{}
	onEach(t, func(t *testing.T, b aio.Backend) {
		base, end := context.WithCancelCause(t.Context())
		defer end(nil)
		c := dial(t, serve(t, b, &http.Server{
			BaseContext: func(net.Listener) context.Context { return base },
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
				return context.WithValue(ctx, key{},
					"value")
			},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/end" {
					end(errors.New("planned"))
					<-r.Context().Done()
				}
				fmt.Fprint(w, r.Context().Value(key{}), "; ", r.Context().Err(), "; ", context.Cause(r.Context()))
			}),
		}))
		r := bufio.NewReader(c)
		for _, ask := range [][2]string{{"/", "value; <nil>; <nil>"}, {"/end", "value; context canceled; planned"}} {
			if got := get(t, c, r, ask[0]); got != ask[1] {
				t.Errorf("%q, want %q", got, ask[1])
			}
		}
	})
}
