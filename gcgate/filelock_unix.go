//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package gcgate

import (
	"fmt"
	"os"
	"syscall"
)

func lockFile(f *os.File) error {
	switch err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
		return nil
	case syscall.EWOULDBLOCK:
		return ErrHeld
	default:
		return fmt.Errorf("gcgate: FileTurns: flock %s: %w: use a local file system", f.Name(), err)
	}
}

func unlockFile(f *os.File) error {
	if err := flock(f, syscall.LOCK_UN); err != nil {
		return fmt.Errorf("gcgate: FileTurns: unlock %s: %w", f.Name(), err)
	}
	return nil
}

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = syscall.Flock(int(fd), how); result != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return result
}
