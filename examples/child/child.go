//go:build unix

// Package child starts the programs that the tests of examples and e2e and the drivers of bench
// run, waits for what they say first, and ends them. Whatever happens to the program that starts
// one, no child is left over: it leads a process group, which is killed when the child has ended,
// and on Linux the kernel kills the child with its parent.
//
// It is the one starter of the nested modules, which import nothing internal of the root's.
package child

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

// Options say what to start. Only Args is required.
type Options struct {
	Args []string // the program, looked up in PATH, and its arguments
	Env  []string // NAME=VALUE beside this process's environment; default none

	// Ready is awaited by Start: a line of standard output that it matches. Default nil: nothing
	// is.
	Ready *regexp.Regexp
	// ReadyTimeout is how long Ready is awaited; default a minute, which only what hangs takes.
	ReadyTimeout time.Duration
	// StopTimeout is how long Stop waits before it kills; default a minute, likewise.
	StopTimeout time.Duration

	Input          bool      // the child's standard input is Child.Input; default: it is empty
	Stdout, Stderr io.Writer // default nil: kept for Output

	// Launch calls start on a thread from which the child inherits, such as one that is bound to a
	// processor; default: on any.
	Launch func(start func() error) error
}

// Child is a program that was started. Its methods are safe for concurrent use.
type Child struct {
	Match string         // what the first group of Options.Ready has matched
	Input io.WriteCloser // with Options.Input; Stop closes it

	cmd            *exec.Cmd
	stop           time.Duration
	stdout, stderr tail
	exited         chan struct{}

	mu   sync.Mutex
	over bool // the group may be another's; guarded by mu
}

// lingering is how long the output of who has left the child's group is awaited after its end.
const lingering = 3 * time.Second

// Start starts a program and waits until it is ready. The program outlives ctx, which bounds the
// start alone.
func Start(ctx context.Context, o Options) (*Child, error) {
	if len(o.Args) == 0 {
		return nil, errors.New("child: Options.Args is empty: name a program")
	}
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

// launch starts the program on a thread that lives as long: the kernel takes the thread that
// starts a child for its parent.
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

// await returns when the child has said the line, or will not.
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
	case c.Match = <-ready.found: // before it ended
		return nil
	default:
		return fmt.Errorf("ended early: %v", c.State())
	}
}

// Pid returns the process's id, which is its group's too.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Exited is closed when the process has ended and its output was read.
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

// Signal sends a signal to the process, not to its group.
func (c *Child) Signal(s syscall.Signal) error { return c.cmd.Process.Signal(s) }

// Output returns the end of what the process has written so far, as far as Options did not give
// it away: at most a MiB of each.
func (c *Child) Output() (stdout, stderr string) { return c.stdout.String(), c.stderr.String() }

// Stop closes the input, asks the process to end, by SIGTERM, and returns when it has. Who has not
// ended in time is killed, with all of the group, and Stop says so. It may be called again.
func (c *Child) Stop() error {
	if c.Input != nil {
		_ = c.Input.Close()
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // or it has ended
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

// Kill ends the process and its group as a crash would, and returns when they have ended.
func (c *Child) Kill() {
	c.killGroup()
	<-c.exited
}

// kill is syscall.Kill.
var kill = syscall.Kill

// killGroup kills the group unless its number may be another's by now.
func (c *Child) killGroup() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		_ = kill(-c.Pid(), syscall.SIGKILL)
	}
}

// end notes that the group's number may be another's from now on.
func (c *Child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// awaited passes output on, and looks for a line. One goroutine writes to it.
type awaited struct {
	match *regexp.Regexp
	to    io.Writer
	line  []byte      // the last one so far, unless it was found
	found chan string // takes one
	done  bool
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.to.Write(p) // first: who hears of the line finds it, and those before it, in the output
	if !a.done {
		a.look(p)
	}
	return n, err
}

// maxLine bounds what is kept of a line that does not end.
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

// tail keeps the end of what is written to it. It is safe for concurrent use.
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
