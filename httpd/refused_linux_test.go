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

// epolls tells the epoll descriptors that are opened between two looks from those that were there.
// Their numbers don't: the kernel gives one out again when the watcher of an earlier test has
// closed it. Each look marks what it finds, with a registration.
type epolls struct{ mark int }

func newEpolls(t *testing.T) *epolls {
	t.Helper()
	var pipe [2]int // nothing is ever written to it
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Close(pipe[0]), syscall.Close(pipe[1]) })
	e := &epolls{pipe[0]}
	e.opened(t)
	return e
}

// opened returns those that no look has found before.
func (e *epolls) opened(t *testing.T) (fresh []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		to, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || to != "anon_inode:[eventpoll]" {
			continue
		}
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		switch err := syscall.EpollCtl(fd, syscall.EPOLL_CTL_ADD, e.mark, &syscall.EpollEvent{}); err {
		case nil:
			fresh = append(fresh, fd)
		case syscall.EEXIST, syscall.EBADF, syscall.EINVAL: // marked, or closed since it was listed
		default:
			t.Fatal(err)
		}
	}
	return fresh
}

// TestEpollsOfOneNumber: an epoll descriptor is new though it has the number of one that was there.
func TestEpollsOfOneNumber(t *testing.T) {
	open := func() int {
		fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	stays, number := open(), open()
	defer syscall.Close(stays)
	defer syscall.Close(number)
	fds := newEpolls(t)
	fresh := open()
	if err := syscall.Dup3(fresh, number, syscall.O_CLOEXEC); err != nil { // closes what had the number
		t.Fatal(err)
	}
	_ = syscall.Close(fresh)
	if got := fds.opened(t); len(got) != 1 || got[0] != number {
		t.Errorf("new are %v, want %d", got, number)
	}
}

// TestWaitRefused: Serve returns when the kernel refuses to be waited for, though a handler waits
// for its client to read, and a connection is to be closed when its client has.
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
	fds := newEpolls(t)
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
	go func() { ended <- Serve(t.Context(), srv, ln, Options{Backend: b, Loops: 1}) }()
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
	s := srv.Handler.(*hooks).serving[0].all()[0] // before the loop can end it
	wrapping.Unlock()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	opened := fds.opened(t)
	if len(opened) != 1 {
		t.Fatalf("%d descriptors of epoll are new, want the watcher's", len(opened))
	}
	if err := syscall.Dup3(int(null.Fd()), opened[0], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if err := s.watcher.Post(nil); err != nil && !errors.Is(err, aio.ErrWatcherClosed) {
		// the loop looks, if it has not already
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
