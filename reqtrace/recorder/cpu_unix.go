//go:build unix

package recorder

import (
	"syscall"
	"time"
)

// cpu is getrusage(2).
func (p *runtimeProcess) cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
