package aio_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// patience bounds every wait of a test: a watcher is closed after it, so that WaitIO ends.
const patience = 2 * time.Minute

// child returns this test binary as a command that runs one test. With the race detector a process
// sleeps for a second before it exits, for the sake of races at its end: this one does not.
func child(t *testing.T, test string, env ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
	c.Env = append(os.Environ(), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	c.Env = append(c.Env, env...)
	return c
}

// backends returns those that this system may have.
func backends() []aio.Backend {
	if runtime.GOOS == "linux" {
		return []aio.Backend{aio.IOUring, aio.Epoll}
	}
	return []aio.Backend{aio.Kqueue}
}

// onEach runs f once for each backend.
func onEach(t *testing.T, f func(t *testing.T, b aio.Backend)) {
	t.Helper()
	for _, b := range backends() {
		t.Run(b.String(), func(t *testing.T) { f(t, b) })
	}
}

// open returns a Watcher that is closed when the test ends.
func open(t testing.TB, o aio.Options) *aio.Watcher {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	w, err := aio.New(o)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("needs %v: %v", o.Backend, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { w.Close() })
	t.Cleanup(func() {
		if !late.Stop() {
			t.Errorf("the watcher was closed after %v: something did not come", patience)
		}
		w.Close()
	})
	return w
}

// pair returns the two ends of a TCP connection over loopback.
func pair(t testing.TB) (here, there *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	here, there = a.(*net.TCPConn), d.(*net.TCPConn)
	must(t, there.SetDeadline(time.Now().Add(patience)))
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

// wait returns the next n results. Swap buffers in it are copied.
func wait(t testing.TB, w *aio.Watcher, n int) []aio.OpResult {
	t.Helper()
	var all []aio.OpResult
	for len(all) < n {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatalf("WaitIO after %d of %d results: %v", len(all), n, err)
		}
		for _, r := range results {
			if r.IsSwapBuffer {
				r.Buffer = append([]byte(nil), r.Buffer...)
			}
			all = append(all, r)
		}
	}
	if len(all) > n {
		t.Fatalf("%d results instead of %d", len(all), n)
	}
	return all
}

// only returns the next result.
func only(t testing.TB, w *aio.Watcher) aio.OpResult {
	t.Helper()
	return wait(t, w, 1)[0]
}

// pump hands each result to f, in a goroutine of its own, until the watcher is closed.
func pump(t testing.TB, w *aio.Watcher, f func(aio.OpResult)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			results, err := w.WaitIO()
			if err != nil {
				return
			}
			for _, r := range results {
				f(r)
			}
		}
	}()
	t.Cleanup(func() { w.Close(); <-done })
}

// echo answers r, a result of a watcher that echoes, and frees connections that have ended. Each
// connection has one buffer: it is read into, and then written.
func echo(w *aio.Watcher, r aio.OpResult) {
	switch {
	case r.Error != nil:
		_ = w.Free(r.Conn)
	case r.Operation == aio.OpRead:
		_ = w.Write(nil, r.Conn, r.Buffer[:r.Size])
	default:
		_ = w.Read(nil, r.Conn, r.Buffer[:cap(r.Buffer)])
	}
}

// accept has each connection that comes handed to f, until the test ends.
func accept(t testing.TB, f func(net.Conn)) net.Addr {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, ln, f)
	return ln.Addr()
}

func serve(t testing.TB, ln net.Listener, f func(net.Conn)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			f(c)
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
}

// eventually waits until f says true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(patience / 2); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// ended reports whether c's peer has closed it; c has a deadline.
func ended(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
