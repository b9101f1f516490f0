package httpd

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/internal/testutil"
)

// TestOthersFirst: a connection whose next request is there when its worker is done goes behind one
// that waits for a worker.
func TestOthersFirst(t *testing.T) {
	for _, b := range []aio.Backend{aio.BackendEpoll, aio.BackendIOUring} {
		for _, secret := range []bool{false, true} {
			t.Run(fmt.Sprint(b, " TLS ", secret), func(t *testing.T) { testOthersFirst(t, b, secret) })
		}
	}
}

func testOthersFirst(t *testing.T, b aio.Backend, secret bool) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if secret {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
	one, two := dial(), dial()
	defer one.Close()
	defer two.Close()

	served := make(chan string, 8)
	var asked atomic.Bool
	done, goOn := make(chan struct{}), make(chan struct{})
	srv := &http.Server{
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			asked.Store(r.URL.Path == "/one")
			served <- r.URL.Path
		}),
		ConnState: func(c net.Conn, s http.ConnState) {
			// the answer is sent, and the worker has not asked for the next request
			if s == http.StateIdle && c.RemoteAddr().String() == one.LocalAddr().String() && asked.Swap(false) {
				close(done)
				<-goOn
			}
		},
	}
	ended := make(chan error, 1)
	go func() {
		if secret {
			srv.TLSConfig = configured(t)
			srv.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){} // no HTTP/2
			ended <- ServeTLS(t.Context(), srv, ln, "", "", Options{Backend: b, Loops: 1})
			return
		}
		ended <- Serve(t.Context(), srv, ln, Options{Backend: b, Loops: 1})
	}()
	defer func() {
		_ = srv.Close()
		<-ended
	}()
	must := func(path string, err error) {
		t.Helper()
		if err == nil {
			return
		}
		select {
		case err = <-ended:
			ended <- err
		default:
		}
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		t.Fatal(path, err)
	}
	ask := func(c net.Conn, path string) {
		_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		must(path, err)
	}
	answered := func(c net.Conn, path string) {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		must(path, err)
		_ = res.Body.Close()
		if got := <-served; got != path {
			t.Fatalf("%v is served, want %v", got, path)
		}
	}
	for _, c := range []net.Conn{one, two} { // the handshakes are over
		ask(c, "/")
		answered(c, "/")
	}
	ask(one, "/one")
	answered(one, "/one")
	<-done

	wrapping.Lock()
	s := srv.Handler.(*hooks).serving[0].all()[0]
	wrapping.Unlock()
	is := func(what string, f func() bool) {
		t.Helper()
		for start := time.Now(); ; time.Sleep(time.Millisecond) {
			s.mu.Lock()
			ok := f()
			s.mu.Unlock()
			if ok {
				return
			}
			if time.Since(start) > time.Minute {
				t.Fatal("not after a minute: ", what)
			}
		}
	}
	is("the other workers rest", func() bool {
		ok := !s.work.waking && len(s.work.idle) == s.work.count-1
		s.work.waking = s.work.waking || ok // as if one was woken, and were slow to look
		return ok
	})
	ask(two, "/two")
	is("two's request has come", func() bool { return len(s.work.ready) == 1 })
	var before int
	is("that is noted", func() bool { before = s.bytes.unread; return true })
	ask(one, "/next")
	is("one's next request has come", func() bool { return s.bytes.unread > before })
	close(goOn)
	if got, want := []string{<-served, <-served}, []string{"/two", "/next"}; !slices.Equal(got, want) {
		t.Errorf("%v are served, want %v", got, want)
	}
}

// together serves h on each backend that is available, for test, which gets the address.
func together(t *testing.T, h http.Handler, test func(t *testing.T, addr string)) {
	for _, b := range []aio.Backend{aio.BackendEpoll, aio.BackendIOUring} {
		t.Run(b.String(), func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if w, err := aio.New(aio.Options{Backend: b}); errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			} else if err == nil {
				_ = w.Close()
			}
			srv, ended := &http.Server{Handler: h}, make(chan error, 1)
			go func() { ended <- Serve(t.Context(), srv, ln, Options{Backend: b}) }()
			test(t, ln.Addr().String())
			_ = srv.Close()
			if err := <-ended; err != http.ErrServerClosed {
				t.Error(err)
			}
		})
	}
}

// asked sends a request, and returns the connection and what it answers.
func asked(t *testing.T, addr, request string) (net.Conn, *http.Response) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, request+" HTTP/1.1\r\nHost: x\r\n\r\n")
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return c, res
}

