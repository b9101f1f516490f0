package aiosuite

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

// Patience bounds every wait of a test.
const Patience = 2 * time.Minute

// Child returns this test binary as a command that runs one test. With the race detector it exits
// without a second of sleep.
func Child(t *testing.T, test string, env ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
	c.Env = append(os.Environ(), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	c.Env = append(c.Env, env...)
	return c
}

func Backends() []aio.Backend {
	if runtime.GOOS == "linux" {
		return []aio.Backend{aio.BackendIOUring, aio.BackendEpoll}
	}
	return []aio.Backend{aio.BackendKqueue}
}

func OnEach(t *testing.T, f func(t *testing.T, b aio.Backend)) {
	t.Helper()
	for _, b := range Backends() {
		t.Run(b.String(), func(t *testing.T) { f(t, b) })
	}
}

// TCP returns a connection over loopback, which closes when the test ends.
func TCP(t testing.TB) (here, there *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	defer func() { _ = ln.Close() }()
	d, err := net.Dial("tcp", ln.Addr().String())
	Must(t, err)
	a, err := ln.Accept()
	Must(t, err)
	here, there = a.(*net.TCPConn), d.(*net.TCPConn)
	Must(t, there.SetDeadline(time.Now().Add(Patience)))
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return here, there
}

// Accept listens, and calls f with each connection until the test ends.
func Accept(t testing.TB, f func(net.Conn)) net.Addr {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	Serve(t, ln, f)
	return ln.Addr()
}

func Serve(t testing.TB, ln net.Listener, f func(net.Conn)) {
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
	t.Cleanup(func() { _ = ln.Close(); <-done })
}

func Answered(t *testing.T, c net.Conn, text string) {
	t.Helper()
	Must(t, c.SetDeadline(time.Now().Add(Patience)))
	_, err := io.WriteString(c, text)
	Must(t, err)
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Errorf("%q, %v; want %q", got, err, text)
	}
}

func Eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience / 2); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Waiter is a Watcher of aio or of a layer over it.
type Waiter[R any] interface {
	WaitIO() ([]R, error)
	Close() error
}

// Open returns a Watcher without a log, or skips the test if the backend is not available.
func Open(t testing.TB, o aio.Options) *aio.Watcher {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w, err := aio.New(o)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("needs %v: %v", o.Backend, err)
	}
	Must(t, err)
	return w
}

// CloseAtEnd closes w when the test ends, or after Patience.
func CloseAtEnd(t testing.TB, w io.Closer) {
	late := time.AfterFunc(Patience, func() { w.Close() })
	t.Cleanup(func() {
		if !late.Stop() {
			t.Errorf("the watcher was closed after %v: something did not come", Patience)
		}
		w.Close()
	})
}

// Results returns the next n results. keep copies what the next WaitIO overwrites.
func Results[R any](t testing.TB, w Waiter[R], n int, keep func(*R)) []R {
	t.Helper()
	var all []R
	for len(all) < n {
		results, err := w.WaitIO()
		if err != nil {
			t.Fatalf("WaitIO after %d of %d results: %v", len(all), n, err)
		}
		for _, r := range results {
			keep(&r)
			all = append(all, r)
		}
	}
	if len(all) > n {
		t.Fatalf("%d results instead of %d", len(all), n)
	}
	return all
}

// Pump calls f with each result until the test ends.
func Pump[R any](t testing.TB, w Waiter[R], f func(R)) {
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

// EchoAllocates returns the allocations of one echo. there sends the message, read and write begin
// an operation, and wait returns its bytes.
func EchoAllocates(t *testing.T, there net.Conn, read, write func(buf []byte) error,
	wait func() ([]byte, error),
) float64 {
	t.Helper()
	message, answer, buf := make([]byte, 64), make([]byte, 64), make([]byte, 64)
	ended := func() []byte {
		data, err := wait()
		if err != nil || len(data) != len(message) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
		return data
	}
	echo := func() {
		_, err := there.Write(message)
		Must(t, err)
		Must(t, read(buf))
		copy(buf, ended())
		Must(t, write(buf))
		ended()
		_, err = io.ReadFull(there, answer)
		Must(t, err)
	}
	for range 100 {
		echo()
	}
	return testing.AllocsPerRun(200, echo)
}
