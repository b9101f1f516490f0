//go:build unix

// Package child starts the programs that tests of examples and e2e and the drivers of bench run,
// and ends them. It leaves no child over. A child leads a process group, which no interrupt from
// the keyboard reaches, and which is killed when the child has ended. On Linux the kernel kills the
// child with its parent.
package child

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

type Options struct {
	Args []string // looked up in PATH
	Env  []string // NAME=VALUE, added to this process's

	// Ready matches the line of standard output that Start waits for. Default: nil, none.
	Ready *regexp.Regexp
	// ReadyTimeout bounds that wait. Default: 0, which is a minute.
	ReadyTimeout time.Duration
	// StopTimeout is how long Stop waits before it kills. Default: 0, which is a minute.
	StopTimeout time.Duration

	Input          bool      // open Child.Input
	Stdout, Stderr io.Writer // default nil: kept for Output

	// Launch calls start on a thread from which the child inherits. Default: nil, any.
	Launch func(start func() error) error
}

// Child is a program that was started. Any goroutine may call its methods.
type Child struct {
	Match string         // of the first group of Options.Ready
	Input io.WriteCloser // Stop closes it

	cmd            *exec.Cmd
	stop           time.Duration
	stdout, stderr tail
	exited         chan struct{}

	mu   sync.Mutex
	over bool // the group may be another's; guarded by mu
}

// lingering is how long output is awaited of a process that has left the group.
const lingering = 3 * time.Second

// Start starts a program and waits until it is ready. ctx bounds the start alone.
func Start(ctx context.Context, o Options) (*Child, error) {
	c := &Child{
		cmd: exec.Command(o.Args[0], o.Args[1:]...), stop: cmp.Or(o.StopTimeout, time.Minute),
		exited: make(chan struct{}),
	}
	c.cmd.Env = append(os.Environ(), o.Env...)
	c.cmd.Stdout, c.cmd.Stderr = cmp.Or[io.Writer](o.Stdout, &c.stdout), cmp.Or[io.Writer](o.Stderr, &c.stderr)
	ready := &awaited{match: o.Ready, to: c.cmd.Stdout, found: make(chan string, 1)}
	if o.Ready != nil {
		c.cmd.Stdout = ready
	}
	c.cmd.WaitDelay = lingering
	c.cmd.SysProcAttr = attributes()
	if o.Input {
		var err error
		if c.Input, err = c.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if err := c.launch(o.Launch); err != nil {
		return nil, err
	}
	if o.Ready == nil {
		return c, nil
	}
	err := c.await(ctx, ready, cmp.Or(o.ReadyTimeout, time.Minute))
	if err != nil {
		_ = c.Stop()
		err = fmt.Errorf("%s: %w", filepath.Base(o.Args[0]), err)
		if _, said := c.Output(); said != "" {
			err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(said))
		}
		return nil, err
	}
	return c, nil
}

// launch starts the program on a thread that lives as long, because the kernel takes that thread
// for the parent.
func (c *Child) launch(launch func(start func() error) error) error {
	if launch == nil {
		launch = func(start func() error) error { return start() }
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := launch(c.cmd.Start)
		started <- err
		if err != nil {
			return
		}
		c.reap()
		close(c.exited)
	}()
	return <-started
}

func (c *Child) await(ctx context.Context, ready *awaited, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case c.Match = <-ready.found:
		return nil
	case <-c.exited:
	case <-timer.C:
		return fmt.Errorf("not ready after %v: it has said no line like %v", limit, ready.match)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case c.Match = <-ready.found:
		return nil
	default:
		return fmt.Errorf("ended early: %v", c.State())
	}
}

func (c *Child) Pid() int { return c.cmd.Process.Pid }

func (c *Child) Exited() <-chan struct{} { return c.exited }

// State says how the process ended. It is nil before Exited.
func (c *Child) State() *os.ProcessState {
	select {
	case <-c.exited:
		return c.cmd.ProcessState
	default:
		return nil
	}
}

// Signal does not signal the group.
func (c *Child) Signal(s syscall.Signal) error { return c.cmd.Process.Signal(s) }

// Output returns the end of what the process has written so far, a MiB of each at most.
func (c *Child) Output() (stdout, stderr string) { return c.stdout.String(), c.stderr.String() }

// Stop sends SIGTERM and waits for the end. It kills the group if that takes too long, and says so.
func (c *Child) Stop() error {
	if c.Input != nil {
		_ = c.Input.Close()
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(c.stop)
	defer timer.Stop()
	select {
	case <-c.exited:
		return nil
	case <-timer.C:
		c.Kill()
		return fmt.Errorf("%s was killed: it had not ended %v after SIGTERM", filepath.Base(c.cmd.Path), c.stop)
	}
}

// Kill kills the process and its group, and returns when they have ended.
func (c *Child) Kill() {
	c.killGroup()
	<-c.exited
}

var kill = syscall.Kill

// killGroup kills the group unless its number may be another's.
func (c *Child) killGroup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		_ = kill(-c.Pid(), syscall.SIGKILL)
	}
}

func (c *Child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// awaited passes output on, and looks for a line.
type awaited struct {
	match *regexp.Regexp
	to    io.Writer
	line  []byte
	found chan string
	done  bool
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.to.Write(p) // first, so that the output has the line when it is found
	if !a.done {
		a.look(p)
	}
	return n, err
}

const maxLine = 1 << 16

func (a *awaited) look(p []byte) {
	a.line = append(a.line, p...)
	for {
		line, rest, ended := bytes.Cut(a.line, []byte{'\n'})
		if !ended {
			a.line = a.line[max(0, len(a.line)-maxLine):]
			return
		}
		if m := a.match.FindSubmatch(line); m != nil {
			a.found <- string(m[len(m)-1])
			a.line, a.done = nil, true
			return
		}
		a.line = rest
	}
}

type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

const maxTail = 1 << 20

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - maxTail; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
