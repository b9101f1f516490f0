// Package syscount counts the system calls of another process by the kernel's
// raw_syscalls:sys_enter tracepoint, through counters of perf_event_open(2). strace would stop
// the process at each call, and so change how much it batches; a counter costs a fraction of a
// microsecond a call, which is still too much to measure time beside it.
//
// It hands the address of one structure to the kernel, in a call that returns before the
// structure can go.
package syscount

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// ErrNotRoot is returned where only root may trace.
var ErrNotRoot = errors.New("system calls are not counted: the raw_syscalls tracepoint needs root; run the benchmark as root")

const tracefs = "/sys/kernel/tracing"

// Counter counts for one process. It is not safe for concurrent use.
type Counter struct {
	pid   int
	event uint64
	fds   []int // of the counters, one a thread
}

// Open prepares to count the system calls of the process pid.
func Open(pid int) (*Counter, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	const id = tracefs + "/events/raw_syscalls/sys_enter/id"
	text, err := os.ReadFile(id)
	if errors.Is(err, os.ErrNotExist) {
		if err = syscall.Mount("tracefs", tracefs, "tracefs", 0, ""); err == nil {
			text, err = os.ReadFile(id)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("system calls are not counted: the kernel shows no raw_syscalls tracepoint in %s: %w", tracefs, err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return &Counter{pid: pid, event: n}, err
}

// startTries bounds how often Start begins anew.
const startTries = 1000

// Start begins a count. A thread that another one starts before that has its counter would have none: then Start begins anew.
func (c *Counter) Start() error {
	for range startTries {
		before, err := c.threads()
		if err != nil {
			return err
		}
		for _, tid := range before {
			fd, err := open(c.event, tid)
			if errors.Is(err, syscall.ESRCH) { // it has ended
				continue
			}
			if err != nil {
				_, serr := c.Stop()
				return errors.Join(fmt.Errorf("system calls are not counted: perf_event_open: %w", err), serr)
			}
			c.fds = append(c.fds, fd)
		}
		after, err := c.threads()
		if err == nil && slices.Equal(before, after) {
			return nil
		}
		if _, serr := c.Stop(); err != nil || serr != nil {
			return errors.Join(err, serr)
		}
	}
	return fmt.Errorf("system calls are not counted: process %d starts threads all the time", c.pid)
}

// threads returns the process's, in order.
func (c *Counter) threads() (tids []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.pid))
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	slices.Sort(tids)
	return tids, err
}

// attributes is the beginning of struct perf_event_attr, as its first version had it.
type attributes struct {
	kind, size                uint32
	config, period            uint64
	sampleType, readFormat    uint64
	flags                     uint64
	wakeup, breakpoint        uint32
	breakpointAddr, reserved8 uint64
}

// open is openCounter. A variable for tests.
var open = openCounter

// openCounter returns a counter of thread tid and of those that it starts.
func openCounter(event uint64, tid int) (int, error) {
	const (
		tracepoint = 2      // PERF_TYPE_TRACEPOINT
		inherit    = 1 << 1 // attr.inherit
		cloexec    = 1 << 3 // PERF_FLAG_FD_CLOEXEC
		size       = 64     // PERF_ATTR_SIZE_VER0
	)
	a := &attributes{kind: tracepoint, size: size, config: event, flags: inherit}
	any := ^uintptr(0) // cpu, and no group
	fd, _, e := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(a)), uintptr(tid), any, any, cloexec, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}

// Stop ends a count and returns it.
func (c *Counter) Stop() (int64, error) {
	var all int64
	var err error
	for _, fd := range c.fds {
		var b [8]byte
		_, rerr := syscall.Read(fd, b[:])
		all += int64(binary.NativeEndian.Uint64(b[:]))
		err = errors.Join(err, rerr, syscall.Close(fd))
	}
	c.fds = nil
	return all, err
}
