//go:build unix && !aix && !illumos

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns returns how many columns a terminal has. 0: f is not a terminal, or it does not say.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
