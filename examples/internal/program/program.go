//go:build unix

// Package program runs an example as its user does, as a process on a free port, for tests.
package program

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/examples/child"
)

const patience = 30 * time.Second

const asProgram = "EVENKEEL_TEST_AS_PROGRAM"

// Main is what TestMain calls with the example's main and what runs the tests. Processes that the
// tests start are the test binary too, because to link a program again takes longer than most tests.
func Main(main, tests func()) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	tests()
}

type Program struct {
	Addr  string
	t     *testing.T
	child *child.Child
}

var listening = regexp.MustCompile(`msg=listening (?:addr=|url=http://)(\S+)`)

// Start starts path, which is os.Args[0] after Main, on a free port, and waits until it listens.
func Start(t *testing.T, path string, args ...string) *Program {
	t.Helper()
	c, err := child.Start(t.Context(),
		child.Options{Args: append([]string{path, "-addr", "127.0.0.1:0"}, args...), Ready: listening})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return &Program{Addr: c.Match, t: t, child: c}
}

func (p *Program) Dial() *net.TCPConn {
	p.t.Helper()
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// Log returns what it has written to standard output so far.
func (p *Program) Log() string {
	stdout, _ := p.child.Output()
	return stdout
}

// Stop stops it by a signal, wants exit code 0, and returns the log.
func (p *Program) Stop(sig syscall.Signal) string {
	p.t.Helper()
	if err := p.child.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.child.Done():
	case <-time.After(patience):
		p.t.Fatalf("it runs on after %v", sig)
	}
	stdout, stderr := p.child.Output()
	if state := p.child.State(); !state.Success() {
		p.t.Errorf("after %v: %v\n%s", sig, state, stderr)
	}
	return stdout
}

// Refuses runs it with arguments that it must refuse.
func Refuses(t *testing.T, path string, code int, says string, args ...string) {
	t.Helper()
	out, err := exec.Command(path, args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code || !strings.Contains(string(out), says) {
		t.Errorf("%q: %v, want exit code %d and %q in:\n%s", args, err, code, says, out)
	}
}
