package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	lookTime  = 500 * time.Millisecond
	awayFrom  = 100 * time.Microsecond // a longer gap is time without a core
	mostTaken = .01
)

// AwaitQuiet waits until other processes and the host leave the cores alone, or patience is over.
// It tries each core for half a second, because steal does not count all that the host takes.
func AwaitQuiet(ctx context.Context, patience time.Duration, out io.Writer) error {
	start := time.Now()
	for looks := 1; ; looks++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		taken, err := look(lookTime)
		if err != nil {
			return err
		}
		if waited := time.Since(start); taken <= mostTaken || waited >= patience {
			if looks > 1 || taken > mostTaken {
				fmt.Fprintf(out, "waited %v for a quiet machine: others take %.1f%% of it\n", waited.Round(time.Second),
					100*taken)
			}
			return nil
		}
		select {
		case <-ctx.Done(): // the loop ends above
		case <-time.After(time.Second):
		}
	}
}

// look returns the share of the cores' time that others took.
func look(length time.Duration) (taken float64, err error) {
	cores := runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(cores, runtime.GOMAXPROCS(0))))
	away, errs := make([]time.Duration, cores), make([]error, cores)
	var wg sync.WaitGroup
	for core := range cores {
		wg.Go(func() { errs[core] = Pinned(core, func() error { away[core] = spin(length); return nil }) })
	}
	wg.Wait()
	for _, d := range away {
		taken += d.Seconds() / length.Seconds() / float64(cores)
	}
	return taken, errors.Join(errs...)
}

func spin(length time.Duration) (away time.Duration) {
	start := time.Now()
	for last := start; last.Sub(start) < length; {
		now := time.Now()
		if gap := now.Sub(last); gap >= awayFrom {
			away += gap
		}
		last = now
	}
	return away
}

// The kernel does not keep the address of the CPU mask after these calls.

// Pinned calls start on a thread that may run on one core only, of those that may be used, counted
// from 0. Children inherit that.
func Pinned(core int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one [16]uint64
	if err := affinity(syscall.SYS_SCHED_GETAFFINITY, &before); err != nil {
		return err
	}
	for i, left := 0, core; ; i++ {
		if i == 64*len(before) {
			return errors.New("server and client need a core each: run it where two may be used")
		}
		if bit := uint64(1) << (i % 64); before[i/64]&bit != 0 {
			if left == 0 {
				one[i/64] = bit
				break
			}
			left--
		}
	}
	if err := affinity(syscall.SYS_SCHED_SETAFFINITY, &one); err != nil {
		return fmt.Errorf("core %d of those that may be used: %w", core, err)
	}
	return errors.Join(start(), affinity(syscall.SYS_SCHED_SETAFFINITY, &before))
}

func affinity(call uintptr, mask *[16]uint64) error {
	if _, _, e := syscall.RawSyscall(call, 0, unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask))); e != 0 {
		return e
	}
	return nil
}
