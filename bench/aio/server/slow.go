package main

import (
	"log"
	"syscall"
	"time"
)

// slowCalls is in system calls of that length, one after the other: the runtime lends each thread that the
// goroutine runs on to the kernel for as long.
func slowCalls(length time.Duration) {
	for {
		left := syscall.NsecToTimespec(int64(length))
		if err := syscall.Nanosleep(&left, nil); err != nil && err != syscall.EINTR {
			log.Fatal("server: -slowcalls: ", err)
		}
	}
}
