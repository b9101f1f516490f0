package poller

import (
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
	"evenkeel.dev/aio/internal/sys"
)

// epoll is the kernel of Linux (epoll(7)). Its descriptor waits in the runtime's poller, because
// epoll descriptors may be nested.
type epoll struct {
	sys.Sockets
	fd     int
	wakeFd int
	waiter *sys.Waiter
	raw    [batch]syscall.EpollEvent
}

var messages = sync.Pool{New: func() any { return new(sys.Message) }}

// NewEpoll returns a backend over edge-triggered epoll, which fetches so many events, up to
// proactor.MaxEvents. It fails with a MissingError.
func NewEpoll(events int) (*Poller, error) {
	p, err := newEpoll(events, epollAdd)
	if err != nil {
		return nil, proactor.Refused("epoll", "epoll_create1, epoll_ctl, epoll_pwait and eventfd2", err)
	}
	return p, nil
}

func epollAdd(epfd, fd int, e *syscall.EpollEvent) error {
	return syscall.EpollCtl(epfd, syscall.EPOLL_CTL_ADD, fd, e)
}

// newEpoll registers the descriptor that wakes by add.
func newEpoll(events int, add func(epfd, fd int, e *syscall.EpollEvent) error) (*Poller, error) {
	fd, err := sys.EpollCreate()
	if err != nil {
		return nil, err
	}
	k := &epoll{fd: fd}
	p := &Poller{kernel: k, most: events, woken: make(chan struct{}, 1), held: &proactor.Held{CloseFd: sys.Close}}
	if k.waiter, err = sys.NewWaiter(fd, "epoll", p.fetched, k.signal); err != nil {
		return nil, err
	}
	if k.wakeFd, err = sys.Eventfd(); err != nil {
		k.waiter.Close()
		return nil, err
	}
	wakes := &syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLET&0xffffffff, Fd: -1}
	if err = add(fd, k.wakeFd, wakes); err != nil {
		k.close()
		return nil, err
	}
	wakeFd := k.wakeFd
	p.held.Rest = func() { sys.Close(wakeFd) } // the runtime closes the waiter's *os.File
	return p, nil
}

func (k *epoll) Name() string { return "epoll" }

func (k *epoll) add(d *proactor.Desc) error {
	return epollAdd(k.fd, int(d.Num), &syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLPRI | syscall.EPOLLOUT | syscall.EPOLLRDHUP | syscall.EPOLLET&0xffffffff,
		Fd:     d.Num,
		Pad:    int32(d.Gen),
	})
}

// remove matters if the socket has other descriptors, as in a child. Only the last one's close
// would end the registration.
func (k *epoll) remove(d *proactor.Desc, _ bool) {
	_ = syscall.EpollCtl(k.fd, syscall.EPOLL_CTL_DEL, int(d.Num), nil)
}

func (k *epoll) Sendv(fd int, bufs [][]byte) (int, error) {
	m := messages.Get().(*sys.Message)
	defer messages.Put(m)
	m.Set(bufs)
	defer m.Clear()
	return sys.Sendmsg(fd, m)
}

func (k *epoll) poll(events []event) (int, error) {
	n, err := sys.EpollPoll(k.fd, k.raw[:len(events)])
	if err != nil {
		return 0, err
	}
	kept := 0
	for i := range k.raw[:n] {
		e := &k.raw[i]
		if e.Fd < 0 {
			continue // wake
		}
		var r proactor.Ready
		if e.Events&syscall.EPOLLIN != 0 {
			r |= proactor.CanRead
		}
		if e.Events&syscall.EPOLLOUT != 0 {
			r |= proactor.CanWrite
		}
		if e.Events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR|syscall.EPOLLPRI) != 0 {
			r |= proactor.CanRead | proactor.Hup // a receive stops short at urgent data, too
		}
		if e.Events&(syscall.EPOLLHUP|syscall.EPOLLERR) != 0 {
			r |= proactor.CanWrite
		}
		events[kept] = event{num: e.Fd, gen: uint32(e.Pad), ready: r}
		kept++
	}
	return kept, nil
}

func (p *Poller) fetched() bool {
	if p.n == 0 {
		p.n, _ = p.poll(p.room())
	}
	return p.n > 0 || len(p.woken) > 0
}

func (k *epoll) wait(timeout time.Duration) error { return k.waiter.Wait(timeout) }

func (k *epoll) Yield() { k.waiter.Yield() }

func (k *epoll) wake() { k.waiter.Wake() }

func (k *epoll) signal() { sys.EventfdSignal(k.wakeFd) }

func (k *epoll) close() {
	k.waiter.Close()
	sys.Close(k.wakeFd)
}
