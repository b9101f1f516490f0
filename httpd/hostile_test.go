package httpd_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/httpd"
	"evenkeel.dev/internal/testutil"
)

// TestIdleTimeoutOfFirstBytes: a connection that says up to three bytes of its next request is idle, as in net/http.
func TestIdleTimeoutOfFirstBytes(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		c := dial(t, serve(t, b, &http.Server{Handler: mux(), IdleTimeout: 300 * time.Millisecond}))
		r := bufio.NewReader(c)
		get(t, c, r, "/hello")
		time.Sleep(20 * time.Millisecond) // it is parked by then; else the test passes in any case
		io.WriteString(c, "GE")
		if got, err := io.ReadAll(r); len(got) > 0 || err != nil && !isReset(err) {
			// on a busy machine its time may have been over
			t.Errorf("%q, %v; want the end", got, err)
		}
	})
}

// TestLongestIdleTimeout: the greatest IdleTimeout that there is leaves the time of others as it is.
func TestLongestIdleTimeout(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		addr := serve(t, b, &http.Server{
			Handler: mux(), IdleTimeout: math.MaxInt64,
			ReadHeaderTimeout: 300 * time.Millisecond,
		})
		asks := func() (err error) {
			c := dial(t, addr)
			io.WriteString(c, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
			_, err = http.ReadResponse(bufio.NewReader(c), nil)
			return err
		}
		time.Sleep(100 * time.Millisecond) // in a server younger than a tick the overflow did no harm
		err := asks()
		for until := time.Now().Add(patience); err != nil && time.Now().Before(until); {
			// on a busy machine its time may have been over
			err = asks()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(dial(t, addr)); len(got) > 0 || err != nil {
			t.Errorf("who says nothing: %q, %v; want the end", got, err)
		}
	})
}

// TestReadDeadlineStaysWithItsConnection: net/http ends the context of what it reads when a handler's read deadline
// has come, and that of nobody else.
func TestReadDeadlineStaysWithItsConnection(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/deadline", func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).SetReadDeadline(time.Now())
			<-r.Context().Done()
		})
		m.HandleFunc("/ctx", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Context().Err()) })
		addr := serve(t, b, &http.Server{Handler: m})
		stop := make(chan struct{})
		// enough that one of them waits for a worker, now and then, when another one's deadline comes
		var others sync.WaitGroup
		for range 8 {
			others.Go(func() {
				c := dial(t, addr)
				for r := bufio.NewReader(c); ; {
					if got := get(t, c, r, "/ctx"); got != "<nil>" {
						t.Errorf("another one's context says %s", got)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		first := dial(t, addr)
		for r, n := bufio.NewReader(first), 0; n < 100; n++ {
			get(t, first, r, "/deadline")
		}
		close(stop)
		others.Wait()
	})
}

// TestDeadlineBehindTheHandler: who sets deadlines when the handler has returned does not set those
// of the request that its worker has by then.
func TestDeadlineBehindTheHandler(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		left, waits, set := make(chan *http.ResponseController, 1), make(chan bool), make(chan bool)
		m.HandleFunc("/leaves", func(w http.ResponseWriter, _ *http.Request) { left <- http.NewResponseController(w) })
		m.HandleFunc("/waits", func(w http.ResponseWriter, r *http.Request) {
			waits <- true
			<-set
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
			fmt.Fprint(w, r.Context().Err())
		})
		addr := serve(t, b, &http.Server{Handler: m})
		for range 10 { // that a worker has another connection is likely, and no more
			first, second := dial(t, addr), dial(t, addr)
			get(t, first, bufio.NewReader(first), "/leaves")
			go func() {
				<-waits
				rc := <-left
				_ = rc.SetReadDeadline(time.Now())
				_ = rc.SetWriteDeadline(time.Now())
				set <- true
			}()
			if got := get(t, second, bufio.NewReader(second), "/waits"); got != "<nil>" {
				t.Fatalf("another one's context says %s", got)
			}
			first.Close()
			second.Close()
		}
	})
}

// TestDeadlineLikeNetHTTPs: a handler's read deadline may be the one by which net/http ends a Read
// of its own. It ends the context of nobody else either, whether the handler waits for what comes
// of it, takes it back, or does not.
func TestDeadlineLikeNetHTTPs(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/deadline", func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			rc.SetReadDeadline(time.Unix(1, 0))
			if r.FormValue("wait") != "" {
				<-r.Context().Done()
			}
			if r.FormValue("back") != "" {
				rc.SetReadDeadline(time.Time{})
			}
		})
		m.HandleFunc("/ctx", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Context().Err()) })
		addr := serve(t, b, &http.Server{Handler: m})
		for _, path := range []string{"/deadline", "/deadline?wait=1", "/deadline?wait=1&back=1"} {
			for range 20 { // now and then another worker serves what comes next
				first, second := dial(t, addr), dial(t, addr)
				get(t, first, bufio.NewReader(first), path)
				if got := get(t, second, bufio.NewReader(second), "/ctx"); got != "<nil>" {
					t.Errorf("%s: another one's context says %s", path, got)
					break
				}
			}
		}
	})
}

