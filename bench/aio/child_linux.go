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
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"evenkeel.dev/bench/machine"
)

// This file hands the address of a CPU mask to the kernel, in calls that return before the mask
// can go.

// Server and client have a core each, of those that the driver may run on; the driver sleeps
// meanwhile.
const (
	serverCore = iota // the first
	clientCore        // the second
)

// child is a program that the driver started, and ends by its process id.
type child struct {
	cmd    *exec.Cmd
	name   string
	input  io.WriteCloser
	lines  chan string // of its output
	cancel context.CancelFunc
	errors *tail
}

// start starts argv on one core with one P.
func (d *driver) start(ctx context.Context, argv []string, core int) (*child, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &child{name: filepath.Base(argv[0]), lines: make(chan string, 64), cancel: cancel, errors: &tail{}}
	c.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	c.cmd.Stderr = c.errors
	// An interrupt from the keyboard reaches the driver alone, which then ends what it started;
	// a driver that is killed takes its children along.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.cmd.WaitDelay = 2 * time.Second
	out, err := c.cmd.StdoutPipe()
	in, ierr := c.cmd.StdinPipe()
	c.input = in
	if err := errors.Join(err, ierr); err != nil {
		cancel()
		return nil, err
	}
	if err := pinned(core, c.cmd.Start); err != nil {
		cancel()
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: make bench-aio builds it", err)
		}
		return nil, err
	}
	go func() {
		defer close(c.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	return c, nil
}

// line returns the next line of the child's output.
func (c *child) line(ctx context.Context, patience time.Duration) (string, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s, ok := <-c.lines:
		if !ok {
			c.cancel()
			_ = c.cmd.Wait() // what it said on its standard error is whole then
			return "", fmt.Errorf("%s ended early: %s", c.name, c.errors)
		}
		return s, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-timer.C:
		return "", fmt.Errorf("%s is stuck: it said nothing for %v: %s", c.name, patience, c.errors)
	}
}

// end ends the child: politely first, as the kernel may hold on to the sockets of one that is
// killed.
func (c *child) end() {
	_ = c.input.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(2*time.Second, c.cancel)
	for range c.lines { // Wait must not close the pipe before all is read
	}
	_ = c.cmd.Wait() // how it ended says nothing: it was told to
	timer.Stop()
	c.cancel()
}

// pinned calls start on a thread that may run on one core, which children inherit.
func pinned(core int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one [16]uint64
	if err := affinity(syscall.SYS_SCHED_GETAFFINITY, &before); err != nil {
		return err
	}
	for i, left := 0, core; ; i++ {
		if i == 64*len(before) {
			return errors.New("server and client need a core each: run it where two may be used")
		}
		if bit := uint64(1) << (i % 64); before[i/64]&bit != 0 {
			if left == 0 {
				one[i/64] = bit
				break
			}
			left--
		}
	}
	if err := affinity(syscall.SYS_SCHED_SETAFFINITY, &one); err != nil {
		return fmt.Errorf("a core of its own for %s: %w", []string{"the server", "the client"}[core], err)
	}
	return errors.Join(start(), affinity(syscall.SYS_SCHED_SETAFFINITY, &before))
}

func affinity(call uintptr, mask *[16]uint64) error {
	if _, _, e := syscall.RawSyscall(call, 0, unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask))); e != 0 {
		return e
	}
	return nil
}

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - 500; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// resident returns what of a process is in memory, in bytes: all of it, and its own pages, without
// those of files.
func resident(pid int) (all, anonymous float64, err error) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	var fields [3]float64
	for i, name := range []string{"VmRSS", "RssAnon", "RssShmem"} {
		n, perr := strconv.ParseFloat(strings.TrimSuffix(machine.Field(status, name), " kB"), 64)
		fields[i], err = n*1024, errors.Join(err, perr)
	}
	return fields[0], fields[1] + fields[2], err
}
