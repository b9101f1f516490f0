package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"evenkeel.dev/bench/machine"
)

// child is a service that the driver started, and ends by its process id.
type child struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	url   string
	ended chan struct{}
}

// listening is the line with which a service says where it is.
var listening = regexp.MustCompile(`(?:^|msg=listening url=)(http://[0-9.:]+)`)

// start starts a service, env beside the driver's own environment, and returns when it listens.
func start(ctx context.Context, env []string, argv ...string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = os.Stderr
	// An interrupt from the keyboard reaches the driver alone, which then ends what it started;
	// a driver that is killed takes its children along.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := c.cmd.StdoutPipe()
	in, ierr := c.cmd.StdinPipe()
	c.input = in
	if err := errors.Join(err, ierr); err != nil {
		return nil, err
	}
	// The kernel takes the thread that starts a child for its parent, and threads may go.
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			<-c.ended
		}
	}()
	if err := <-started; err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: make bench-explain builds it", err)
		}
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(c.ended)
		for sc := bufio.NewScanner(out); sc.Scan(); {
			if m := listening.FindStringSubmatch(sc.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
	}()
	select {
	case c.url = <-found:
		return c, nil
	case <-c.ended:
		err = errors.New("it ended early")
	case <-time.After(time.Minute):
		err = errors.New("it did not say where it listens")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	c.end()
	return nil, fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
}

// end ends the child: politely first.
func (c *child) end() {
	_ = c.input.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(3*time.Second, func() { _ = c.cmd.Process.Kill() })
	<-c.ended // Wait must not close the pipe before all is read
	_ = c.cmd.Wait()
	timer.Stop()
}

// cpu returns the CPU time that the child has used.
func (c *child) cpu() (time.Duration, error) { return machine.CPUTime(c.cmd.Process.Pid) }
