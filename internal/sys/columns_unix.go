//go:build unix && !aix && !illumos

package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Columns returns how many columns a terminal has; 0: f is none, or it does not say.
func Columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
