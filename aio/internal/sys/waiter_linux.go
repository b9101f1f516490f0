package sys

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Waiter waits for a descriptor in the runtime's own network poller: while it does, its P runs
// other goroutines and no thread is blocked. One goroutine may Wait at a time.
type Waiter struct {
	file   *os.File
	raw    syscall.RawConn
	check  func(uintptr) bool
	pass   func(uintptr) bool // of Yield
	passed bool
	timed  bool // a read deadline is set
}

// passFor is how long a Yield takes beside goroutines that can always run.
const passFor = time.Millisecond

// past is when a wait ends that is to end now.
var past = time.Unix(1, 0)

// NewWaiter takes over fd, which is in non-blocking mode and can be polled: an eventfd, or an
// epoll descriptor. ready says whether to stop waiting; it is called before the wait and after
// each edge of fd. signal makes such an edge.
func NewWaiter(fd int, name string, ready func() bool, signal func()) (*Waiter, error) {
	f := os.NewFile(uintptr(fd), name)
	raw, err := f.SyscallConn()
	if err == nil {
		err = os.NewSyscallError("epoll_ctl", f.SetReadDeadline(time.Time{})) // fails where the runtime cannot poll it
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	w := &Waiter{file: f, raw: raw, check: func(uintptr) bool { return ready() }}
	w.pass = func(uintptr) bool {
		w.passed = !w.passed
		if w.passed {
			signal()
			return false
		}
		return true
	}
	return w, nil
}

// Yield waits for an edge of its own making. Unlike after runtime.Gosched, which leaves the
// caller runnable, the scheduler then looks at the network when nothing else can run; else that
// is up to sysmon, every 10 ms (runtime/proc.go, findRunnable and sysmon), which is too long: timers it
// looks at each time that it chooses a goroutine.
func (w *Waiter) Yield() {
	w.timed, w.passed = true, false
	_ = w.file.SetReadDeadline(time.Now().Add(passFor))
	_ = w.raw.Read(w.pass)
}

// Wait waits until ready says so, until the timeout (none when negative), or until Close.
func (w *Waiter) Wait(timeout time.Duration) error {
	if timeout >= 0 {
		w.timed = true
		if err := w.file.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
	} else if w.timed {
		w.timed = false
		if err := w.file.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
	}
	err := w.raw.Read(w.check)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.timed = true // by Wake, it may be
		return nil
	}
	return err
}

// Wake ends a Wait. The runtime makes the goroutine runnable at once, without a system call; an
// edge would be found when nothing else can run. What calls it has ready say so before, as a Wait
// that begins may miss it.
func (w *Waiter) Wake() { _ = w.file.SetReadDeadline(past) }

// Close closes the descriptor and ends a Wait.
func (w *Waiter) Close() { _ = w.file.Close() }
