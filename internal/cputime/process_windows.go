package cputime

import (
	"syscall"
	"time"
)

// Process returns the CPU time of this process, or 0 if GetProcessTimes fails.
func Process() time.Duration {
	h, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	const unit = 100 // ns
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(unit * (ticks(kernel) + ticks(user)))
}
