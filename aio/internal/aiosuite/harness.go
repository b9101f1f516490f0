package aiosuite

import (
	"io"
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

// Child returns this test binary as a command that runs one test. With the race detector, it exits
// without the usual second of sleep.
func Child(t *testing.T, test string, env ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
	c.Env = append(os.Environ(), "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	c.Env = append(c.Env, env...)
	return c
}

// Backends returns the backends of this operating system.
func Backends() []aio.Backend {
	if runtime.GOOS == "linux" {
		return []aio.Backend{aio.BackendIOUring, aio.BackendEpoll}
	}
	return []aio.Backend{aio.BackendKqueue}
}

// OnEach runs f once for each backend.
func OnEach(t *testing.T, f func(t *testing.T, b aio.Backend)) {
	t.Helper()
	for _, b := range Backends() {
		t.Run(b.String(), func(t *testing.T) { f(t, b) })
	}
}

// TCP returns the two ends of a connection over loopback. They close when the test ends.
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

// Accept calls f with each connection to the address that it returns, until the test ends.
func Accept(t testing.TB, f func(net.Conn)) net.Addr {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	Serve(t, ln, f)
	return ln.Addr()
}

// Serve is Accept for a listener.
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

// Answered checks that c's peer echoes.
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

// Eventually waits until f returns true.
func Eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience / 2); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Ended reports whether c's peer has closed it; c has a deadline.
func Ended(c net.Conn) bool {
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
