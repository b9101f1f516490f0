// Package poller has the backends that are told when a descriptor is ready, and transfer
// themselves: edge-triggered epoll on Linux, kqueue on macOS and the BSDs.
package poller

import (
	"cmp"
	"io"
	"net"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// A Poll handles events of one fetch, batch at the utmost, and stops after pollBytes bytes: the next Poll
// goes on where it stopped.
const (
	batch     = proactor.MaxEvents
	pollBytes = 1 << 20
)

// event says what became possible on a descriptor.
type event struct {
	num   int32
	gen   uint32
	ready proactor.Ready
}

// connecting are the calls that make connections and give them away, which [Sockets] has. They do not block.
type connecting interface {
	// Accept is accept(2) of a descriptor for us to own, in non-blocking mode.
	Accept(fd int) (conn int, remote proactor.Addr, errno syscall.Errno)
	// Connect opens a socket and begins to connect it, and Connected says how far that is: EINPROGRESS, 0,
	// or why it failed. The stream is one over IP.
	Connect(addr net.Addr) (fd int, stream bool, err error)
	Connected(fd int) syscall.Errno
	// Local is getsockname(2).
	Local(fd int) proactor.Addr
	// FileConn is a net.Conn over a duplicate, and Unlinger has a close not wait.
	FileConn(fd int) (net.Conn, error)
	Unlinger(fd int)
}

// kernel is what epoll and kqueue differ in.
type kernel interface {
	name() string
	connecting
	// dup duplicates the descriptor of a connection or a listener, for us to own.
	dup(source any) (fd int, stream bool, err error)
	// add has the edges of d reported; remove ends that.
	add(d *proactor.Desc) error
	remove(d *proactor.Desc)
	release(d *proactor.Desc)
	recv(num int32, buf []byte) (int, syscall.Errno)
	send(num int32, buf []byte) (int, syscall.Errno)
	sendv(num int32, bufs [][]byte) (int, syscall.Errno)
	shutWrite(num int32) syscall.Errno
	// poll fetches events without blocking.
	poll(events []event) (int, error)
	// wait blocks until ready says true, asked at the start and after each edge, or until the
	// timeout.
	wait(timeout time.Duration) error
	yield()
	wake()
	close()
}

// Poller is a backend over readiness.
//
// What it knows of a descriptor's readiness saves the call that would only say EAGAIN: a stream
// socket that gave less than was asked for is empty, and its next byte is a new edge (epoll(7),
// question 9; kqueue(2), EV_CLEAR). After the peer's end no edge comes any more: Hup.
type Poller struct {
	kernel
	table  []*proactor.Desc // by descriptor
	held   *proactor.Held
	gen    uint32
	events [batch]event // fetched and not yet handled. Owned by the goroutine in WaitIO
	at, n  int          // these of them: events[at:n]
	woken  chan struct{}

	MaxEvents int // of a fetch, batch at the utmost; 0: batch

	// Take, if there is one, is given each transfer that may succeed, in place of a call. It reports
	// false of what it leaves to the Poller; what it takes is in flight, and the Poller's part is over
	// until the next edge.
	Take func(op *proactor.Op) bool

	revive func(d *proactor.Desc) // OnEdge's
}

// Holds implements [proactor.Holder].
func (p *Poller) Holds() *proactor.Held { return p.held }

// Name implements [proactor.Backend].
func (p *Poller) Name() string { return p.name() }

// Open implements [proactor.Backend].
func (p *Poller) Open(source any, d *proactor.Desc) error {
	fd, stream, err := p.dup(source)
	if err != nil {
		return err
	}
	return p.register(fd, stream, d)
}

// register has the edges of fd reported, and fills d's part. When it fails it has closed fd.
func (p *Poller) register(fd int, stream bool, d *proactor.Desc) error {
	p.enter(fd, stream, d)
	err := p.watch(d)
	if err != nil {
		p.Release(d)
	}
	return err
}

// enter fills d's part: what may be possible is tried.
func (p *Poller) enter(fd int, stream bool, d *proactor.Desc) {
	d.Num, d.Gen, d.Stream, d.Ready = int32(fd), 0, stream, proactor.CanRead|proactor.CanWrite
	for len(p.table) <= fd {
		p.table = append(p.table, nil)
	}
	p.table[fd] = d
	p.held.Add(d.Num)
}

// watch has the edges of d reported from now on: a state that is there already is one.
func (p *Poller) watch(d *proactor.Desc) error {
	p.gen = max(p.gen+1, 1) // 0: not watched
	d.Gen = p.gen
	err := p.add(d)
	if err != nil {
		d.Gen = 0
	}
	return err
}

// Await has op, for which nothing can be done, wait for an edge. It reports false when it cannot, and fails.
// What was accepted is not watched before: of many connections the first message is there by the first read.
func (p *Poller) Await(op *proactor.Op) bool {
	if op.Desc.Gen == 0 {
		op.Err = p.watch(op.Desc)
	}
	return op.Err == nil
}

// Accept implements [proactor.Backend].
func (p *Poller) Accept(listener, d *proactor.Desc) (remote proactor.Addr, err error) {
	fd, remote, errno := p.kernel.Accept(int(listener.Num))
	switch errno {
	case 0:
		p.enter(fd, listener.Stream, d)
		return remote, nil
	case syscall.EAGAIN:
		listener.Ready &^= proactor.CanRead // the next connection is a new edge
	}
	return remote, errno
}

// Connect implements [proactor.Backend].
func (p *Poller) Connect(addr net.Addr, d *proactor.Desc) error {
	fd, stream, err := p.kernel.Connect(addr)
	if err != nil {
		return err
	}
	return p.register(fd, stream, d)
}

// Local implements [proactor.Backend].
func (p *Poller) Local(d *proactor.Desc) proactor.Addr { return p.kernel.Local(int(d.Num)) }

// Start implements [proactor.Backend].
func (p *Poller) Start(op *proactor.Op) bool {
	op.InFlight = !p.try(op)
	return !op.InFlight
}

// Settle implements [proactor.Backend]: Start has tried.
func (p *Poller) Settle(done []*proactor.Op) []*proactor.Op { return done }

// Cancel implements [proactor.Backend].
func (p *Poller) Cancel(op *proactor.Op) bool {
	op.InFlight = false
	return true
}

// try transfers what can be. It reports false when the operation waits for an edge, or was taken.
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
		n, errno := p.send(d.Num, buf)
		return p.sent(op, n, len(buf), errno)
	case proactor.Sendv:
		bufs, room := op.Tag.(*proactor.Vec).Next()
		n, errno := p.sendv(d.Num, bufs)
		return p.sent(op, n, room, errno)
	case proactor.Connect:
		errno := p.kernel.Connected(int(d.Num))
		if errno == syscall.EINPROGRESS {
			d.Ready &^= proactor.CanWrite
			return false
		}
		if errno != 0 {
			op.Err = errno
		}
		return true
	case proactor.ShutWrite:
		if errno := p.shutWrite(d.Num); errno != 0 {
			op.Err = errno
		}
		return true
	default:
		n, err := p.Recv(d, op.Rest())
		op.Size += n
		if err == syscall.EAGAIN {
			return !p.Await(op)
		}
		op.Err = err
		return true
	}
}