// TestShortBeginning: a client that sends up to three bytes after an answer, and then closes, gets no other
// answer, as with net/http. It does not matter whether the worker has served another client before.
func TestShortBeginning(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, held, release := mux(), make(chan bool), make(chan bool)
		m.HandleFunc("/hold", func(http.ResponseWriter, *http.Request) { held <- true; <-release })
		addr := serve(t, b, &http.Server{Handler: m})
		for _, beginning := range []string{"o", "\n\r\n", "GET"} {
			c := dial(t, addr)
			r := bufio.NewReader(c)
			get(t, c, r, "/hello")
			for range 3 { // so many workers there are at most, and more
				io.WriteString(dial(t, addr), "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")
				<-held
			}
			io.WriteString(c, beginning)
			c.(*net.TCPConn).CloseWrite()
			if got, err := io.ReadAll(r); len(got) > 0 || err != nil {
				t.Errorf("%q is answered with %q, %v; want nothing", beginning, got, err)
			}
		}
		close(release)
	})
}

// TestHijackInShutdown: Serve returns though the last connection was given away while it waited.
func TestHijackInShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, entered, release, taken := mux(), make(chan bool), make(chan bool), make(chan net.Conn, 1)
		m.HandleFunc("/take", func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-release
			nc, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
			}
			taken <- nc
		})
		srv := &http.Server{Handler: m}
		ln, err := net.Listen("tcp", testutil.Loopback()+":0")
		if err != nil {
			t.Fatal(err)
		}
		ended := begin(t, httpd.Options{Backend: b}, srv, ln)
		c := dial(t, ln.Addr().String())
		io.WriteString(c, "GET /take HTTP/1.1\r\nHost: x\r\n\r\n")
		<-entered
		down := make(chan error)
		go func() { down <- srv.Shutdown(t.Context()) }()
		serveEnds(t, ln.Addr().String())
		time.Sleep(50 * time.Millisecond) // Serve waits by then
		close(release)
		if err := <-down; err != nil {
			t.Error(err)
		}
		nc := <-taken
		defer nc.Close()
		select {
		case err := <-ended:
			if err != http.ErrServerClosed {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Error("Serve does not return")
		}
	})
}

// serveEnds waits until nothing listens any more.
func serveEnds(t *testing.T, addr string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		c.Close()
	}
	t.Error("it listens still")
}

// TestWithoutHTTP1: what net/http refuses to serve is closed, and HTTP/2 alone is served.
func TestWithoutHTTP1(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		var protocols http.Protocols
		protocols.SetHTTP2(true)
		c := dial(t, serve(t, b, &http.Server{Handler: mux(), Protocols: &protocols}))
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if got, err := io.ReadAll(c); len(got) > 0 || err != nil && !isReset(err) {
			t.Errorf("%q, %v; want the end", got, err)
		}
		addr, client := secured(t, b, &http.Server{Handler: mux(), Protocols: &protocols})
		resp, err := client.Get("https://" + addr + "/hello")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.ProtoMajor != 2 {
			t.Errorf("%s was spoken", resp.Proto)
		}
	})
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

// TestWriteDeadline ends a Write that waits for a client that does not read: one set before, one set meanwhile, and for
// large and small Writes.
func TestWriteDeadline(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, failed := mux(), make(chan error)
		m.HandleFunc("/fill", func(w http.ResponseWriter, r *http.Request) {
			rc, p := http.NewResponseController(w), make([]byte, 64<<10)
			if r.FormValue("small") != "" {
				p = p[:512]
			}
			set := func() { rc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) }
			if r.FormValue("meanwhile") != "" {
				time.AfterFunc(500*time.Millisecond, set)
			} else {
				set()
			}
			for {
				if _, err := w.Write(p); err != nil {
					failed <- err
					return
				}
			}
		})
		addr := serve(t, b, &http.Server{Handler: m})
		for _, q := range []string{"", "?small=1", "?meanwhile=1", "?meanwhile=1&small=1"} {
			io.WriteString(dial(t, addr), "GET /fill"+q+" HTTP/1.1\r\nHost: x\r\n\r\n")
			select {
			case err := <-failed:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s: %v", q, err)
				}
			case <-time.After(patience):
				t.Fatalf("%s: Write waits still", q)
			}
		}
	})
}

