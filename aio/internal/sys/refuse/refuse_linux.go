// Package refuse makes the kernel refuse system calls to this process, as the filter of a container
// does (seccomp(2)). It is for tests, in a process of their own, because there is no way back.
//
// Invariant of its unsafe code: the filter's memory is passed to the kernel, which copies it, only
// for the time of the call.
package refuse

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Call is a system call, or some of its uses.
type Call struct {
	Name string
	nr   uintptr
	arg  int    // the argument that is looked at
	test uint16 // BPF_JEQ, BPF_JSET, or 0 for no test
	want uint32 // of its lower half
}

// Calls are made by package aio, or by package net for it.
var Calls = []Call{
	{Name: "io_uring_setup", nr: unix.SYS_IO_URING_SETUP},
	{Name: "io_uring_enter", nr: unix.SYS_IO_URING_ENTER},
	{Name: "io_uring_register", nr: unix.SYS_IO_URING_REGISTER},
	{Name: "mmap: shared", nr: unix.SYS_MMAP, arg: 3, test: unix.BPF_JSET, want: unix.MAP_SHARED},
	{Name: "eventfd2", nr: unix.SYS_EVENTFD2},
	{Name: "epoll_create1", nr: unix.SYS_EPOLL_CREATE1},
	{Name: "epoll_ctl", nr: unix.SYS_EPOLL_CTL},
	{Name: "epoll_pwait", nr: unix.SYS_EPOLL_PWAIT},
	{Name: "socketpair", nr: unix.SYS_SOCKETPAIR},
	{Name: "socket", nr: unix.SYS_SOCKET},
	{Name: "listen: a backlog of 7", nr: unix.SYS_LISTEN, arg: 1, test: unix.BPF_JEQ, want: 7},
	{Name: "accept4", nr: unix.SYS_ACCEPT4},
	{Name: "getsockopt", nr: unix.SYS_GETSOCKOPT},
	{Name: "setsockopt", nr: unix.SYS_SETSOCKOPT},
	{Name: "ioctl", nr: unix.SYS_IOCTL},
	{Name: "recvfrom", nr: unix.SYS_RECVFROM},
	{Name: "sendto", nr: unix.SYS_SENDTO},
	{Name: "sendmsg", nr: unix.SYS_SENDMSG},
}

func Find(name string) (Call, error) {
	for _, c := range Calls {
		if c.Name == name {
			return c, nil
		}
	}
	return Call{}, fmt.Errorf("refuse: no system call %q", name)
}

// Of struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// All makes the kernel answer these calls of all threads with err. The error says what the system
// lacks.
func All(err syscall.Errno, calls ...Call) error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("refuse: amd64 or arm64, for the number of its architecture")
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
		filter = append(filter, ret(unix.SECCOMP_RET_ERRNO|uint32(err)))
	}
	filter = append(filter, ret(unix.SECCOMP_RET_ALLOW))
	filter[1].Jf = uint8(len(filter) - 1 - 2) // another architecture's calls have other numbers
	return install(filter)
}

// install is seccomp(2), SECCOMP_SET_MODE_FILTER. A process without privileges first promises to
// gain none. With TSYNC both hold for all of its threads.
func install(filter []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("refuse: prctl(PR_SET_NO_NEW_PRIVS): %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("refuse: a kernel with seccomp filters: %w", errno)
	}
	if thread != 0 {
		return fmt.Errorf("refuse: thread %d has another filter", thread)
	}
	return nil
}
