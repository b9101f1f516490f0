//go:build linux && cgo

package main

/*
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int child(void *length) {
	nanosleep(length, 0);
	_exit(0);
}

static int hang(long long ns) {
	char stack[4096] __attribute__((aligned(16)));
	struct timespec length = {ns / 1000000000, ns % 1000000000};
	int pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &length);
	if (pid < 0)
		return errno;
	while (waitpid(pid, 0, 0) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}
*/
import "C"

import (
	"log"
	"syscall"
	"time"
)

// slowCalls keeps four goroutines in system calls of that length. The kernel interrupts most calls
// for the work of a ring, but not clone(2) with CLONE_VFORK, which is like the call of a slow disk.
func slowCalls(length time.Duration) {
	for range 4 {
		go func() {
			for {
				if errno := C.hang(C.longlong(length)); errno != 0 {
					log.Fatal("-slowcalls: ", syscall.Errno(errno))
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
}
