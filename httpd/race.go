//go:build race && unix

package httpd

import "syscall"

// Package syscall tells the race detector that any write to a connection happens before any read of
// one (ioSync). aio reads and writes otherwise. So a test with client and server in one process
// would show races that it does not show with net/http. A Read and a Write of package syscall make
// up for it. A Read counts only if it succeeds.

func raceAcquire() {
	if fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
		_, _ = syscall.Read(fd, nil)
		_ = syscall.Close(fd)
	}
}

func raceRelease() { _, _ = syscall.Write(-1, nil) }
