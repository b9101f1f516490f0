package loadgen

import (
	"runtime"
	"syscall"
	"time"
)

const prSetTimerslack = 29

// newNap gives the calling goroutine a thread and returns a precise sleep on it. The goroutine must
// end without unlocking the thread, so that the thread ends too.
//
// Go's poller waits in whole milliseconds (runtime/netpoll_epoll.go), and Linux adds a timer slack
// of 50 µs. So the thread sleeps in the kernel. There it keeps its P for up to 10 ms until the
// scheduler notices (runtime/proc.go, retake). With one P, answers would wait for it, so newNap
// falls back to time.Sleep.
func newNap() (nap func(ns int64)) {
	if runtime.GOMAXPROCS(0) == 1 {
		return func(ns int64) { time.Sleep(time.Duration(ns)) }
	}
	runtime.LockOSThread()
	// An error leaves the slack, and the result shows it as lateness.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerslack, 1, 0)
	return func(ns int64) {
		ts := syscall.NsecToTimespec(ns)
		_ = syscall.Nanosleep(&ts, nil) // a signal ends it early, and the caller looks at the clock
	}
}
