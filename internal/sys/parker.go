//go:build linux

package sys

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Parker waits for a descriptor in the runtime's own network poller: while it does, its P runs
// other goroutines and no thread is blocked. One goroutine may Park at a time.
type Parker struct {
	file   *os.File
	raw    syscall.RawConn
	check  func(uintptr) bool
	pass   func(uintptr) bool // of Yield
	passed bool
	timed  bool // a read deadline is set
}

// NewParker takes over fd, which is in non-blocking mode and can be polled: an eventfd, or an
// epoll descriptor. ready says whether to stop waiting; it is called before the wait and after
// each edge of fd. signal makes such an edge.
func NewParker(fd int, name string, ready func() bool, signal func()) (*Parker, error) {
	f := os.NewFile(uintptr(fd), name)
	raw, err := f.SyscallConn()
	if err == nil {
		err = f.SetReadDeadline(time.Time{}) // fails where the runtime cannot poll it
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	p := &Parker{file: f, raw: raw, check: func(uintptr) bool { return ready() }}
	p.pass = func(uintptr) bool {
		p.passed = !p.passed
		if p.passed {
			signal()
			return false
		}
		return true
	}
	return p, nil
}

// Yield waits for an edge of its own making. Unlike after runtime.Gosched, which leaves the
// caller runnable, the scheduler then looks at the network when nothing else can run; else that
// is up to sysmon, every 10 ms (runtime/proc.go, findRunnable and sysmon).
func (p *Parker) Yield() {
	if p.timed {
		p.timed = false
		_ = p.file.SetReadDeadline(time.Time{})
	}
	p.passed = false
	_ = p.raw.Read(p.pass)
}

// Park waits until ready says so, for at most the given time (no limit when negative), or until
// Close.
func (p *Parker) Park(most time.Duration) error {
	if most >= 0 {
		p.timed = true
		if err := p.file.SetReadDeadline(time.Now().Add(most)); err != nil {
			return err
		}
	} else if p.timed {
		p.timed = false
		if err := p.file.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
	}
	err := p.raw.Read(p.check)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// Close closes the descriptor and ends a Park.
func (p *Parker) Close() { _ = p.file.Close() }
