package uring

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/internal/proactor"
	"evenkeel.dev/internal/sys"
)

// provePatience is how long an operation may take that is over at once.
const provePatience = 10 * time.Second

// prove carries one operation out, all the way: submitted, in flight, completed while nobody polls, which
// wakes. What sandboxes forbid of it shows here, and not when there are connections.
func (b *Backend) prove() error {
	fd, err := sys.Eventfd()
	if err != nil {
		return err
	}
	defer sys.Close(fd)
	op := &proactor.Op{Kind: proactor.Readable, Desc: &proactor.Desc{Num: int32(fd)}}
	b.Start(op)
	if _, err := b.Poll(nil); err != nil && err != syscall.EAGAIN {
		return os.NewSyscallError("io_uring_enter", err)
	}
	signalled := make(chan struct{})
	go func() {
		sys.EventfdSignal(fd)
		close(signalled)
	}()
	defer func() { <-signalled }()
	for end := time.Now().Add(provePatience); op.InFlight; {
		if time.Now().After(end) {
			return fmt.Errorf("completions: none came within %v", provePatience)
		}
		if err := b.Wait(time.Until(end)); err != nil {
			return err
		}
		if _, err := b.Poll(nil); err != nil && err != syscall.EAGAIN {
			return os.NewSyscallError("io_uring_enter", err)
		}
	}
	return op.Err
}

// calls is what a filter has to allow.
const calls = "io_uring_setup, io_uring_enter, io_uring_register, eventfd2, epoll_ctl and mmap"

// missing returns what New says of err: what the system lacks, or err where it lacks nothing.
func missing(err error) error {
	var call *os.SyscallError
	setup := errors.As(err, &call) && call.Syscall == "io_uring_setup"
	need := err.Error()
	switch {
	case setup && errors.Is(err, syscall.ENOSYS):
		need = "a kernel with io_uring (Linux 5.7 or later); or a seccomp filter hides it: have it allow " + calls
	case setup && errors.Is(err, syscall.EPERM):
		how := disabled("/proc/sys/kernel/io_uring_disabled")
		if how == "" {
			return proactor.Refused("io_uring", calls, err)
		}
		need = "the sysctl kernel.io_uring_disabled at 0: it is " + how
	case errors.Is(err, syscall.ENOMEM):
		need = "locked memory for its rings: raise the limit (ulimit -l)"
	case call != nil:
		return proactor.Refused("io_uring", calls, err)
	}
	return &proactor.MissingError{Feature: "io_uring", Need: need}
}

// disabled returns how the sysctl forbids io_uring, or "".
func disabled(file string) string {
	text, _ := os.ReadFile(file)
	switch strings.TrimSpace(string(text)) {
	case "1":
		return "1, which leaves it to processes with CAP_SYS_ADMIN and to the group of kernel.io_uring_group"
	case "2":
		return "2, which forbids it to all"
	}
	return ""
}
