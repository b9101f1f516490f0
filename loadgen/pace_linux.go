package loadgen

import (
	"runtime"
	"syscall"
	"time"
)

// prSetTimerslack is PR_SET_TIMERSLACK of prctl(2).
const prSetTimerslack = 29

// newNap gives the calling goroutine a thread of its own and returns a sleep that is precise
// on it. The goroutine must end without unlocking it, so that the thread ends with it.
//
// time.Sleep would not do: Go's poller waits in whole milliseconds (runtime/netpoll_epoll.go),
// and Linux lets a thread's sleeps run over by 50 µs unless told otherwise. But a thread that
// sleeps in the kernel keeps its P until the scheduler notices, after up to 10 ms
// (runtime/proc.go, retake). Where that is the only P, answers would wait for it, so there the
// sleep is Go's own. In a program of which other threads sleep so too, GOMAXPROCS should exceed
// their number by that of the cores: no idle P, and what falls due waits for the scheduler's look.
func newNap() (nap func(ns int64)) {
	if runtime.GOMAXPROCS(0) == 1 {
		return func(ns int64) { time.Sleep(time.Duration(ns)) }
	}
	runtime.LockOSThread()
	// An error leaves the default slack, which costs 50 µs of lateness: it is measured.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerslack, 1, 0)
	return func(ns int64) {
		ts := syscall.NsecToTimespec(ns)
		_ = syscall.Nanosleep(&ts, nil) // a signal ends it early: the caller looks at the clock
	}
}
