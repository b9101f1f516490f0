//go:build unix

package load

import (
	"math"
	"syscall"
)

func descriptorLimit() (n int, known bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, false
	}
	return int(min(uint64(l.Cur), math.MaxInt32)), true
}
