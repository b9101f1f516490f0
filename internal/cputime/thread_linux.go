package cputime

import (
	"syscall"
	"time"
)

// rusageThread is RUSAGE_THREAD of getrusage(2), which package syscall does not have.
const rusageThread = 1

// Thread returns the CPU time of the calling thread, on Linux. Lock the goroutine to its thread to
// compare two calls.
func Thread() (d time.Duration, ok bool) {
	var u syscall.Rusage
	if syscall.Getrusage(rusageThread, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
