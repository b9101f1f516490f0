//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package sys

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kqueue is a kqueue(2). Wait and Change may run at the same time. One
// goroutine at a time calls each.
//
// Kevent_t has our generation in a field of pointer type. The garbage collector must not see it,
// because a small number in a pointer ends the program when the stack grows. So its memory is
// allocated as integers, the field is accessed as an integer, and a Kevent_t is never copied.
type Kqueue struct {
	Sockets
	fd      int
	events  []unix.Kevent_t
	changes []unix.Kevent_t
}

const maxChanges = 2

// NewKqueue makes a queue, close-on-exec. A Wait takes up to so many events.
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

// makeKevents allocates memory that the garbage collector does not scan.
func makeKevents(n int) []unix.Kevent_t {
	const words = (unsafe.Sizeof(unix.Kevent_t{}) + 7) / 8
	mem := make([]uint64, uintptr(n)*words)
	return unsafe.Slice((*unix.Kevent_t)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

func udata(e *unix.Kevent_t) *uintptr { return (*uintptr)(unsafe.Pointer(&e.Udata)) }

// Change is kevent(2) without room for events, so that an error of a change is the call's. After
// EINTR all changes were made (FreeBSD's kqueue(2)), and adding again changes nothing.
func (q *Kqueue) Change(changes []Kevent) error {
	for i := range changes {
		c, raw := &changes[i], &q.changes[i]
		filter := unix.EVFILT_READ
		if c.Filter == EVFILT_WRITE {
			filter = unix.EVFILT_WRITE
		}
		unix.SetKevent(raw, c.Ident, filter, int(c.Flags))
		raw.Fflags, raw.Data = 0, 0
		*udata(raw) = uintptr(c.Udata)
	}
	for {
		if _, err := unix.Kevent(q.fd, q.changes[:len(changes)], nil, nil); err != unix.EINTR {
			return err
		}
	}
}

// Wait is kevent(2) that fetches events. It blocks the thread until the first, or the timeout.
func (q *Kqueue) Wait(events []Kevent, timeout time.Duration) (int, error) {
	limit := unix.NsecToTimespec(int64(timeout))
	n, err := unix.Kevent(q.fd, nil, q.events[:min(len(events), len(q.events))], &limit)
	if err != nil {
		return 0, err
	}
	for i := range n {
		raw := &q.events[i]
		e := Kevent{
			Ident: int(raw.Ident), Filter: EVFILT_READ, Flags: uint16(raw.Flags), Udata: uint32(*udata(raw)),
		}
		if int(raw.Filter) == unix.EVFILT_WRITE {
			e.Filter = EVFILT_WRITE
		}
		events[i] = e
	}
	return n, nil
}

// Close closes the queue. No Wait may run, because Darwin was seen to lock up (rdar://30231213).
func (q *Kqueue) Close() { Close(q.fd) }

// Dup also keeps the socket from raising SIGPIPE.
func (q *Kqueue) Dup(source any) (fd int, overIP bool, err error) {
	if fd, overIP, err = q.Sockets.Dup(source); err == nil {
		noSigpipe(fd)
	}
	return fd, overIP, err
}

// Pipe is pipe(2), close-on-exec and non-blocking.
func (*Kqueue) Pipe() (r, w int, err error) {
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

func (*Kqueue) Read(fd int, buf []byte) (int, error) { return unix.Read(fd, buf) }

func (*Kqueue) Write(fd int, buf []byte) (int, error) { return unix.Write(fd, buf) }

// Darwin refuses more than 2^31-1 bytes. No socket's buffer has so many, so such a transfer is
// short.
const maxTransfer = 1 << 30

// Recv is recv(2), without waiting.
func (Sockets) Recv(fd int, buf []byte) (int, error) {
	buf = buf[:min(len(buf), maxTransfer)]
	for {
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Send is send(2), without waiting and without SIGPIPE, which a program that asked for it by
// signal.Notify would get.
func (Sockets) Send(fd int, buf []byte) (int, error) {
	buf = buf[:min(len(buf), maxTransfer)]
	for {
		n, err := unix.SendmsgN(fd, buf, nil, nil, unix.MSG_DONTWAIT|noSignal)
		if !sendAgain(err) {
			return max(n, 0), err
		}
	}
}

// Sendv is Send of several buffers. It allocates.
func (*Kqueue) Sendv(fd int, bufs [][]byte) (int, error) {
	for {
		n, err := unix.SendmsgBuffers(fd, bufs, nil, nil, unix.MSG_DONTWAIT|noSignal)
		if !sendAgain(err) {
			return max(n, 0), err
		}
	}
}