// sent is the end of try of a send, of n bytes of room.
func (p *Poller) sent(op *proactor.Op, n, room int, errno syscall.Errno) bool {
	op.Size += n
	Moved(op.Desc, proactor.Out, n, room, errno)
	switch errno {
	case 0:
	case syscall.EAGAIN:
		return !p.Await(op)
	default:
		op.Err = errno
	}
	return true
}

// Moved notes what a transfer of n bytes, of room that there was for, says of d: whether the next one
// has to wait for an edge.
func Moved(d *proactor.Desc, dir proactor.Dir, n, room int, errno syscall.Errno) {
	short := errno == 0 && n > 0 && n < room && d.Stream && d.Ready&proactor.Hup == 0
	switch {
	case !short && errno != syscall.EAGAIN:
	case dir == proactor.Out:
		d.Ready &^= proactor.CanWrite
	default:
		d.Ready &^= proactor.CanRead
	}
}

// Recv implements [proactor.Backend].
func (p *Poller) Recv(d *proactor.Desc, buf []byte) (int, error) {
	n, errno := p.recv(d.Num, buf)
	Moved(d, proactor.In, n, len(buf), errno)
	switch {
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Send implements [proactor.Backend].
func (p *Poller) Send(d *proactor.Desc, buf []byte) (int, error) {
	if d.Gen != 0 && d.Ready&proactor.CanWrite == 0 { // no edge tells of one that is not watched
		return 0, syscall.EAGAIN
	}
	n, errno := p.send(d.Num, buf)
	return sentNow(d, n, len(buf), errno)
}

// Sendv implements [proactor.Backend].
func (p *Poller) Sendv(d *proactor.Desc, v *proactor.Vec) (int, error) {
	if d.Gen != 0 && d.Ready&proactor.CanWrite == 0 {
		return 0, syscall.EAGAIN
	}
	bufs, room := v.Next()
	n, errno := p.sendv(d.Num, bufs)
	return sentNow(d, n, room, errno)
}

// sentNow is the end of Send and Sendv, of n bytes of room.
func sentNow(d *proactor.Desc, n, room int, errno syscall.Errno) (int, error) {
	Moved(d, proactor.Out, n, room, errno)
	if errno != 0 {
		return 0, errno
	}
	return n, nil
}

// Recycle implements [proactor.Backend]. The watcher's swap buffer is used here.
func (p *Poller) Recycle() bool { return false }

// room is where to fetch events.
func (p *Poller) room() []event { return p.events[:cmp.Or(p.MaxEvents, batch)] }

// Poll implements [proactor.Backend].
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
			continue // of a descriptor that was closed meanwhile
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
			case d.Ready&(proactor.CanRead<<dir) != 0: // it was taken
				moved += op.Room()
			}
		}
	}
	if p.at == p.n {
		p.at, p.n = 0, 0
	}
	return done, nil
}

