package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Message is the memory that a sendmsg(2) of several buffers takes. It may be used again.
type Message struct {
	header unix.Msghdr
	iov    []unix.Iovec
}

// Set has m name bufs, which it keeps alive until Clear.
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

// Header returns where its struct msghdr is.
func (m *Message) Header() unsafe.Pointer { return unsafe.Pointer(&m.header) }

// Clear lets the buffers go.
func (m *Message) Clear() { clear(m.iov) }

// Sendmsg is sendmsg(2) on a socket, without waiting and without SIGPIPE.
func Sendmsg(fd int, m *Message) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(m.Header()),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}
