package uring

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// proven is the memory of prove's transfers. It is never freed, because a kernel may keep one.
var proven [1]byte

// prove tries a send, a receive, and a receive that finds nothing and must not wait.
func (r *ring) prove() error {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer sys.Close(pair[0])
	defer sys.Close(pair[1])
	for i, step := range []struct {
		opcode uint8
		fd     int
		res    int32
	}{
		{opSend, pair[0], 1},
		{opRecv, pair[1], 1},
		{opRecv, pair[1], -int32(syscall.EAGAIN)},
	} {
		e := r.get()
		e.opcode, e.fd, e.userData = step.opcode, int32(step.fd), uint64(i)
		e.addr, e.length, e.opFlags = uint64(uintptr(unsafe.Pointer(&proven))), 1, syscall.MSG_DONTWAIT
		if err := r.submit(); err != nil {
			return os.NewSyscallError("io_uring_enter", err)
		}
		if c, ok := r.next(); !ok || c.userData != uint64(i) || c.res != step.res {
			return fmt.Errorf("a kernel whose io_uring sends and receives without waiting (Linux 5.6): trying "+
				"operation %d, there was a completion: %t, of %d, with %d", step.opcode, ok, c.userData, c.res)
		}
	}
	return nil
}

// prove receives bytes, and checks that they are where take says, also after a receive without
// bytes.
func (b *buffers) prove(r *ring) bool {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer sys.Close(pair[0])
	defer sys.Close(pair[1])
	receive := func() (c cqe, ok bool) {
		e := r.get()
		e.opcode, e.flags, e.fd, e.opFlags = opRecv, sqeBufferSelect, int32(pair[1]), syscall.MSG_DONTWAIT
		if r.submit() != nil {
			return c, false
		}
		return r.next()
	}
	for _, sent := range []byte{1, 2} {
		if c, ok := receive(); !ok || c.res != -int32(syscall.EAGAIN) {
			return false
		}
		if _, err := syscall.Write(pair[0], []byte{sent}); err != nil {
			return false
		}
		if c, ok := receive(); !ok || c.res != 1 || c.flags&(cqeBuffer|cqeBufferMore) != cqeBuffer|cqeBufferMore ||
			b.take(c)[0] != sent {
			return false
		}
	}
	return true
}

const calls = "io_uring_setup, io_uring_enter, io_uring_register, mmap and socketpair"

// missing returns what the system lacks, or err if it lacks nothing.
func missing(err error) error {
	var call *os.SyscallError
	setup := errors.As(err, &call) && call.Syscall == "io_uring_setup"
	need := err.Error()
	switch {
	case setup && errors.Is(err, syscall.ENOSYS):
		need = "a kernel with io_uring (Linux 5.6 or later); or a seccomp filter hides it: have it allow " + calls
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
	return map[string]string{
		"1": "1, which leaves it to processes with CAP_SYS_ADMIN and to the group of kernel.io_uring_group",
		"2": "2, which forbids it to all",
	}[strings.TrimSpace(string(text))]
}
