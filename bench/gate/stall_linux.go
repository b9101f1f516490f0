// A mask of CPUs is an array of words, of which the kernel reads as many bytes as it is told, and
// a struct sched_param is one int: the pointers that are passed stand for exactly these, and are
// not kept.
package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"evenkeel.dev/loadgen"
)

// stalls watches each core for times in which it ran nothing at all. A hypervisor that stops a
// core does not always count that as steal.
type stalls struct {
	stop  atomic.Bool
	wg    sync.WaitGroup
	cores [][]span // by core; each is its thread's until it has ended
}

// span is a stretch of time.
type span struct{ from, to time.Time }

const (
	napTime   = time.Millisecond
	stallFrom = time.Millisecond // oversleeping by less is no stall

	schedFIFO = 1 // sched(7)
)

// watchStalls starts one thread a core, which sleeps for a millisecond at a time, before all
// else on that core, and notes when it overslept. No process can delay it that
// long: the core stood still.
func watchStalls(cores int) *stalls {
	s := &stalls{cores: make([][]span, cores)}
	for core := range cores {
		s.wg.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with its goroutine
			var mask [16]uint64
			mask[core/64] = 1 << (core % 64)
			_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
			priority := int32(50)
			_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedFIFO, uintptr(unsafe.Pointer(&priority))) // root only
			nap := syscall.Timespec{Nsec: int64(napTime)}
			for !s.stop.Load() {
				start := time.Now()
				_ = syscall.Nanosleep(&nap, nil) // cut short: no stall
				if now := time.Now(); now.Sub(start)-napTime > stallFrom {
					s.cores[core] = append(s.cores[core], span{start.Add(napTime), now})
				}
			}
		})
	}
	return s
}

// end returns the stalls since the start, in order of their beginning.
func (s *stalls) end() []span {
	s.stop.Store(true)
	s.wg.Wait()
	all := slices.Concat(s.cores...)
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	return all
}

// request is one that was measured.
type request struct {
	due     time.Time
	latency time.Duration
}

// apart returns the latencies of the requests that no stall touched, and how many others there
// were. A request is touched by when it was due alone, not by how long it took, so that slow
// and fast ones are set aside alike: while a stall lasted, as long again, in which what piled
// up is worked off, and shortly before.
func apart(all []request, stalls []span) (rest loadgen.Histogram, touched int64) {
	const before = 2 * time.Millisecond
	var none []span // merged
	for _, s := range stalls {
		s = span{s.from.Add(-before), s.to.Add(s.to.Sub(s.from))}
		if n := len(none); n > 0 && !s.from.After(none[n-1].to) {
			if s.to.After(none[n-1].to) {
				none[n-1].to = s.to
			}
			continue
		}
		none = append(none, s)
	}
	for _, r := range all {
		i, _ := slices.BinarySearchFunc(none, r.due, func(s span, due time.Time) int { return s.to.Compare(due) })
		if i < len(none) && !none[i].from.After(r.due) {
			touched++
			continue
		}
		rest.Record(r.latency)
	}
	return rest, touched
}

// longest returns the length of the longest stall.
func longest(stalls []span) (most time.Duration) {
	for _, s := range stalls {
		most = max(most, s.to.Sub(s.from))
	}
	return most
}
