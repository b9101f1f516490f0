package machine

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

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
