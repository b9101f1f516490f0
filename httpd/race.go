//go:build race && unix

package httpd

import "syscall"

// For the race detector what is written to a connection happens before it is read, anywhere in the process: package
// syscall says so (ioSync). aio reads and writes otherwise, so that a test with its client and server in one
// process would show races that it does not with net/http. A Read and a Write of package syscall make up for it: a Read
// says so only where it succeeds.

func raceAcquire() {
	if fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
		_, _ = syscall.Read(fd, nil)
		_ = syscall.Close(fd)
	}
}

func raceRelease() { _, _ = syscall.Write(-1, nil) }
