package aiosuite

import (
	"net"

	"evenkeel.dev/aio"
)

// maxDialled bounds the peers that were not accepted.
const maxDialled = 8

// door is the listener of a program. Peers are accepted in the order in which they dial, so that
// the model knows which peer a connection has.
type door struct {
	listener *aio.Listener
	dial     func() net.Conn
	closed   bool
	dialled  []net.Conn // peers that were not accepted
	accepts  []*ticket  // pending, or not examined

	out    net.Listener // the Watcher dials it
	called *ticket      // the dial that is pending, or not examined
}

// arrive has a peer dial, an accept begin or end, the listener close, or the Watcher dial.
func (p *player) arrive() {
	if p.door.listener == nil {
		p.door.listener, p.door.dial = p.listener()
	}
	d := &p.door
	switch n := p.next(); {
	case n%16 == 0:
		p.closeDoor()
	case n%8 == 7:
		p.call()
	case n%8 == 3:
		p.uninvite()
	case n%2 == 0 && !d.closed && len(d.dialled) < maxDialled && len(p.conns) < 2*maxConns:
		d.dialled = append(d.dialled, d.dial())
	default:
		before := p.pendingAccepts()
		k, err := p.submit(ticket{
			op: aio.OpAccept, listener: d.listener, deadline: p.deadline(), late: d.closed, crowded: before >= maxQueue,
		})
		if err != nil {
			p.t.Errorf("Accept of a listener, closed: %t, with %d pending: %v", d.closed, before, err)
			return
		}
		d.accepts = append(d.accepts, k)
	}
}

func (p *player) uninvite() {
	d := &p.door
	if len(d.accepts) == 0 {
		return
	}
	k := d.accepts[p.next()%len(d.accepts)]
	if over, n := p.times(k) > 0, p.cancelled(k); n > 1 || n == 1 && (over || d.closed) {
		p.t.Errorf("operation %d, an accept (over: %t, the listener closed: %t): Cancel found %d", k.number, over,
			d.closed, n)
	}
}

func (p *player) closeDoor() {
	if p.door.listener == nil {
		return
	}
	p.door.closed = true
	if err := p.door.listener.Close(); err != nil {
		p.t.Error("Close of the listener:", err)
	}
}

func (p *player) pendingAccepts() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.door.accepts {
		if k.times == 0 {
			n++
		}
	}
	return n
}

// welcome makes models for the connections that were accepted or dialled.
func (p *player) welcome() {
	p.answer()
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &p.door
	kept := d.accepts[:0]
	for _, k := range d.accepts {
		switch {
		case k.times == 0:
			kept = append(kept, k)
		case k.late && k.result.Error != aio.ErrClosed:
			p.t.Errorf("operation %d, an accept of a listener that is closed: %v", k.number, k.result.Error)
		case k.result.Error == aio.ErrQueueFull && k.crowded:
		case k.result.Error == nil && len(d.dialled) > 0:
			p.number++
			p.conns = append(p.conns, &model{id: p.number, conn: k.result.Conn, peer: d.dialled[0]})
			d.dialled = d.dialled[1:]
		case k.result.Error == nil:
			p.t.Errorf("operation %d has accepted what nobody has dialled", k.number)
		case k.result.Error == aio.ErrClosed && d.closed:
		case k.result.Error == aio.ErrDeadline, k.result.Error == aio.ErrCancelled: // the ledger checks these
		default:
			p.t.Errorf("operation %d, an accept: %v: there is no reason for it", k.number, k.result.Error)
		}
	}
	d.accepts = kept
}

// call has the Watcher dial, one at a time. The next peer is the other end.
func (p *player) call() {
	d := &p.door
	if d.called == nil && len(p.conns) < 2*maxConns {
		if d.out == nil {
			d.out, _ = p.sys.Listener(p.t)
		}
		k, err := p.submit(ticket{op: aio.OpDial, to: d.out.Addr()})
		if err != nil {
			p.t.Error("Dial:", err)
		}
		d.called = k
	}
}

func (p *player) answer() {
	k := p.door.called
	if k == nil || p.times(k) == 0 {
		return
	}
	p.door.called = nil
	if k.result.Error != nil {
		p.t.Errorf("operation %d, a dial: %v: there is no reason for it", k.number, k.result.Error)
		return
	}
	peer, err := p.door.out.Accept()
	if err != nil {
		p.t.Error("the other end of a dial:", err)
		return
	}
	p.number++
	p.conns = append(p.conns, &model{id: p.number, conn: k.result.Conn, peer: peer})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peers = append(p.peers, peer)
}
