package main

import (
	"syscall"
	"time"
)

// sleep waits in the kernel, on a thread of its own: a timer of an idle Go program fires up to a millisecond late, as
// netpoll waits in epoll_wait, which counts in milliseconds (runtime/netpoll_epoll.go), and the service would not be
// the one that is computed.
func sleep(d time.Duration) {
	for end := time.Now().Add(d); d > 0; d = time.Until(end) {
		t := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&t, nil) // ends early where a signal comes
	}
}
