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
	Args []string // program, found in PATH, and arguments
	Env  []string // NAME=VALUE, added to this process's
	// Stderr reads to the end in its own goroutine. Default nil: discarded.
	Stderr func(io.Reader)
	// Setup changes the command before it starts. Default nil.
	Setup func(*exec.Cmd) error
	// Launch calls start on a thread from which the child inherits. Default nil: any thread.
	Launch func(start func() error) error
}

// outputTimeout is how long to read output after the group ended. A process that left the group may
// hold the pipes open.
const outputTimeout = 3 * time.Second

const lingerPoll = 10 * time.Millisecond

// Process is a started command. Its methods are safe for concurrent use.
type Process struct {
	cmd   *exec.Cmd
	reap  func() error    // waits for the process itself, once
	ended context.Context // ends when it has ended and its output is read

	grace atomic.Int64 // Unix ns when Stop's grace ends; 0: not stopped

	mu   sync.Mutex // guards over
	over bool       // send no signal, because the leader is about to be reaped

	late bool // the group outlived Stop's grace; set before ended
}

// Start starts the command. On Linux the kernel kills it when this process dies.
func Start(o Options) (*Process, error) {
	if len(o.Args) == 0 || o.Args[0] == "" {
		return nil, errors.New("no command: write it after --, as in: evenkeel run -url http://127.0.0.1:8080/ -- " +
			"./server")
	}
	cmd := exec.Command(o.Args[0], o.Args[1:]...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.SysProcAttr = attributes()
	if o.Setup != nil {
		if err := o.Setup(cmd); err != nil {
			return nil, err
		}
	}
	launch := cmd.Start
	if o.Launch != nil {
		launch = func() error { return o.Launch(cmd.Start) }
	}
	var readers sync.WaitGroup
	var pipe *os.File
	if o.Stderr != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stderr, pipe = w, r
		defer w.Close()
		readers.Go(func() {
			o.Stderr(r)
			_, _ = io.Copy(io.Discard, r) // never block the child
		})
	}
	cmd.WaitDelay = outputTimeout

	ended, end := context.WithCancel(context.Background())
	p := &Process{cmd: cmd, reap: sync.OnceValue(cmd.Wait), ended: ended}
	started := make(chan error)
	go func() {
		defer end()
		lockToParent() // the child dies with this thread
		err := launch()
		started <- err
		if err != nil {
			return
		}
		p.waitExit()
		p.waitForGroup()
		p.kill()
		p.mu.Lock()
		p.over = true
		p.mu.Unlock()
		_ = p.reap()
		if pipe != nil {
			// Killed writers may leave output in the pipe.
			_ = pipe.SetReadDeadline(time.Now().Add(outputTimeout))
			readers.Wait()
			pipe.Close()
		}
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

// waitForGroup waits until Stop's grace ends, because a script's server may outlive the script.
func (p *Process) waitForGroup() {
	for p.alive() && time.Now().UnixNano() < p.grace.Load() {
		time.Sleep(lingerPoll)
	}
	p.late = p.grace.Load() != 0 && p.alive()
}

// Pid returns the id of the process and its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and its output is read.
func (p *Process) Done() <-chan struct{} { return p.ended.Done() }

func (p *Process) Ended() bool { return p.ended.Err() != nil }

// Until returns a context that ends with ctx or with the process.
func (p *Process) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.ended, cancel)
	return ctx, func() {
		stop() // or the process keeps ctx until it ends
		cancel()
	}
}

// State returns nil until the process has ended.
func (p *Process) State() *os.ProcessState {
	if !p.Ended() {
		return nil
	}
	return p.cmd.ProcessState
}

// Exit returns "exit status 1", for example. Call it after Done.
func (p *Process) Exit() string {
	if s := p.cmd.ProcessState; s != nil {
		return s.String()
	}
	return fmt.Sprint(p.reap())
}

// CPU returns the user and system time. Call it after Done.
func (p *Process) CPU() time.Duration {
	if s := p.cmd.ProcessState; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// Signal signals the process, not its group.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Kill kills the group, and returns when it has ended.
func (p *Process) Kill() {
	p.kill()
	<-p.Done()
}

// ErrKilled says that the process did not end by itself.
var ErrKilled = errors.New("killed")

// Stop sends SIGTERM to the group and waits. After grace or ctx, it kills the group and returns an
// ErrKilled.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	if p.Ended() { // its id may be another's by now
		return nil
	}
	p.grace.Store(time.Now().Add(grace).UnixNano())
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(grace)
	defer t.Stop()
	why := fmt.Errorf("%w: it, or what it started, had not ended %v after SIGTERM", ErrKilled, grace)
	select {
	case <-p.Done():
		if p.late {
			return why // killed before t fired
		}
		return nil
	case <-t.C:
	case <-ctx.Done():
		why = fmt.Errorf("%w: %w", ErrKilled, context.Cause(ctx))
	}
	p.Kill()
	return why
}
