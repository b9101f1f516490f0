package sys

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// EpollCreate is epoll_create1(2), close-on-exec and non-blocking, as os.NewFile wants.
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

// EpollPoll is epoll_wait(2) with a timeout of 0. It does not tell the scheduler.
func EpollPoll(epfd int, events []syscall.EpollEvent) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return 0, errno
	}
	return max(int(int32(n)), 0), nil
}

// Recv is recv(2), without waiting.
func (Sockets) Recv(fd int, buf []byte) (int, error) {
	return transfer(unix.SYS_RECVFROM, fd, unsafe.Pointer(unsafe.SliceData(buf)), uintptr(len(buf)), unix.MSG_DONTWAIT)
}

// transfer repeats a system call that was interrupted. It does not tell the scheduler.
func transfer(call uintptr, fd int, memory unsafe.Pointer, a, b uintptr) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(memory), a, b, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// Unread returns how many bytes a socket has received and not given (SIOCINQ), or 0 if unknown.
func Unread(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

// Send is send(2), without waiting and without SIGPIPE.
func (Sockets) Send(fd int, buf []byte) (int, error) {
	return transfer(unix.SYS_SENDTO, fd, unsafe.Pointer(unsafe.SliceData(buf)), uintptr(len(buf)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}

// Eventfd is eventfd(2), close-on-exec and non-blocking.
func Eventfd() (int, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return fd, os.NewSyscallError("eventfd2", err)
}

// EventfdSignal adds one. Nothing reads the counter, because an edge-triggered watcher sees each
// addition (eventfd(2), epoll(7)).
func EventfdSignal(fd int) {
	one := uint64(1)
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
}

// MayRunOn reports whether the calling thread may run on a CPU (sched_getaffinity(2)).
func MayRunOn(cpu int) (bool, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return false, err
	}
	return cpu >= 0 && set.IsSet(cpu), nil
}

// SetAffinity binds the calling thread to a CPU (sched_setaffinity(2)). The caller has locked its
// goroutine to the thread.
func SetAffinity(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// Message is the memory of a sendmsg(2) of several buffers, for reuse.
type Message struct {
	header unix.Msghdr
	iov    []unix.Iovec
}

// Set makes m name bufs, and keeps them alive until Clear.
func (m *Message) Set(bufs [][]byte) {
	m.iov = m.iov[:0]
	for _, b := range bufs {
		v := unix.Iovec{Base: unsafe.SliceData(b)}
		v.SetLen(len(b))
		m.iov = append(m.iov, v)
	}
	m.header.Iov = unsafe.SliceData(m.iov)
	m.header.SetIovlen(len(m.iov))
}

func (m *Message) Header() unsafe.Pointer { return unsafe.Pointer(&m.header) }

func (m *Message) Clear() { clear(m.iov) }

// Sendmsg is sendmsg(2), without waiting and without SIGPIPE.
func Sendmsg(fd int, m *Message) (int, error) {
	return transfer(unix.SYS_SENDMSG, fd, m.Header(), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0)
}

// IoUringSetup is io_uring_setup(2). p points to a struct io_uring_params.
func IoUringSetup(entries uint32, p unsafe.Pointer) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(p), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func IoUringRegister(fd int, op uint32, arg unsafe.Pointer, n uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(fd), uintptr(op), uintptr(arg), uintptr(n), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// IoUringEnter is io_uring_enter(2) that waits for nothing. It does not tell the scheduler.
func IoUringEnter(fd int, submit uint32) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), uintptr(submit), 0, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// MapShared is mmap(2) of memory that the kernel shares.
func MapShared(fd int, offset int64, size int) ([]byte, error) {
	return unix.Mmap(fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// MapAnonymous is mmap(2) of private memory, at the start of a page.
func MapAnonymous(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func Unmap(mem []byte) { _ = unix.Munmap(mem) }