// stall returns when what is counted has begun and then stood still for long: it waits.
func stall(t *testing.T, count *atomic.Int64) {
	t.Helper()
	var last int64
	for still, end := 0, time.Now().Add(patience); still < 100; time.Sleep(time.Millisecond) {
		n := count.Load()
		if still++; n == 0 || n != last {
			still, last = 0, n
		}
		if time.Now().After(end) {
			t.Fatal("it goes on, or has not begun")
		}
	}
}

// TestCloseFreesWrites: Server.Close ends Writes to a client that does not read, as in net/http at once.
func TestCloseFreesWrites(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, failed := mux(), make(chan error, 1)
		var writes atomic.Int64
		m.HandleFunc("/fill", func(w http.ResponseWriter, r *http.Request) {
			for ; ; writes.Add(1) {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					failed <- err
					return
				}
			}
		})
		srv := &http.Server{Handler: m}
		c := dial(t, serve(t, b, srv))
		io.WriteString(c, "GET /fill HTTP/1.1\r\nHost: x\r\n\r\n")
		stall(t, &writes)
		srv.Close()
		select {
		case <-failed:
		case <-time.After(10 * time.Second): // queued answers are waited for thrice as long
			t.Error("Write waits still")
		}
	})
}

// TestBigWrite: there is no size of a Write that is refused.
func TestBigWrite(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		const size = 80 << 20 // above aio.Options.MaxQueuedBytes' default
		m := mux()
		m.HandleFunc("/huge", func(w http.ResponseWriter, r *http.Request) {
			if _, err := w.Write(make([]byte, size)); err != nil {
				t.Error(err)
			}
		})
		res, err := http.Get("http://" + serve(t, b, &http.Server{Handler: m}) + "/huge")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); n != size || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		res.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
}

// TestFlushes: a handler that flushes many small pieces to a client that does not read waits, and loses nothing.
func TestFlushes(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		const pieces, size = 10_000, 100
		m := mux()
		m.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
			for range pieces {
				if _, err := io.WriteString(w, strings.Repeat("e", size)); err != nil {
					t.Error(err)
					return
				}
				w.(http.Flusher).Flush()
			}
		})
		srv := &http.Server{Handler: m}
		c := dial(t, serveOn(t, b, srv, narrow(t)))
		io.WriteString(c, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
		until(t, srv, "the handler waits", func(s httpd.Stats) bool { return s.QueuedBytes > 256<<10 })
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); n != size*pieces || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// TestKeepAlivesOff: idle connections are closed when all workers have a request; what is new is answered.
func TestKeepAlivesOff(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		m, entered, release := mux(), make(chan bool), make(chan bool)
		m.HandleFunc("/block", func(http.ResponseWriter, *http.Request) { entered <- true; <-release })
		srv := &http.Server{Handler: m}
		addr := serve(t, b, srv)
		idle, fresh := dial(t, addr), dial(t, addr)
		r := bufio.NewReader(idle)
		get(t, idle, r, "/hello")
		for range 3 {
			io.WriteString(dial(t, addr), "GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
			<-entered
		}
		srv.SetKeepAlivesEnabled(false)
		if _, err := r.ReadByte(); err != io.EOF {
			t.Errorf("the idle connection: %v, want EOF", err)
		}
		if got := get(t, fresh, bufio.NewReader(fresh), "/hello?n=1"); got != "hello 1" {
			t.Errorf("%q", got)
		}
		close(release)
	})
}

// TestPanic: the log names the client. Who leaves without a panic that can be seen has not answered either.
func TestPanic(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	onEach(t, func(t *testing.T, b aio.Backend) {
		m := mux()
		m.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("oops") })
		m.HandleFunc("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		m.HandleFunc("/nil", func(http.ResponseWriter, *http.Request) { panic(nil) })
		m.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
		var out lines
		addr := serve(t, b, &http.Server{Handler: m, ErrorLog: log.New(&out, "", 0)})
		for _, path := range []string{"/panic", "/abort", "/nil", "/exit"} {
			c := dial(t, addr)
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
			if got, err := io.ReadAll(c); len(got) > 0 || err != nil {
				t.Errorf("%s: %q, %v; want the end", path, got, err)
			}
			if got, want := out.take(), "http: panic serving "+c.LocalAddr().String()+": oops\n"; path == "/panic" &&
				!strings.HasPrefix(got, want) ||
				path != "/panic" && got != "" {
				t.Errorf("%s: %q, want %q", path, got, want)
			} else if path == "/panic" && !strings.Contains(got, "TestPanic") {
				t.Errorf("the stack is without the handler: %s", got)
			}
		}
	})
}

// lines is what was logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}
