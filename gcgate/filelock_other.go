//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package gcgate

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

func lockFile(*os.File) error {
	return fmt.Errorf("gcgate: FileTurns: no flock on %s: use Turns over the network: %w",
		runtime.GOOS, errors.ErrUnsupported)
}

func unlockFile(*os.File) error { return nil }
