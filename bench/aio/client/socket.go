//go:build linux

package main

import (
	"bytes"
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

var base = time.Now()

func now() int64 { return int64(time.Since(base)) }

var errClosed = errors.New("the server closed the connection")

func read(fd int, p []byte) (int, error)  { return transfer(syscall.Read, fd, p) }
func write(fd int, p []byte) (int, error) { return transfer(syscall.Write, fd, p) }

// transfer returns 0 and nil if the call would block.
func transfer(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, nil
		case err == nil && n == 0:
			return 0, errClosed
		}
		return max(n, 0), err
	}
}

type poller struct {
	fd     int
	events []syscall.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	return &poller{fd: fd, events: make([]syscall.EpollEvent, 1024)}, err
}

func (p *poller) add(fd, index int, events uint32) error {
	return syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: events, Fd: int32(index)})
}

// wait returns events without waiting.
func (p *poller) wait() ([]syscall.EpollEvent, error) {
	n, err := syscall.EpollWait(p.fd, p.events, 0)
	if err != nil && err != syscall.EINTR {
		return nil, err
	}
	return p.events[:max(n, 0)], nil
}

// socket returns a socket whose close resets the connection, or thousands of ports would be in
// TIME_WAIT.
func socket() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return fd, errors.Join(
		syscall.SetsockoptLinger(fd, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1}),
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
}

func connect(to syscall.SockaddrInet4) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	err = errors.Join(syscall.SetNonblock(fd, false), syscall.Connect(fd, &to), syscall.SetNonblock(fd, true))
	return fd, err
}

func message(p []byte, i int, seq uint32) {
	binary.LittleEndian.PutUint32(p, uint32(i))
	binary.LittleEndian.PutUint32(p[4:], seq)
	binary.LittleEndian.PutUint32(p[len(p)-4:], seq)
}

func pattern(size int) []byte {
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

const large = 16 << 10

// check compares the ends of most large answers, because all bytes cost as much as the echo.
func check(got, want []byte, i int) error {
	const end = 8
	seq := binary.LittleEndian.Uint32(want[4:])
	last := len(want) - end
	if len(want) >= large && seq%64 != 0 {
		if bytes.Equal(got[:end], want[:end]) && bytes.Equal(got[last:], want[last:]) {
			return nil
		}
	} else if bytes.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("connection %d: the answer is not what was sent: %x, want %x", i, got[:8], want[:8])
}

// traced counts the server's system calls per message, after the measured time.
func (f *fleet) traced() (float64, error) {
	c, err := openCounters(f.pid)
	if err != nil {
		return 0, err
	}
	n, _, err := f.during(min(f.length, time.Duration(200+f.config.conns/20)*time.Millisecond))
	calls, cerr := c.close()
	return float64(calls) / float64(n), errors.Join(err, cerr)
}

// counters count raw_syscalls:sys_enter by perf_event_open(2) for each thread. strace would change
// how much the process batches.
type counters []int

// openCounters includes threads that a counted thread starts. It fails if one may have started
// before that.
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
		if oerr != syscall.ESRCH { // it has not ended
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

// openCounter uses the beginning of struct perf_event_attr on a little-endian machine.
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
