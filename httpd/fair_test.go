package httpd

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
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
			ended <- ServeTLS(t.Context(), srv, ln, "", "", Options{Backend: b})
			return
		}
		ended <- Serve(t.Context(), srv, ln, Options{Backend: b})
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
	s := srv.Handler.(*hooks).serving[0]
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
