package httpd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// epolls returns the descriptors of this process that are epoll's.
func epolls(t *testing.T) map[int]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]bool{}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == "anon_inode:[eventpoll]" {
			fd, _ := strconv.Atoi(e.Name())
			all[fd] = true
		}
	}
	return all
}

// TestWaitRefused: Serve returns when the kernel refuses to be waited for, though a handler waits for its client to read, and a connection is
// to be closed when its client has.
func TestWaitRefused(t *testing.T) {
	for _, b := range []aio.Backend{aio.BackendEpoll, aio.BackendIOUring} {
		t.Run(b.String(), func(t *testing.T) { testWaitRefused(t, b) })
	}
}

func testWaitRefused(t *testing.T, b aio.Backend) {
	if w, err := aio.New(aio.Options{Backend: b}); err != nil {
		t.Skip(err)
	} else {
		_ = w.Close()
	}
	const patience = 30 * time.Second
	before := epolls(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{}
	closes, failed := make(chan bool, 3), make(chan error, 1)
	srv.ConnState = func(_ net.Conn, to http.ConnState) {
		if to == http.StateClosed {
			closes <- true
		}
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waits":
			_, err := w.Write(make([]byte, 64<<20))
			failed <- err
		case "/closes":
			w.Header().Set("Connection", "close")
			for StatsOf(srv).QueuedBytes == 0 {
				_, _ = w.Write(make([]byte, 8<<10))
			}
		}
	})
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), srv, ln, Options{Backend: b}) }()
	ask := func(path string) {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		if path == "/" {
			_, _ = io.ReadFull(c, make([]byte, 1))
		}
	}
	ask("/") // and is idle
	ask("/closes")
	select {
	case <-closes: // it waits until what is queued was sent
	case <-time.After(patience):
		t.Fatal("the connection is not closed")
	}
	n := StatsOf(srv).QueuedBytes
	ask("/waits")
	for start := time.Now(); StatsOf(srv).QueuedBytes <= n; time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("nothing is queued")
		}
	}

	wrapping.Lock()
	s := srv.Handler.(*hooks).serving[0] // before the loop can end it
	wrapping.Unlock()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	broken := 0
	for fd := range epolls(t) {
		if !before[fd] {
			if err := syscall.Dup3(int(null.Fd()), fd, syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			broken++
		}
	}
	if broken != 1 {
		t.Fatalf("%d descriptors of epoll are new, want 1", broken)
	}
	if err := s.watcher.Post(nil); err != nil && !errors.Is(err, aio.ErrWatcherClosed) { // the loop looks, if it has not already
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil || err == http.ErrServerClosed {
			t.Errorf("Serve returned %v, want the kernel's refusal", err)
		}
	case <-time.After(patience):
		t.Fatal("Serve does not return")
	}
	if err := <-failed; err == nil {
		t.Error("an answer that nobody could send counts as written")
	}
}
