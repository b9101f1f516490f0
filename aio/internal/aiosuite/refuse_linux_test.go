package aiosuite

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe" //nolint:depguard // seccomp(2) takes a pointer

	"golang.org/x/sys/unix"
)

// systemCall is a system call, or some of its uses.
type systemCall struct {
	name string
	nr   uintptr
	arg  int    // the argument that is looked at
	test uint16 // BPF_JEQ, BPF_JSET, or 0 for no test
	want uint32 // of its lower half
}

// systemCalls are made by package aio, or by package net for it.
var systemCalls = []systemCall{
	{name: "io_uring_setup", nr: unix.SYS_IO_URING_SETUP},
	{name: "io_uring_enter", nr: unix.SYS_IO_URING_ENTER},
	{name: "io_uring_register", nr: unix.SYS_IO_URING_REGISTER},
	{name: "mmap: shared", nr: unix.SYS_MMAP, arg: 3, test: unix.BPF_JSET, want: unix.MAP_SHARED},
	{name: "eventfd2", nr: unix.SYS_EVENTFD2},
	{name: "epoll_create1", nr: unix.SYS_EPOLL_CREATE1},
	{name: "epoll_ctl", nr: unix.SYS_EPOLL_CTL},
	{name: "epoll_pwait", nr: unix.SYS_EPOLL_PWAIT},
	{name: "socketpair", nr: unix.SYS_SOCKETPAIR},
	{name: "socket", nr: unix.SYS_SOCKET},
	{name: "accept4", nr: unix.SYS_ACCEPT4},
	{name: "getsockopt", nr: unix.SYS_GETSOCKOPT},
	{name: "setsockopt", nr: unix.SYS_SETSOCKOPT},
	{name: "ioctl", nr: unix.SYS_IOCTL},
	{name: "recvfrom", nr: unix.SYS_RECVFROM},
	{name: "sendto", nr: unix.SYS_SENDTO},
	{name: "sendmsg", nr: unix.SYS_SENDMSG},
}

// Of struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// refuseAll makes the kernel answer the named calls of all threads with errno, as the filter of a container does
// (seccomp(2)). There is no way back, so a test calls it in a process of its own. The error says what the system lacks.
//
// Invariant of its unsafe code: the filter's memory is passed to the kernel, which copies it, only
// for the time of the call.
func refuseAll(t *testing.T, errno syscall.Errno, names string) error {
	t.Helper()
	var calls []systemCall
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		at := slices.IndexFunc(systemCalls, func(c systemCall) bool { return c.name == name })
		if at < 0 {
			t.Fatalf("no system call %q", name)
		}
		calls = append(calls, systemCalls[at])
	}
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("amd64 or arm64, for the number of its architecture")
	}
	load := func(at int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(at)}
	}
	skipUnless := func(test uint16, k uint32, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jf: n}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	filter := []unix.SockFilter{load(offArch), skipUnless(unix.BPF_JEQ, arch, 0)}
	for _, c := range calls {
		filter = append(filter, load(offNr))
		if c.test == 0 {
			filter = append(filter, skipUnless(unix.BPF_JEQ, uint32(c.nr), 1))
		} else {
			filter = append(filter, skipUnless(unix.BPF_JEQ, uint32(c.nr), 3), load(offArgs+8*c.arg),
				skipUnless(c.test, c.want, 1))
		}
		filter = append(filter, ret(unix.SECCOMP_RET_ERRNO|uint32(errno)))
	}
	filter = append(filter, ret(unix.SECCOMP_RET_ALLOW))
	filter[1].Jf = uint8(len(filter) - 1 - 2) // another architecture's calls have other numbers
	return installFilter(filter)
}

// installFilter is seccomp(2), SECCOMP_SET_MODE_FILTER. A process without privileges first promises to
// gain none. With TSYNC both hold for all of its threads.
func installFilter(filter []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_NO_NEW_PRIVS): %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("a kernel with seccomp filters: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("thread %d has another filter", thread)
	}
	return nil
}
