package main

import (
	"log"
	"runtime"
	"syscall"
	"time"
)

// allocated counts allocations. Signals are obeyed one after the other.
type allocated struct{ before uint64 }

func (a *allocated) reset() { a.before = allocations() }

func (a *allocated) report() { say(map[string]float64{"allocs": float64(allocations() - a.before)}) }

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// slowCalls is in system calls of that length, one after the other: the runtime lends each thread that the
// goroutine runs on to the kernel for as long.
func slowCalls(length time.Duration) {
	for {
		left := syscall.NsecToTimespec(int64(length))
		if err := syscall.Nanosleep(&left, nil); err != nil && err != syscall.EINTR {
			log.Fatal("server: -slowcalls: ", err)
		}
	}
}
