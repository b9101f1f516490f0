package aiosuite

import (
	"bytes"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// maxDialled bounds the peers that were not accepted.
const maxDialled = 8

// accepting is the listener of a program. Peers are accepted in the order in which they dial, so that
// the model knows which peer a connection has.
type accepting struct {
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
	if p.accepting.listener == nil {
		p.accepting.listener, p.accepting.dial = p.listener()
	}
	d := &p.accepting
	switch n := p.next(); {
	case n%16 == 0:
		p.closeListener()
	case n%8 == 7:
		p.call()
	case n%8 == 3:
		p.cancelAccept()
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

func (p *player) cancelAccept() {
	d := &p.accepting
	if len(d.accepts) == 0 {
		return
	}
	k := d.accepts[p.next()%len(d.accepts)]
	if over, n := p.times(k) > 0, p.cancelled(k); n > 1 || n == 1 && (over || d.closed) {
		p.t.Errorf("operation %d, an accept (over: %t, the listener closed: %t): Cancel found %d", k.number, over,
			d.closed, n)
	}
}

func (p *player) closeListener() {
	if p.accepting.listener == nil {
		return
	}
	p.accepting.closed = true
	if err := p.accepting.listener.Close(); err != nil {
		p.t.Error("Close of the listener:", err)
	}
}

func (p *player) pendingAccepts() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.accepting.accepts {
		if k.times == 0 {
			n++
		}
	}
	return n
}

// admit makes models for the connections that were accepted or dialled.
func (p *player) admit() {
	p.answer()
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &p.accepting
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
	d := &p.accepting
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
	k := p.accepting.called
	if k == nil || p.times(k) == 0 {
		return
	}
	p.accepting.called = nil
	if k.result.Error != nil {
		p.t.Errorf("operation %d, a dial: %v: there is no reason for it", k.number, k.result.Error)
		return
	}
	peer, err := p.accepting.out.Accept()
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

// finish lets every operation end, closes the Watcher and checks all.
func (p *player) finish() {
	p.closeListener()
	p.turn(func() bool {
		return p.pendingAccepts() == 0 && (p.accepting.called == nil || p.times(p.accepting.called) > 0)
	})
	p.admit()
	if p.accepting.out != nil {
		_ = p.accepting.out.Close()
	}
	sinks := make([]func() ([]byte, error), len(p.conns))
	for i, m := range p.conns {
		if m.vanished {
			continue
		}
		_ = m.peer.SetDeadline(time.Time{})
		if !m.ended {
			m.ended = true
			_ = closeWrite(m.peer)
		}
		sinks[i] = sink(m.peer)
	}
	p.turn(p.allBack) // all peers have ended, and read
	p.readRest()
	if s := p.w.Stats(); s.Pending != 0 {
		p.t.Errorf("every peer has ended and reads, and %d operations are pending: %+v", s.Pending, s)
	}
	for _, m := range p.conns {
		if err := m.conn.Close(); err != nil {
			p.t.Error("Close:", err)
		}
	}
	_ = p.w.Close()
	close(p.turns)
	<-p.waited
	p.drain()
	for i, m := range p.conns {
		if sinks[i] != nil {
			data, _ := sinks[i]()
			m.got = append(m.got, data...)
		}
		p.check(m)
	}
}

func (p *player) allBack() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !slices.ContainsFunc(p.tickets, func(k *ticket) bool { return k.times == 0 })
}

// readRest reads every connection to its end. A Close with unread data is a reset, and the peer may
// lose data.
func (p *player) readRest() {
	for _, m := range p.conns {
		for !m.closed && !m.closing && !m.vanished && !p.t.Failed() {
			k, err := p.submit(ticket{conn: m.conn, buf: make([]byte, 4096)})
			if err != nil {
				p.t.Errorf("connection %d: %v", m.id, err)
				return
			}
			p.turn(func() bool { return p.times(k) > 0 })
			if p.failed(k) {
				break
			}
		}
	}
}

func (p *player) failed(k *ticket) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return k.result.Error != nil
}

func (p *player) turn(done func() bool) {
	for deadline := time.Now().Add(stuck); !done(); {
		select {
		case p.turns <- struct{}{}:
		case <-p.waited:
			return
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Errorf("operations are still pending after %v: one is lost", stuck)
			return
		}
	}
}

// check compares the results of a connection with its model.
func (p *player) check(m *model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	closed := m.closed || m.closing
	var read, written []byte
	var end *ticket // a CloseWrite without an error
	for _, k := range p.tickets {
		if k.conn != m.conn && !slices.Contains(m.earlier, k.conn) || k.times == 0 {
			continue
		}
		switch {
		case k.op == aio.OpRead:
			read = append(read, k.data...)
		case k.op == aio.OpCloseWrite && k.result.Error == nil:
			end = k
		default:
			written = append(written, k.buf[:k.result.Size]...)
		}
		if k.op == aio.OpWrite && end != nil && k.result.Size > 0 {
			p.t.Errorf("connection %d: write %d sent %d bytes, and CloseWrite %d came before it", m.id, k.number,
				k.result.Size, end.number)
		}
		if reason := m.allows(k); reason != "" {
			p.t.Errorf("connection %d, operation %d: size %d, %v: %s", m.id, k.number, k.result.Size, k.result.Error,
				reason)
		}
		if k.result.Error == io.EOF && m.ended && !m.vanished && !closed && len(read) != len(m.sent) {
			p.t.Errorf("connection %d, operation %d: the end after %d bytes of %d", m.id, k.number, len(read),
				len(m.sent))
		}
	}
	if !bytes.HasPrefix(m.sent, read) {
		p.same("read", read, m.sent[:min(len(read), len(m.sent))])
	}
	if !bytes.HasPrefix(written, m.got) {
		p.same("at the peer", m.got, written[:min(len(written), len(m.got))])
	}
	if !m.vanished && !closed && !m.peerFailed && p.over && !bytes.Equal(m.got, written) {
		p.same("at the peer, all", m.got, written)
	}
}

// allows returns what is wrong with the error of a result, or "".
func (m *model) allows(k *ticket) string {
	if k.late && k.result.Error != aio.ErrClosed {
		return "the connection was closed before"
	}
	switch k.result.Error {
	case aio.ErrQueueFull:
		if !k.crowded || k.result.Size != 0 {
			return "the queue was not full"
		}
	case nil, aio.ErrDeadline, aio.ErrCancelled: // the ledger checks these
		return ""
	case io.EOF:
		if !m.ended && !m.vanished {
			return "the peer has not ended"
		}
	case aio.ErrClosed:
		if !m.closed && (!m.closing || k.op == aio.OpClose && !k.late) {
			return "it was not closed"
		}
	case syscall.ENOTCONN:
		if k.op != aio.OpCloseWrite || !m.vanished && !m.ended {
			return "it is connected"
		}
	case syscall.ECONNRESET, syscall.EPIPE:
		if m.ending && k.op == aio.OpWrite && k.result.Error == syscall.EPIPE {
			return ""
		}
		if !m.vanished {
			return "the peer is still there"
		}
		if k.op == aio.OpRead && k.result.Error == syscall.EPIPE {
			return "" // an earlier write was refused
		}
	default:
		return "there is no reason for it"
	}
	return ""
}
