package poller

import (
	"runtime"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// KqueueCalls are the system calls of the kqueue backend, an interface so that its logic can be
// tested without a BSD.
type KqueueCalls interface {
	// Change is kevent(2) without room for events. It returns the error of the first change that
	// fails.
	Change(changes []sys.Kevent) error
	// Wait is kevent(2) without changes. It runs at the same time as the other calls, except Close.
	Wait(events []sys.Kevent, timeout time.Duration) (int, error)
	// Close closes the queue. Only CloseFd may follow.
	Close()

	sockets

	// These are on non-blocking descriptors.
	Pipe() (r, w int, err error)
	Read(fd int, buf []byte) (int, error)
	Write(fd int, buf []byte) (int, error)
}

// Darwin refuses long timeouts.
const maxWait = time.Hour

var wakeByte = make([]byte, 1)

// kqueue is the kernel of macOS and the BSDs (FreeBSD's kqueue(2), Darwin's kevent(2)).
//
// A descriptor has a knote for each direction, edge-triggered (EV_CLEAR). The kernel reports it
// once after each change, with the state at the time of the report, and with the generation in
// udata.
//
// A pipe wakes, because OpenBSD and old NetBSD have no EVFILT_USER. It is level-triggered, and
// emptied when reported.
//
// A wait is a kevent(2) that blocks the thread, whose P sysmon gives to other goroutines. The queue
// cannot wait in the runtime's poller as epoll's does. The runtime registers both filters
// (runtime/netpoll_kqueue.go), and a kqueue refuses EVFILT_WRITE.
type kqueue struct {
	KqueueCalls
	p            *Poller
	wakeR, wakeW int
	changes      [2]sys.Kevent     // guarded by the watcher's mu
	raw          [batch]sys.Kevent // of the goroutine in WaitIO
	scrap        [16]byte          // likewise

	waiting sync.Mutex // held in wait, which uses raw and the queue
	mu      sync.Mutex // keeps a wake from a descriptor that was closed and reused
	closed  bool       // guarded by mu
}

// NewKqueueOver returns a backend over the queue of c, which it owns. See NewEpoll for events.
func NewKqueueOver(c KqueueCalls, events int) (*Poller, error) {
	k := &kqueue{KqueueCalls: c}
	k.p = &Poller{kernel: k, most: events, woken: make(chan struct{}, 1), held: &proactor.Held{CloseFd: c.CloseFd}}
	wakeR, wakeW, err := c.Pipe()
	if err != nil {
		c.Close()
		return nil, err
	}
	k.wakeR, k.wakeW = wakeR, wakeW
	k.p.held.Rest = func() {
		c.Close()
		c.CloseFd(wakeR)
		c.CloseFd(wakeW)
	}
	k.changes[0] = sys.Kevent{Ident: k.wakeR, Filter: sys.EVFILT_READ, Flags: sys.EV_ADD}
	if err = c.Change(k.changes[:1]); err != nil {
		k.p.held.Rest()
		return nil, err
	}
	return k.p, nil
}

func (k *kqueue) Name() string { return "kqueue" }

// add registers both filters. If the second fails, the first goes with the descriptor, which the
// caller closes.
func (k *kqueue) add(d *proactor.Desc) error {
	for i, filter := range []int16{sys.EVFILT_READ, sys.EVFILT_WRITE} {
		k.changes[i] = sys.Kevent{Ident: int(d.Num), Filter: filter, Flags: sys.EV_ADD | sys.EV_CLEAR, Udata: d.Gen}
	}
	return k.Change(k.changes[:])
}

// remove has nothing to do before close(2), which removes the knotes of a descriptor, even if the
// socket has others. Events that were fetched before have the old generation.
func (k *kqueue) remove(d *proactor.Desc, closing bool) {
	if closing {
		return
	}
	for i, filter := range []int16{sys.EVFILT_READ, sys.EVFILT_WRITE} {
		k.changes[i] = sys.Kevent{Ident: int(d.Num), Filter: filter, Flags: sys.EV_DELETE}
	}
	_ = k.Change(k.changes[:])
}

// Yield leaves the network to sysmon while others can run.
func (k *kqueue) Yield() { runtime.Gosched() }

func (k *kqueue) poll(events []event) (int, error) { return k.fetch(events, 0) }

// fetch waits for events until the timeout.
func (k *kqueue) fetch(events []event, timeout time.Duration) (int, error) {
	n, err := k.Wait(k.raw[:len(events)], timeout)
	if err == syscall.EINTR || err == syscall.ETIMEDOUT { // Darwin's, see golang/go #59679
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	kept := 0
	for i := range k.raw[:n] {
		e := &k.raw[i]
		if e.Ident == k.wakeR {
			k.empty()
			continue
		}
		events[kept] = event{num: int32(e.Ident), gen: e.Udata, ready: readiness(e)}
		kept++
	}
	return kept, nil
}

// readiness returns what became possible.
//
// EV_EOF of the read filter is the peer's end, while data may still be there. recv(2) reads these
// first. EV_EOF of the write filter is the end of the connection. Not every system reports a failed
// connection to both filters (runtime/netpoll_kqueue.go), so both directions are tried. EAGAIN says
// that one has not ended.
//
// EV_ERROR is a change's, and cannot occur here. If it does, the filter is useless, and the socket
// says what is wrong.
func readiness(e *sys.Kevent) proactor.Ready {
	if e.Flags&(sys.EV_EOF|sys.EV_ERROR) != 0 {
		return proactor.CanRead | proactor.CanWrite | proactor.Hup
	}
	if e.Filter == sys.EVFILT_WRITE {
		return proactor.CanWrite
	}
	return proactor.CanRead
}

// wait asks p.woken before it blocks, because Poll may have emptied the pipe of a wake that wait has
// not seen.
func (k *kqueue) wait(timeout time.Duration) error {
	k.waiting.Lock()
	defer k.waiting.Unlock()
	start := time.Now()
	for k.p.n == 0 && !k.isClosed() {
		select {
		case <-k.p.woken:
			return nil
		default:
		}
		left := maxWait
		if timeout >= 0 {
			left = min(left, max(timeout-time.Since(start), 0))
		}
		n, err := k.fetch(k.p.room(), left)
		if err != nil {
			return err
		}
		k.p.n = n
		if left == 0 {
			return nil
		}
	}
	return nil
}

func (k *kqueue) isClosed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

func (k *kqueue) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.signal()
	}
}

// signal fills the pipe. A full one wakes as well.
func (k *kqueue) signal() {
	for {
		if _, err := k.Write(k.wakeW, wakeByte); err != syscall.EINTR {
			return
		}
	}
}

// empty empties the pipe. The rest is reported again.
func (k *kqueue) empty() { _, _ = k.Read(k.wakeR, k.scrap[:]) }

// close waits for a wait to end, because a number that kevent(2) is about to use may be another's,
// and Darwin was seen to lock up (rdar://30231213).
func (k *kqueue) close() {
	k.mu.Lock()
	k.closed = true
	k.signal()
	k.mu.Unlock()
	k.waiting.Lock()
	defer k.waiting.Unlock()
	k.p.held.Rest()
}
