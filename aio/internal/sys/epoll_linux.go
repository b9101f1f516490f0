package sys

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// EpollEvent is struct epoll_event; Fd and Pad are the 64 bits of user data.
type EpollEvent = unix.EpollEvent

// Events and flags of epoll_ctl(2).
const (
	EPOLLIN    = unix.EPOLLIN
	EPOLLPRI   = unix.EPOLLPRI
	EPOLLOUT   = unix.EPOLLOUT
	EPOLLRDHUP = unix.EPOLLRDHUP
	EPOLLHUP   = unix.EPOLLHUP
	EPOLLERR   = unix.EPOLLERR
	EPOLLET    = unix.EPOLLET
)

// EpollCreate is epoll_create1(2), not inherited and in non-blocking mode, as os.NewFile wants.
func EpollCreate() (int, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		Close(fd)
		return -1, os.NewSyscallError("fcntl", err)
	}
	return fd, nil
}

// EpollAdd registers fd with the events and the user data of e.
func EpollAdd(epfd, fd int, e *EpollEvent) error {
	return unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, fd, e)
}

// EpollDelete ends the registration of fd.
func EpollDelete(epfd, fd int) error {
	return unix.EpollCtl(epfd, unix.EPOLL_CTL_DEL, fd, nil)
}

// EpollPoll is epoll_wait(2) with a timeout of 0. It does not block, so the scheduler is not told.
func EpollPoll(epfd int, events []EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return 0, errno
	}
	return max(int(int32(n)), 0), nil
}

// Recv is recv(2) on a socket, without waiting. It does not block, so the scheduler is not told.
func Recv(fd int, buf []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), unix.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// Unread returns how many bytes have come on a socket and were not received (SIOCINQ, tcp(7), unix(7)),
// 0 where the kernel does not say.
func Unread(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// Send is send(2) on a socket, without waiting and without SIGPIPE.
func Send(fd int, buf []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
			uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0,
			0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// Eventfd is eventfd(2), not inherited and in non-blocking mode.
func Eventfd() (int, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return fd, os.NewSyscallError("eventfd2", err)
}

// EventfdSignal adds one. The counter is never read: an edge-triggered watcher sees each addition
// (eventfd(2), epoll(7)), and 2^64-2 additions do not happen.
func EventfdSignal(fd int) {
	one := uint64(1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}

// MayRunOn reports whether the calling thread may run on a CPU (sched_getaffinity(2)). The numbers
// of the CPUs that it may run on need not begin with 0, nor be without gaps.
func MayRunOn(cpu int) (bool, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return false, err
	}
	return cpu >= 0 && set.IsSet(cpu), nil
}

// SetAffinity binds the calling thread to a CPU (sched_setaffinity(2)). The caller has locked
// its goroutine to the thread.
func SetAffinity(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}
