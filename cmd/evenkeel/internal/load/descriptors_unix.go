//go:build unix

package load

import (
	"math"
	"syscall"
)

// descriptorLimit returns how many descriptors this process may have. Go has raised the soft limit
// to the hard one.
func descriptorLimit() (n int, known bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return int(min(uint64(l.Cur), math.MaxInt32)), true
}
