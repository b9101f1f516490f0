//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// traced counts the server's system calls per message, after the measured time because it slows the
// server.
func (f *fleet) traced() (float64, error) {
	c, err := openCounters(f.pid)
	if err != nil {
		return 0, err
	}
	n, _, err := f.during(min(f.length, time.Duration(200+f.config.conns/20)*time.Millisecond))
	calls, cerr := c.close()
	return float64(calls) / float64(n), errors.Join(err, cerr)
}

// counters count the tracepoint raw_syscalls:sys_enter by perf_event_open(2), one for each thread.
// strace would stop the process at each call, and change how much it batches.
type counters []int

// openCounters begins a count, which includes threads that a counted thread starts. It returns an
// error if a thread may have started another one before it had its counter.
func openCounters(pid int) (c counters, err error) {
	text, err := os.ReadFile("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id")
	if err != nil {
		return nil, err
	}
	event, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil, err
	}
	before, err := threads(pid)
	for _, tid := range before {
		fd, oerr := openCounter(event, tid)
		if oerr != syscall.ESRCH { // the thread has not ended
			c, err = append(c, fd), errors.Join(err, os.NewSyscallError("perf_event_open", oerr))
		}
	}
	after, terr := threads(pid)
	if err = errors.Join(err, terr); err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("process %d started or ended threads while they got their counters", pid)
	}
	if err != nil {
		_, _ = c.close()
	}
	return c, err
}

func (c counters) close() (calls uint64, err error) {
	for _, fd := range c {
		var b [8]byte
		_, rerr := syscall.Read(fd, b[:])
		calls += binary.NativeEndian.Uint64(b[:])
		err = errors.Join(err, rerr, syscall.Close(fd))
	}
	return calls, err
}

func threads(pid int) (tids []int, err error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	slices.Sort(tids)
	return tids, err
}

// openCounter opens a counter. The attributes are the beginning of struct perf_event_attr on a
// little-endian machine. The kernel does not keep their address.
func openCounter(event uint64, tid int) (int, error) {
	const (
		tracepoint = 2      // PERF_TYPE_TRACEPOINT
		size       = 64     // PERF_ATTR_SIZE_VER0
		inherit    = 1 << 1 // attr.inherit
		cloexec    = 1 << 3 // PERF_FLAG_FD_CLOEXEC
		none       = ^uintptr(0)
	)
	a := &[size / 8]uint64{0: tracepoint | size<<32, 1: event, 5: inherit}
	at := uintptr(unsafe.Pointer(a))
	fd, _, e := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, at, uintptr(tid), none, none, cloexec, 0)
	if e != 0 {
		return -1, e
	}
	return int(fd), nil
}
