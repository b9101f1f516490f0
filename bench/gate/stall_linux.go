// A struct sched_param is one int: the pointer that is passed stands for exactly that, and is not kept.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
)

// stalls watches each core for times in which it ran nothing at all. A hypervisor that stops a
// core does not always count that as steal.
type stalls struct {
	stop  atomic.Bool
	wg    sync.WaitGroup
	cores [][]span // by core; each is its thread's until it has ended
	errs  []error  // by core, too: why it could not be watched
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
// long: the core stood still. A thread that does not go first would oversleep by what is measured, so it does not watch.
func watchStalls(cores int) *stalls {
	s := &stalls{cores: make([][]span, cores), errs: make([]error, cores)}
	for core := range cores {
		s.wg.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with its goroutine
			s.errs[core] = machine.Pinned(core, func() error {
				if err := goFirst(); err != nil {
					return err
				}
				nap := syscall.Timespec{Nsec: int64(napTime)}
				for !s.stop.Load() {
					start := time.Now()
					_ = syscall.Nanosleep(&nap, nil) // cut short: no stall
					if now := time.Now(); now.Sub(start)-napTime > stallFrom {
						s.cores[core] = append(s.cores[core], span{start.Add(napTime), now})
					}
				}
				return nil
			})
		})
	}
	return s
}

// goFirst has this thread run before all others that are not of its kind.
var goFirst = func() error { // a variable for the test in which it may not
	priority := int32(50)
	if _, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedFIFO, uintptr(unsafe.Pointer(&priority))); e != 0 {
		return fmt.Errorf("SCHED_FIFO, which root may ask for: %w", e)
	}
	return nil
}

// end returns the stalls since the start, in order of their beginning: none, and why, where a core could not be watched.
func (s *stalls) end() ([]span, error) {
	s.stop.Store(true)
	s.wg.Wait()
	if err := errors.Join(s.errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(s.cores...)
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	return all, nil
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
