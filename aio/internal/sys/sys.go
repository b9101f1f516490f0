// Package sys is the one importer of golang.org/x/sys: the system calls that the backends of
// package aio need, in the form that they need.
//
// Invariant of its unsafe code: a slice's memory is passed to the kernel only for the time of the
// call, while the slice is held by the caller's frame.
package sys

// Kevent is struct kevent (kqueue(2)) in one form for all systems, so that what is done with it
// can be tested on any of them. Kqueue converts it: the widths of the fields differ, and so do
// the numbers of NetBSD's filters.
type Kevent struct {
	Ident  int // the descriptor
	Filter int16
	Flags  uint16
	Fflags uint32 // with EV_EOF the error of the socket, if any
	Data   int64  // bytes to be read, or room to write; with EV_ERROR an errno
	Udata  uint32 // ours; the kernel gives it back
}

// Filters and flags of [Kevent]: FreeBSD's values, which all but NetBSD's filters share.
const (
	EVFILT_READ  = -1
	EVFILT_WRITE = -2

	EV_ADD   = 0x0001
	EV_CLEAR = 0x0020
	EV_ERROR = 0x4000
	EV_EOF   = 0x8000
)