// reaches waits until so many bytes are written: the loop may have to do it.
func reaches(w *worker, want uint64) bool {
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		if n := w.loop.watcher.Stats().BytesWritten; n >= want {
			return n == want
		}
	}
	return false
}

// halves is net/http's ResponseWriter: of a long Write it makes two, and notes what was sent before the second.
type halves struct {
	response
	worker *worker
	sent   uint64
}

func (h *halves) Write(p []byte) (int, error) {
	n, err := h.worker.Write(p[:pieceSize])
	h.sent = h.worker.loop.watcher.Stats().BytesWritten
	if err != nil || len(p) == pieceSize {
		return n, err
	}
	m, err := h.worker.Write(p[pieceSize:])
	return n + m, err
}

// TestSentTogether: what fills net/http's buffer is sent with the rest of a long Write, or at its
// end where there is no rest, and at once where it is no part of one.
func TestSentTogether(t *testing.T) {
	raw := append([]byte("HTTP/1.1 200 OK\r\nContent-Length: 8192\r\n\r\n"), bytes.Repeat([]byte{'x'}, 8192)...)
	wrong := make(chan string, 9)
	together(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w := rw.(*writer)
		h := &halves{response: w.response, worker: w.worker}
		w.response = h
		stats := w.worker.loop.watcher.Stats
		before := stats().BytesWritten
		if n, err := w.Write(raw[:8192]); n != 8192 || err != nil {
			wrong <- fmt.Sprint(n, err)
		}
		if h.sent != before || !reaches(w.worker, before+8192) {
			wrong <- fmt.Sprint("of a long Write were sent ", h.sent-before, " bytes, and then ",
				stats().BytesWritten-h.sent)
		}
		w.response = h.response
		before = stats().BytesWritten
		if n, err := w.worker.Write(make([]byte, pieceSize)); n != pieceSize || err != nil ||
			!reaches(w.worker, before+pieceSize) {
			wrong <- fmt.Sprint("what is no part of a long Write waits: ", n, err)
		}
		w.worker.gather()
		_, _ = w.worker.Write(make([]byte, pieceSize))
		held := stats().BytesWritten
		w.worker.gathered()
		if held != before+pieceSize || !reaches(w.worker, held+pieceSize) {
			wrong <- "what nothing has followed is not sent"
		}
		panic(http.ErrAbortHandler)
	}), func(t *testing.T, addr string) {
		c, res := asked(t, addr, "GET /")
		_, _ = io.Copy(io.Discard, res.Body)
		_, _ = io.Copy(io.Discard, c)
	})
	close(wrong)
	for w := range wrong {
		t.Error(w)
	}
}

// TestTogetherInOrder: answers of all lengths, by Write and by WriteString, with a length and in
// chunks, with a header that fills the buffer alone and to HEAD, come as they were written.
func TestTogetherInOrder(t *testing.T) {
	const conns = 8
	requests := 24
	if testutil.Checking() {
		requests = 60
	}
	body := func(seed, n int) []byte {
		b := make([]byte, n)
		r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return b
	}
	together(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		seed, _ := strconv.Atoi(v.Get("seed"))
		n, _ := strconv.Atoi(v.Get("n"))
		b := body(seed, n)
		w.Header().Set("X-Long", strings.Repeat("h", 97*(seed%90)))
		if seed%2 == 0 {
			w.Header().Set("Content-Length", strconv.Itoa(n))
		}
		if seed%3 == 0 {
			_, _ = w.Write(b[:n/10])
			b = b[n/10:]
		}
		if seed%5 == 0 {
			text := string(b)
			_, _ = io.WriteString(w, text)
			return
		}
		_, _ = w.Write(b)
	}), func(t *testing.T, addr string) {
		var running sync.WaitGroup
		for i := range conns {
			running.Go(func() {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				r := bufio.NewReader(c)
				for k := range requests {
					seed, n := i*requests+k, 64<<(k%12)+37*k
					method := "GET"
					if seed%7 == 0 {
						method = "HEAD"
					}
					fmt.Fprintf(c, "%s /?seed=%d&n=%d HTTP/1.1\r\nHost: x\r\n\r\n", method, seed, n)
					res, err := http.ReadResponse(r, &http.Request{Method: method})
					if err != nil {
						t.Error(err)
						return
					}
					want := body(seed, n)
					if method == "HEAD" {
						want = nil
					}
					if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, want) ||
						len(res.Header.Get("X-Long")) != 97*(seed%90) {
						t.Errorf("%d bytes of %d came, or others: %v", len(got), len(want), err)
						return
					}
				}
			})
		}
		running.Wait()
	})
}
