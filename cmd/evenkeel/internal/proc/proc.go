// Package proc starts a command in its own process group, and ends all of the group.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options say what to start. Only Args is required.
type Options struct {
	Args   []string  // program, looked up in PATH, and its arguments
	Env    []string  // NAME=VALUE, added to this process's environment
	Stdout io.Writer // default nil: discarded
	// Stderr is read to its end by one goroutine. Default nil: discarded.
	Stderr func(io.Reader)
}

// outputTimeout is how long output is read after the group has ended. A process that left the group
// may hold the pipes open.
const outputTimeout = 3 * time.Second

const lingerPoll = 10 * time.Millisecond

// Process is a started command. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}

	grace atomic.Int64 // Unix ns until which Stop waits for the group; 0: not stopped

	mu   sync.Mutex // guards over
	over bool       // no signal from here on, because the leader is about to be reaped

	reaped bool  // owned by the goroutine that started it
	late   bool  // the group outlived Stop's grace; set before done is closed
	err    error // of Wait; set before done is closed
}

// Start starts the command without standard input. On Linux the kernel kills it when this process
// dies.
func Start(o Options) (*Process, error) {
	if len(o.Args) == 0 || o.Args[0] == "" {
		return nil, errors.New("no command: write it after --, as in: evenkeel run -url http://127.0.0.1:8080/ -- " +
			"./server")
	}
	cmd := exec.Command(o.Args[0], o.Args[1:]...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.Stdout = o.Stdout
	cmd.SysProcAttr = attributes()
	var readers sync.WaitGroup
	var pipe *os.File
	if o.Stderr != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stderr, pipe = w, r
		defer w.Close() // the child has its own
		readers.Go(func() {
			o.Stderr(r)
			_, _ = io.Copy(io.Discard, r) // a child must not block on a full pipe
		})
	}
	cmd.WaitDelay = outputTimeout

	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		lockToParent() // the child dies with this thread
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.waitExit()
		p.waitForGroup()
		p.kill() // what it started
		p.mu.Lock()
		p.over = true
		p.mu.Unlock()
		p.reap()
		if pipe != nil {
			// Killed writers leave the rest of their output in the pipe, before its end.
			_ = pipe.SetReadDeadline(time.Now().Add(outputTimeout))
			readers.Wait()
			pipe.Close()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		if pipe != nil {
			cmd.Stderr.(*os.File).Close()
			readers.Wait()
			pipe.Close()
		}
		return nil, fmt.Errorf("cannot start %s: %w", o.Args[0], err)
	}
	return p, nil
}

// reap collects the state of the ended process and the rest of its standard output.
func (p *Process) reap() {
	if !p.reaped {
		p.reaped = true
		p.err = p.cmd.Wait()
	}
}

// waitForGroup waits for the group until Stop's grace ends. A script's server may take longer to
// end than the script.
func (p *Process) waitForGroup() {
	for p.alive() && time.Now().UnixNano() < p.grace.Load() {
		time.Sleep(lingerPoll)
	}
	p.late = p.grace.Load() != 0 && p.alive()
}

// Pid returns the id of the process and its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and its output was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns "exit status 1" or "signal: terminated", say. Call it after Done.
func (p *Process) Exit() string {
	if s := p.cmd.ProcessState; s != nil {
		return s.String()
	}
	return fmt.Sprint(p.err)
}

// CPU returns the user and system time. Call it after Done.
func (p *Process) CPU() time.Duration {
	if s := p.cmd.ProcessState; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// ErrKilled says that the process did not end when told to.
var ErrKilled = errors.New("killed")

// Stop sends SIGTERM to the group and waits for it to end. After grace, or when ctx ends, it kills
// the group and returns an error that wraps ErrKilled.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	select {
	case <-p.done: // its id may be another's by now
		return nil
	default:
	}
	p.grace.Store(time.Now().Add(grace).UnixNano())
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	why := fmt.Errorf("%w: it, or what it started, had not ended %v after SIGTERM", ErrKilled, grace)
	select {
	case <-p.done:
		if p.late {
			return why // killed before t was looked at
		}
		return nil
	case <-t.C:
	case <-ctx.Done():
		why = fmt.Errorf("%w: %w", ErrKilled, context.Cause(ctx))
	}
	p.kill()
	<-p.done
	return why
}
