//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kqueue is a kqueue(2). Wait and Change may run at the same time; each is called by one goroutine
// at a time.
//
// Kevent_t has our generation in a field of pointer type, which the garbage collector must not
// see (a small number in a pointer on the stack ends the program when the stack grows). So its
// memory is allocated as integers, the field is accessed as an integer only, and a Kevent_t is
// never copied.
type Kqueue struct {
	fd      int
	events  []unix.Kevent_t
	changes []unix.Kevent_t
}

// maxChanges limits the changes made at once.
const maxChanges = 2

// NewKqueue makes a queue from which so many events are taken at once, or fewer. It is not
// inherited by other programs.
func NewKqueue(events int) (*Kqueue, error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Kqueue()
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	return &Kqueue{fd: fd, events: makeKevents(events), changes: makeKevents(maxChanges)}, nil
}

// makeKevents allocates memory that the garbage collector does not look into.
func makeKevents(n int) []unix.Kevent_t {
	const words = (unsafe.Sizeof(unix.Kevent_t{}) + 7) / 8
	mem := make([]uint64, uintptr(n)*words)
	return unsafe.Slice((*unix.Kevent_t)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// udata is the field as an integer: on NetBSD it is one, else it is as wide as a pointer.
func udata(e *unix.Kevent_t) *uintptr { return (*uintptr)(unsafe.Pointer(&e.Udata)) }

// Change is kevent(2) that makes changes and fetches nothing: without room for events, an error of
// a change is the call's. Changes before it were made; after EINTR, all were (FreeBSD's kqueue(2)).
func (q *Kqueue) Change(changes []Kevent) error {
	for i := range changes {
		c, raw := &changes[i], &q.changes[i]
		filter := unix.EVFILT_READ
		if c.Filter == EVFILT_WRITE {
			filter = unix.EVFILT_WRITE
		}
		unix.SetKevent(raw, c.Ident, filter, int(c.Flags))
		raw.Fflags, raw.Data = c.Fflags, 0
		*udata(raw) = uintptr(c.Udata)
	}
	for {
		if _, err := unix.Kevent(q.fd, q.changes[:len(changes)], nil, nil); err != unix.EINTR {
			return err // to add what was added changes nothing, so it may be said again
		}
	}
}

// Wait is kevent(2) that fetches events, and waits for the first until the timeout. While
// it waits, the thread is blocked, and the scheduler gives its P to others.
func (q *Kqueue) Wait(events []Kevent, timeout time.Duration) (int, error) {
	limit := unix.NsecToTimespec(int64(timeout))
	n, err := unix.Kevent(q.fd, nil, q.events[:min(len(events), len(q.events))], &limit)
	if err != nil {
		return 0, err
	}
	for i := range n {
		raw := &q.events[i]
		e := Kevent{
			Ident: int(raw.Ident), Filter: EVFILT_READ, Flags: uint16(raw.Flags),
			Fflags: raw.Fflags, Data: int64(raw.Data), Udata: uint32(*udata(raw)),
		}
		if int(raw.Filter) == unix.EVFILT_WRITE {
			e.Filter = EVFILT_WRITE
		}
		events[i] = e
	}
	return n, nil
}

// Close closes the queue. No Wait may run: Darwin was seen to lock up (rdar://30231213).
func (q *Kqueue) Close() { Close(q.fd) }

// Pipe is pipe(2), not inherited and in non-blocking mode.
func Pipe() (r, w int, err error) {
	var p [2]int
	syscall.ForkLock.RLock() // Darwin has no pipe2(2)
	if err = unix.Pipe(p[:]); err == nil {
		unix.CloseOnExec(p[0])
		unix.CloseOnExec(p[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return -1, -1, err
	}
	for _, fd := range p {
		if err = unix.SetNonblock(fd, true); err != nil {
			Close(p[0])
			Close(p[1])
			return -1, -1, err
		}
	}
	return p[0], p[1], nil
}

// Read is read(2).
func Read(fd int, buf []byte) (int, error) { return unix.Read(fd, buf) }

// Write is write(2).
func Write(fd int, buf []byte) (int, error) { return unix.Write(fd, buf) }

// maxTransfer bounds one transfer: Darwin refuses more than 2^31-1 bytes. No socket's buffer has
// so many, so a transfer of as much is short, as one of less is.
const maxTransfer = 1 << 30

// Recv is recv(2) on a socket, without waiting.
func Recv(fd int, buf []byte) (int, syscall.Errno) {
	buf = buf[:min(len(buf), maxTransfer)]
	for {
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err == nil {
			return n, 0
		}
		if errno := errnoOf(err); errno != unix.EINTR {
			return 0, errno
		}
	}
}

// Send is send(2) on a socket, without waiting and without SIGPIPE. (Go's runtime would drop the
// signal: it matters only on descriptors 1 and 2, see package os/signal. But a program that
// asked for SIGPIPE by signal.Notify would get it.)
func Send(fd int, buf []byte) (int, syscall.Errno) {
	buf = buf[:min(len(buf), maxTransfer)]
	for {
		n, err := unix.SendmsgN(fd, buf, nil, nil, unix.MSG_DONTWAIT|noSignal)
		if err == nil {
			return n, 0
		}
		if errno := errnoOf(err); !sendAgain(errno) {
			return 0, errno
		}
	}
}

// Sendv is Send of several buffers, of maxTransfer bytes at the utmost. It allocates.
func Sendv(fd int, bufs [][]byte) (int, syscall.Errno) {
	for {
		n, err := unix.SendmsgBuffers(fd, bufs, nil, nil, unix.MSG_DONTWAIT|noSignal)
		if err == nil {
			return n, 0
		}
		if errno := errnoOf(err); !sendAgain(errno) {
			return 0, errno
		}
	}
}
