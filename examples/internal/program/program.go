//go:build unix

// Package program runs an example as its user does, for the tests of its folder: built, on a port
// of its own, until SIGTERM.
package program

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait.
const patience = 30 * time.Second

// Build builds the example in the current directory and returns the command's path.
func Build(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "example")
	if text, err := exec.Command("go", "build", "-o", out, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// Program is a running example.
type Program struct {
	Addr string
	t    *testing.T
	cmd  *exec.Cmd
	log  bytes.Buffer // after the line that says the address; complete when done is closed
	done chan struct{}
}

var listening = regexp.MustCompile(`msg=listening (?:addr=|url=http://)(\S+)`)

// Start starts it on a free port and waits until it listens.
func Start(t *testing.T, path string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, done: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	var stderr bytes.Buffer
	p.cmd.Stderr = &stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done })
	lines := bufio.NewReader(out)
	for p.Addr == "" {
		line, err := lines.ReadString('\n')
		if m := listening.FindStringSubmatch(line); m != nil {
			p.Addr = m[1]
		}
		if err != nil {
			close(p.done)
			t.Fatalf("it does not listen: %v\n%s", p.cmd.Wait(), stderr.Bytes())
		}
	}
	go func() { defer close(p.done); _, _ = io.Copy(&p.log, lines) }()
	return p
}

// Dial connects to it.
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

// Stop stops it by a signal, wants exit code 0, and returns what it has logged.
func (p *Program) Stop(sig syscall.Signal) string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("it runs on after %v", sig)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("after %v: %v", sig, err)
	}
	return p.log.String()
}

// Refuses runs it with arguments that it must not like, and checks its exit code and what it says.
func Refuses(t *testing.T, path string, code int, says string, args ...string) {
	t.Helper()
	out, err := exec.Command(path, args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code || !strings.Contains(string(out), says) {
		t.Errorf("%q: %v, want exit code %d and %q in:\n%s", args, err, code, says, out)
	}
}
