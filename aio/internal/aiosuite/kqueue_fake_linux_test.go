package aiosuite

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/poller"
	"evenkeel.dev/aio/internal/sys"
)

// fakeKqueue does what kqueue(2) says, on real sockets, over epoll: one for each filter, so that
// the edges of one do not show in the other. It gives few events at a time, is interrupted now
// and then, and checks what the backend owes the kernel.
type fakeKqueue struct {
	sys.Sockets
	t        testing.TB
	noBuffer bool // sends fail with ENOBUFS now and then

	mu           sync.Mutex
	rng          *rand.Rand
	knotes       map[knote]sys.Kevent
	in, out, all int // epoll descriptors; all has the other two
	waiting      bool
	closed       bool
	eaten        map[int]syscall.Errno // errors of sockets that looking for data took away
}

type knote struct {
	fd     int
	filter int16
}

// fakeBatch limits how many events a wait gives.
const fakeBatch = 3

// newKqueue returns a Watcher over the kqueue backend and a fake kernel.
func newKqueue(t testing.TB, o aio.Options, noBuffer bool) *aio.Watcher {
	t.Helper()
	f := &fakeKqueue{
		t: t, noBuffer: noBuffer, rng: rand.New(rand.NewPCG(1, 2)), knotes: map[knote]sys.Kevent{},
		eaten: map[int]syscall.Errno{},
	}
	for _, fd := range []*int{&f.all, &f.in, &f.out} {
		var err error
		if *fd, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	for _, fd := range []int{f.in, f.out} {
		if err := syscall.EpollCtl(f.all, syscall.EPOLL_CTL_ADD, fd,
			&syscall.EpollEvent{Events: syscall.EPOLLIN}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := poller.NewKqueueOver(f, 128)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWatcher(o, b)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// epoll returns the descriptor for a filter, and what it looks for.
func (f *fakeKqueue) epoll(filter int16) (fd int, events uint32) {
	if filter == sys.EVFILT_WRITE {
		return f.out, syscall.EPOLLOUT
	}
	return f.in, syscall.EPOLLIN | syscall.EPOLLRDHUP
}

func (f *fakeKqueue) open(call string) {
	if f.closed {
		f.t.Errorf("%s on a closed queue: it may be another descriptor by now", call)
	}
}

// Change makes the changes in order, up to the first that fails.
func (f *fakeKqueue) Change(changes []sys.Kevent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open("Change")
	for _, c := range changes {
		fd, events := f.epoll(c.Filter)
		if c.Flags&sys.EV_DELETE != 0 {
			if err := syscall.EpollCtl(fd, syscall.EPOLL_CTL_DEL, c.Ident, nil); err != nil {
				return err
			}
			delete(f.knotes, knote{c.Ident, c.Filter})
			continue
		}
		if c.Flags&sys.EV_CLEAR != 0 {
			events |= syscall.EPOLLET & 0xffffffff
		}
		if c.Flags&sys.EV_ADD == 0 {
			return syscall.ENOENT
		}
		if err := syscall.EpollCtl(fd, syscall.EPOLL_CTL_ADD, c.Ident,
			&syscall.EpollEvent{Events: events, Fd: int32(c.Ident)}); err != nil {
			return err
		}
		f.knotes[knote{c.Ident, c.Filter}] = c
	}
	return nil
}

// Wait reports each filter in an event of its own, with the state at this time.
func (f *fakeKqueue) Wait(events []sys.Kevent, timeout time.Duration) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open("Wait")
	if f.waiting {
		f.t.Error("two goroutines wait")
	}
	f.waiting = true
	defer func() { f.waiting = false }()
	if f.rng.IntN(8) == 0 {
		return 0, syscall.EINTR
	}
	end := time.Now().Add(timeout)
	for {
		n := f.collect(sys.EVFILT_READ, events[:min(len(events), fakeBatch)])
		n += f.collect(sys.EVFILT_WRITE, events[n:min(len(events), fakeBatch)])
		left := time.Until(end)
		if n > 0 || left <= 0 {
			return n, nil
		}
		f.mu.Unlock()
		var first [1]syscall.EpollEvent
		_, err := syscall.EpollWait(f.all, first[:], int((left+time.Millisecond-1)/time.Millisecond))
		f.mu.Lock()
		f.open("Wait")
		if err != nil {
			return 0, err
		}
	}
}

// collect fetches the events of one filter.
func (f *fakeKqueue) collect(filter int16, events []sys.Kevent) int {
	if len(events) == 0 {
		return 0
	}
	epfd, _ := f.epoll(filter)
	raw := make([]syscall.EpollEvent, len(events))
	n, err := syscall.EpollWait(epfd, raw, 0)
	if err != nil {
		return 0
	}
	kept := 0
	for _, r := range raw[:n] {
		c, ok := f.knotes[knote{int(r.Fd), filter}]
		if !ok {
			f.t.Errorf("an event of descriptor %d, which has no knote", r.Fd)
			continue
		}
		e := sys.Kevent{Ident: c.Ident, Filter: filter, Flags: c.Flags &^ sys.EV_ADD, Udata: c.Udata}
		gone, arrived := uint32(syscall.EPOLLHUP|syscall.EPOLLERR), int64(0)
		if filter == sys.EVFILT_READ {
			arrived = f.pending(c.Ident)
			gone |= syscall.EPOLLRDHUP
		}
		if r.Events&gone != 0 {
			e.Flags |= sys.EV_EOF
		} else if filter == sys.EVFILT_READ && arrived == 0 {
			continue // read meanwhile
		}
		events[kept] = e
		kept++
	}
	return kept
}

// pending returns how many bytes are there to be read, up to a bound. The filter of a real kqueue
// leaves the socket's error where it is, but Linux gives it to whoever asks first.
func (f *fakeKqueue) pending(fd int) int64 {
	var buf [4096]byte
	n, _, err := syscall.Recvfrom(fd, buf[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch errno, _ := err.(syscall.Errno); errno {
	case syscall.ENOTSOCK, syscall.ENOTCONN, syscall.EINVAL:
		return 1 // the pipe, and a listener
	case 0, syscall.EAGAIN, syscall.EINTR:
	default:
		f.eaten[fd] = errno
	}
	return int64(max(n, 0))
}

func (f *fakeKqueue) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open("Close")
	if f.waiting {
		f.t.Error("the queue is closed while a goroutine waits")
	}
	f.closed = true
	for _, fd := range []int{f.all, f.in, f.out} {
		_ = syscall.Close(fd)
	}
}

// CloseFd removes the knotes of fd.
func (f *fakeKqueue) CloseFd(fd int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, filter := range []int16{sys.EVFILT_READ, sys.EVFILT_WRITE} {
		if _, ok := f.knotes[knote{fd, filter}]; ok && !f.closed {
			epfd, _ := f.epoll(filter)
			_ = syscall.EpollCtl(epfd, syscall.EPOLL_CTL_DEL, fd, nil)
		}
		delete(f.knotes, knote{fd, filter})
	}
	delete(f.eaten, fd)
	_ = syscall.Close(fd)
}

// Connected gives the error that looking for data took away.
func (f *fakeKqueue) Connected(fd int) error {
	f.mu.Lock()
	eaten := f.eaten[fd]
	delete(f.eaten, fd)
	f.mu.Unlock()
	if eaten != 0 {
		return eaten
	}
	return f.Sockets.Connected(fd)
}

func (f *fakeKqueue) Recv(fd int, buf []byte) (int, error) {
	f.mu.Lock()
	eaten := f.eaten[fd]
	delete(f.eaten, fd)
	f.mu.Unlock()
	if eaten != 0 {
		return 0, eaten
	}
	n, _, err := syscall.Recvfrom(fd, buf, syscall.MSG_DONTWAIT)
	return max(n, 0), err
}

func (f *fakeKqueue) Send(fd int, buf []byte) (int, error) {
	if f.noBuffer {
		f.mu.Lock()
		hit := f.rng.IntN(8) == 0
		f.mu.Unlock()
		if hit {
			return 0, syscall.ENOBUFS
		}
	}
	n, err := syscall.SendmsgN(fd, buf, nil, nil, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
	return max(n, 0), err
}

func (f *fakeKqueue) Sendv(fd int, bufs [][]byte) (int, error) {
	return f.Send(fd, bytes.Join(bufs, nil))
}

func (f *fakeKqueue) ShutWrite(fd int) error { return syscall.Shutdown(fd, syscall.SHUT_WR) }

func (f *fakeKqueue) Pipe() (r, w int, err error) {
	var p [2]int
	err = syscall.Pipe2(p[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK)
	return p[0], p[1], err
}

func (f *fakeKqueue) Read(fd int, buf []byte) (int, error) { return syscall.Read(fd, buf) }

func (f *fakeKqueue) Write(fd int, buf []byte) (int, error) { return syscall.Write(fd, buf) }
