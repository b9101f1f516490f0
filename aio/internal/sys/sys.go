// Package sys is the one importer of golang.org/x/sys: the system calls that package aio needs.
//
// Invariant of its unsafe code: a slice's memory is passed to the kernel only for the time of the
// call, while the slice is held by the caller's frame.
package sys

// Kevent is struct kevent (kqueue(2)) in one form for all systems, so that the code above it can be
// tested on any of them. Widths, and the numbers of NetBSD's filters, differ.
type Kevent struct {
	Ident  int // the descriptor
	Filter int16
	Flags  uint16
	Udata  uint32 // ours
}

// Filters and flags of [Kevent], as on FreeBSD.
const (
	EVFILT_READ  = -1
	EVFILT_WRITE = -2

	EV_ADD    = 0x0001
	EV_DELETE = 0x0002
	EV_CLEAR  = 0x0020
	EV_ERROR  = 0x4000
	EV_EOF    = 0x8000
)
