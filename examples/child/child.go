// Package child starts the programs that tests of examples and e2e and the drivers of bench run,
// reads what they print, and ends them. Package proc has them leave no process over.
package child

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"evenkeel.dev/internal/proc"
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

	// Launch calls start on a thread from which the child inherits. Default: nil, any.
	Launch func(start func() error) error
}

// Child is a program that was started. Any goroutine may call its methods.
type Child struct {
	*proc.Process
	Name  string         // of the program
	Match string         // of the last group of Options.Ready
	Input io.WriteCloser // Stop closes it

	stop           time.Duration
	stdout, stderr output
}

// Start starts a program and waits until it is ready. ctx bounds the start alone.
func Start(ctx context.Context, o Options) (*Child, error) {
	c := &Child{
		Name: filepath.Base(o.Args[0]), stop: cmp.Or(o.StopTimeout, time.Minute),
		stdout: output{more: make(chan struct{}, 1)}, stderr: output{more: make(chan struct{}, 1)},
	}
	setup := func(cmd *exec.Cmd) (err error) {
		cmd.Stdout, cmd.Stderr = &c.stdout, &c.stderr
		c.Input, err = cmd.StdinPipe()
		return err
	}
	var err error
	c.Process, err = proc.Start(proc.Options{Args: o.Args, Env: o.Env, Setup: setup, Launch: o.Launch})
	if err != nil {
		return nil, err
	}
	if o.Ready == nil {
		return c, nil
	}
	limit := cmp.Or(o.ReadyTimeout, time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("not ready after %v: it has said no line like %v", limit, o.Ready))
	defer cancel()
	if c.Match, err = c.Await(ctx, o.Ready); err != nil {
		_ = c.Stop()
		return nil, err
	}
	return c, nil
}

// Await reads until a line matches, and returns the match of the last group.
func (c *Child) Await(ctx context.Context, ready *regexp.Regexp) (match string, err error) {
	for {
		line, err := c.Line(ctx)
		if err != nil {
			return "", err
		}
		if m := ready.FindStringSubmatch(line); m != nil {
			return m[len(m)-1], nil
		}
	}
}

// Line waits for the next whole line of standard output. It skips lines that it has not read in
// time, when Output has lost their beginning. One goroutine at a time may call it, or Await.
func (c *Child) Line(ctx context.Context) (string, error) {
	for {
		ended := c.Ended() // before the look, because what it writes last is to be found
		line, ok := c.stdout.line()
		switch {
		case ok:
			return line, nil
		case ended:
			return "", c.failed(fmt.Errorf("ended early: %v", c.State()))
		}
		select {
		case <-c.stdout.more:
		case <-c.Done():
		case <-ctx.Done():
			return "", c.failed(context.Cause(ctx))
		}
	}
}

func (c *Child) failed(err error) error {
	err = fmt.Errorf("%s: %w", c.Name, err)
	if _, complaint := c.Output(); complaint != "" {
		err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(complaint))
	}
	return err
}

// Output returns the end of what the process has written so far, a MiB of each at most.
func (c *Child) Output() (stdout, stderr string) { return c.stdout.String(), c.stderr.String() }

// Stop sends SIGTERM to the group and waits for its end. If that takes too long, it kills the group
// and says so.
func (c *Child) Stop() error {
	_ = c.Input.Close()
	if err := c.Process.Stop(context.Background(), c.stop); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// output keeps the end of what was written.
type output struct {
	more chan struct{} // has one after a Write

	mu   sync.Mutex
	text []byte // guarded by mu
	next int    // where the line begins that line returns; guarded by mu
}

const maxOutput = 1 << 20

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if n := len(o.text) - maxOutput; n > 0 {
		torn := o.next < n && o.text[n-1] != '\n'
		o.text, o.next = o.text[n:], max(0, o.next-n)
		if torn { // skip the rest of the line; if it goes on, the next Write comes here again
			o.next = bytes.IndexByte(o.text, '\n') + 1
		}
	}
	select {
	case o.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// line returns the next whole line, if there is one.
func (o *output) line() (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, _, ok := bytes.Cut(o.text[o.next:], []byte{'\n'})
	if ok {
		o.next += len(line) + 1
	}
	return string(line), ok
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
