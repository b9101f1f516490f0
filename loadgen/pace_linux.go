package loadgen

import (
	"runtime"
	"syscall"
)

// prSetTimerslack is PR_SET_TIMERSLACK of prctl(2).
const prSetTimerslack = 29

// lockPacer gives the calling goroutine a thread of its own whose sleeps are precise. The
// goroutine must end without unlocking it, so that the thread ends with it.
//
// time.Sleep would not do: Go's poller waits in whole milliseconds (runtime/netpoll_epoll.go),
// and Linux lets a thread's sleeps run over by 50 µs unless told otherwise.
func lockPacer() {
	runtime.LockOSThread()
	// An error leaves the default slack, which costs 50 µs of lateness: it is measured.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerslack, 1, 0)
}

// nap sleeps for about ns nanoseconds, or less when a signal arrives.
func nap(ns int64) {
	ts := syscall.NsecToTimespec(ns)
	_ = syscall.Nanosleep(&ts, nil)
}
