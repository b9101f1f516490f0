package fastc

import (
	"syscall"
	"time"
	"unsafe"
)

func readThread() (t thread, ok bool) {
	const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	var use syscall.Rusage
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&now)),
		0); errno != 0 {
		return thread{}, false
	}
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &use); err != nil {
		return thread{}, false
	}
	return thread{used: time.Duration(now.Nano()), waits: int64(use.Nvcsw)}, true
}
