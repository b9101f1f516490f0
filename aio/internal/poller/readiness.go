// Package poller has the backends that learn when a descriptor is ready, and transfer themselves:
// edge-triggered epoll on Linux, kqueue on macOS and the BSDs.
package poller

import (
	"io"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// A Poll handles the events of one fetch, and stops after pollBytes. The next one goes on there.
const (
	batch     = proactor.MaxEvents
	pollBytes = 1 << 20
)

type event struct {
	num   int32
	gen   uint32
	ready proactor.Ready
}

// sockets are the system's calls on sockets, without blocking. They fail with a syscall.Errno. See
// [sys.Sockets].
type sockets interface {
	// Dup duplicates the descriptor of a connection or a listener. stream is true over IP.
	Dup(source any) (fd int, stream bool, err error)
	Accept(fd int) (conn int, remote proactor.Addr, err error)
	// Connected returns EINPROGRESS, nil, or why Connect failed. stream is true over IP.
	Connect(addr net.Addr) (fd int, stream bool, err error)
	Connected(fd int) error
	Local(fd int) proactor.Addr
	Recv(fd int, buf []byte) (int, error)
	Send(fd int, buf []byte) (int, error)
	Sendv(fd int, bufs [][]byte) (int, error)
	ShutWrite(fd int) error
	// Unlinger makes a close not wait.
	FileConn(fd int) (net.Conn, error)
	Unlinger(fd int)
	CloseFd(fd int)
}

type kernel interface {
	sockets
	Name() string
	// add begins to report the edges of d, and remove ends that. closing says that the descriptor is
	// closed next.
	add(d *proactor.Desc) error
	remove(d *proactor.Desc, closing bool)
	// poll does not block.
	poll(events []event) (int, error)
	// wait blocks until Poller.fetched returns true, at the start and after each edge, or the
	// timeout.
	wait(timeout time.Duration) error
	Yield()
	wake()
	close()
}

// Poller is a backend over readiness.
//
// It saves calls that would return EAGAIN. A stream socket that gave less than was asked for is
// empty, and its next byte is a new edge (epoll(7), question 9; kqueue(2), EV_CLEAR). After the
// peer's end no edge comes. See proactor.Hup.
type Poller struct {
	kernel
	table  []*proactor.Desc // by descriptor
	held   *proactor.Held
	gen    uint32
	events [batch]event // fetched, of the goroutine in WaitIO
	at, n  int          // events[at:n] are not handled yet
	woken  chan struct{}

	most int // events of a fetch, up to batch

	// Take, if set, is given each transfer that may succeed. If it returns true, op is in flight,
	// and the Poller forgets it until the next edge.
	Take func(op *proactor.Op) bool

	revive func(d *proactor.Desc)
}

func (p *Poller) Holds() *proactor.Held { return p.held }

func (p *Poller) Open(source any, d *proactor.Desc) error {
	fd, stream, err := p.Dup(source)
	if err != nil {
		return err
	}
	return p.register(fd, stream, d)
}

// register closes fd if it fails.
func (p *Poller) register(fd int, stream bool, d *proactor.Desc) error {
	p.enter(fd, stream, d)
	err := p.watch(d)
	if err != nil {
		p.Release(d)
	}
	return err
}

func (p *Poller) enter(fd int, stream bool, d *proactor.Desc) {
	d.Num, d.Gen, d.Stream, d.Ready = int32(fd), 0, stream, proactor.CanRead|proactor.CanWrite
	for len(p.table) <= fd {
		p.table = append(p.table, nil)
	}
	p.table[fd] = d
	p.held.Add(d.Num)
}

// watch begins to report the edges of d. A state that is there already is one.
func (p *Poller) watch(d *proactor.Desc) error {
	p.gen = max(p.gen+1, 1) // 0: not watched
	d.Gen = p.gen
	err := p.add(d)
	if err != nil {
		d.Gen = 0
	}
	return err
}

// Await makes op wait for an edge. It returns false if that fails. An accepted connection is not
// watched before, because the first message of many is there by the first read.
func (p *Poller) Await(op *proactor.Op) bool {
	if op.Desc.Gen == 0 {
		op.Err = p.watch(op.Desc)
	}
	return op.Err == nil
}

func (p *Poller) Accept(listener, d *proactor.Desc) (remote proactor.Addr, err error) {
	fd, remote, err := p.kernel.Accept(int(listener.Num))
	switch err {
	case nil:
		p.enter(fd, listener.Stream, d)
	case syscall.EAGAIN:
		listener.Ready &^= proactor.CanRead // the next connection is a new edge
	}
	return remote, err
}

func (p *Poller) Connect(addr net.Addr, d *proactor.Desc) error {
	fd, stream, err := p.kernel.Connect(addr)
	if err != nil {
		return err
	}
	return p.register(fd, stream, d)
}

func (p *Poller) Local(d *proactor.Desc) proactor.Addr { return p.kernel.Local(int(d.Num)) }

func (p *Poller) Start(op *proactor.Op) bool {
	op.InFlight = !p.try(op)
	return !op.InFlight
}

// Start has tried all.
func (p *Poller) Settle(done []*proactor.Op) []*proactor.Op { return done }

func (p *Poller) Cancel(op *proactor.Op) bool {
	op.InFlight = false
	return true
}

// try transfers what is possible. It returns false if op waits for an edge, or was taken.
func (p *Poller) try(op *proactor.Op) bool {
	d := op.Desc
	var may proactor.Ready
	switch op.Kind {
	case proactor.Send, proactor.Sendv, proactor.Connect:
		may = proactor.CanWrite
	case proactor.Recv, proactor.Readable, proactor.Accept:
		may = proactor.CanRead
	}
	if d.Ready&may != may {
		return !p.Await(op)
	}
	if p.Take != nil && p.Take(op) {
		return false
	}
	switch op.Kind {
	case proactor.Readable, proactor.Accept:
		return true
	case proactor.Send:
		buf := op.Rest()
		n, err := p.kernel.Send(int(d.Num), buf)
		return p.sent(op, n, len(buf), err)
	case proactor.Sendv:
		bufs, room := op.Tag.(*proactor.Vec).Next()
		n, err := p.kernel.Sendv(int(d.Num), bufs)
		return p.sent(op, n, room, err)
	case proactor.Connect:
		err := p.Connected(int(d.Num))
		if err == syscall.EINPROGRESS {
			d.Ready &^= proactor.CanWrite
			return false
		}
		op.Err = err
		return true
	case proactor.ShutWrite:
		op.Err = p.ShutWrite(int(d.Num))
		return true
	default:
		n, err := p.Recv(d, op.Rest())
		return p.ended(op, n, err)
	}
}

func (p *Poller) sent(op *proactor.Op, n, room int, err error) bool {
	Moved(op.Desc, proactor.Out, n, room, err)
	return p.ended(op, n, err)
}

// ended notes what a transfer of op did. It returns false if op waits for an edge.
func (p *Poller) ended(op *proactor.Op, n int, err error) bool {
	op.Size += n
	if err == syscall.EAGAIN {
		return !p.Await(op)
	}
	op.Err = err
	return true
}

// Moved notes whether the next transfer of d has to wait for an edge, after one of n bytes for
// which there was room.
func Moved(d *proactor.Desc, dir proactor.Dir, n, room int, err error) {
	short := err == nil && n > 0 && n < room && d.Stream && d.Ready&proactor.Hup == 0
	switch {
	case !short && err != syscall.EAGAIN:
	case dir == proactor.Out:
		d.Ready &^= proactor.CanWrite
	default:
		d.Ready &^= proactor.CanRead
	}
}

func (p *Poller) Recv(d *proactor.Desc, buf []byte) (int, error) {
	n, err := p.kernel.Recv(int(d.Num), buf)
	Moved(d, proactor.In, n, len(buf), err)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Send leaves d.Ready to the loop. After a short one the next Start tries in vain.
func (p *Poller) Send(d *proactor.Desc, buf []byte) (int, error) {
	return p.kernel.Send(int(d.Num), buf)
}

func (p *Poller) Sendv(d *proactor.Desc, v *proactor.Vec) (int, error) {
	bufs, _ := v.Next()
	return p.kernel.Sendv(int(d.Num), bufs)
}

// It has no swap memory.
func (p *Poller) Recycle() bool { return false }

func (p *Poller) room() []event { return p.events[:p.most] }

func (p *Poller) Poll(done []*proactor.Op) ([]*proactor.Op, error) {
	if p.n == 0 {
		n, err := p.poll(p.room())
		if err != nil {
			return done, err
		}
		p.n = n
	}
	for moved := 0; p.at < p.n && moved < pollBytes; p.at++ {
		e := p.events[p.at]
		if int(e.num) >= len(p.table) {
			continue
		}
		d := p.table[e.num]
		if d == nil || d.Gen != e.gen {
			continue // closed since the wait
		}
		d.Ready |= e.ready
		if d.Dormant != nil && d.Ready&proactor.CanRead != 0 {
			p.revive(d)
		}
		for dir := range d.Queues {
			op := d.Queues[dir].Head
			if op == nil || !op.InFlight {
				continue
			}
			before := op.Size
			switch {
			case p.try(op):
				op.InFlight = false
				done = append(done, op)
				moved += op.Size - before
			case d.Ready&(proactor.CanRead<<dir) != 0: // taken
				moved += op.Room()
			}
		}
	}
	if p.at == p.n {
		p.at, p.n = 0, 0
	}
	return done, nil
}

func (p *Poller) Sleeps(op *proactor.Op) bool {
	return op.Kind == proactor.Readable && op.Desc.Ready&proactor.CanRead == 0
}

func (p *Poller) OnEdge(revive func(d *proactor.Desc)) { p.revive = revive }

func (p *Poller) Wait(timeout time.Duration) error {
	err := p.wait(timeout)
	select {
	case <-p.woken: // the caller looks at everything now
	default:
	}
	return err
}

func (p *Poller) Wake() {
	select {
	case p.woken <- struct{}{}:
		p.wake()
	default: // it was, and WaitIO has not seen it
	}
}

func (p *Poller) Close(done []*proactor.Op) []*proactor.Op {
	p.close()
	return done
}

func (p *Poller) Release(d *proactor.Desc) {
	p.Unlinger(int(d.Num))
	p.drop(d)
}

func (p *Poller) Detach(d *proactor.Desc) (net.Conn, error) {
	conn, err := p.FileConn(int(d.Num))
	if err == nil {
		p.drop(d)
	}
	return conn, err
}

func (p *Poller) drop(d *proactor.Desc) {
	p.leave(d, true) // before the number can be reused
	p.CloseFd(int(d.Num))
}

func (p *Poller) leave(d *proactor.Desc, closing bool) {
	if d.Gen != 0 {
		p.remove(d, closing)
	}
	p.table[d.Num] = nil
	p.held.Remove(d.Num)
}

// Base returns p, also for a backend that embeds it.
func (p *Poller) Base() *Poller { return p }

// Move keeps what is known of the readiness. A state that is there is an edge for the other kernel.
func (p *Poller) Move(d *proactor.Desc, to proactor.Backend, moved *proactor.Desc) bool {
	other, ok := to.(interface{ Base() *Poller })
	if !ok || other.Base().Name() != p.Name() {
		return false
	}
	p.leave(d, false)
	other.Base().enter(int(d.Num), d.Stream, moved)
	moved.Ready = d.Ready
	return true
}

func (p *Poller) Control(d *proactor.Desc, f func(fd uintptr)) bool {
	f(uintptr(d.Num))
	return true
}