// Sleeps implements [proactor.Sleeper].
func (p *Poller) Sleeps(op *proactor.Op) bool {
	return op.Kind == proactor.Readable && op.Desc.Ready&proactor.CanRead == 0
}

// OnEdge implements [proactor.Sleeper].
func (p *Poller) OnEdge(revive func(d *proactor.Desc)) { p.revive = revive }

// Wait implements [proactor.Backend].
func (p *Poller) Wait(timeout time.Duration) error {
	err := p.wait(timeout)
	select {
	case <-p.woken: // the caller looks at everything now
	default:
	}
	return err
}

// Yield implements [proactor.Backend].
func (p *Poller) Yield() { p.yield() }

// Wake implements [proactor.Backend].
func (p *Poller) Wake() {
	select {
	case p.woken <- struct{}{}:
		p.wake()
	default: // it was, and has not been seen yet
	}
}

// Close implements [proactor.Backend].
func (p *Poller) Close(done []*proactor.Op) []*proactor.Op {
	p.close()
	return done
}

// Release implements [proactor.Backend].
func (p *Poller) Release(d *proactor.Desc) {
	p.Unlinger(int(d.Num))
	p.drop(d)
}

// Detach implements [proactor.Backend].
func (p *Poller) Detach(d *proactor.Desc) (net.Conn, error) {
	conn, err := p.FileConn(int(d.Num))
	if err == nil {
		p.drop(d)
	}
	return conn, err
}

// drop ends what was registered, and closes d.
func (p *Poller) drop(d *proactor.Desc) {
	if d.Gen != 0 {
		p.remove(d)
	}
	p.table[d.Num] = nil // before the number can be given out again
	p.held.Remove(d.Num)
	p.kernel.release(d)
}

// Control implements [proactor.Backend].
func (p *Poller) Control(d *proactor.Desc, f func(fd uintptr)) bool {
	f(uintptr(d.Num))
	return true
}
