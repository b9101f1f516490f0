package sys

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Waiter waits for a descriptor in the runtime's network poller, which blocks no thread. One
// goroutine may Wait at a time.
type Waiter struct {
	file   *os.File
	raw    syscall.RawConn
	check  func(uintptr) bool
	pass   func(uintptr) bool // of Yield
	passed bool
	timed  bool
}

// passFor bounds a Yield if other goroutines can always run.
const passFor = time.Millisecond

// past ends a wait now.
var past = time.Unix(1, 0)

// NewWaiter takes over fd, an eventfd or an epoll descriptor, which is non-blocking. ready says
// whether to stop waiting, before the wait and after each edge of fd. signal makes such an edge.
func NewWaiter(fd int, name string, ready func() bool, signal func()) (*Waiter, error) {
	f := os.NewFile(uintptr(fd), name)
	raw, err := f.SyscallConn()
	if err == nil {
		err = os.NewSyscallError("epoll_ctl", f.SetReadDeadline(time.Time{})) // fails if the runtime cannot poll it
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

// Yield waits for an edge that it makes itself. runtime.Gosched leaves the caller runnable. Then
// only sysmon looks at the network, every 10 ms, which is too long (findRunnable and sysmon in
// runtime/proc.go). While Yield waits, the scheduler looks when nothing else can run.
func (w *Waiter) Yield() {
	w.timed, w.passed = true, false
	_ = w.file.SetReadDeadline(time.Now().Add(passFor))
	_ = w.raw.Read(w.pass)
}

// Wait waits until ready returns true, until the timeout (unless negative), or until Close.
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
		w.timed = true // perhaps by Wake
		return nil
	}
	return err
}

// Wake ends a Wait, without a system call. The runtime makes the goroutine runnable at once, but it
// would find an edge only when nothing else can run. Before a Wake, ready has to return true,
// because a Wait that begins may miss it.
func (w *Waiter) Wake() { _ = w.file.SetReadDeadline(past) }

// Close closes the descriptor and ends a Wait.
func (w *Waiter) Close() { _ = w.file.Close() }
