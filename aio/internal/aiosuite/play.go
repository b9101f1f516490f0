package aiosuite

import (
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
)

// Bounds of a program.
const (
	maxSteps  = 400
	maxConns  = 6
	maxQueue  = 12 // Options.MaxQueued
	playSwap  = 512
	playLimit = 40 * time.Millisecond // of a deadline
)

// Play carries out a program, which any bytes are: connections come and go, operations are
// submitted, cancelled and given other deadlines, peers read, write, end and vanish, WaitIO runs or
// does not; at the end all is delivered that can be, and the Watcher is closed. It checks what
// comes against a simple model: each operation returned once, in order, bytes as they were sent,
// errors that have a reason.
func Play(t *testing.T, sys System, program []byte) {
	sys.run(t, func(t *testing.T) {
		p := newPlayer(t, sys)
		p.program = program[:min(len(program), 4*maxSteps)]
		for len(p.program) > 0 && !t.Failed() {
			p.step()
			p.settle()
		}
		p.finish()
	})
}

// player carries out one program.
type player struct {
	*rig
	program []byte
	conns   []*model
	door    door
	number  int
	turns   chan struct{} // each lets the goroutine that waits into WaitIO once
	waited  chan struct{} // closed when that goroutine has ended
}

// model is what a connection should do.
type model struct {
	id      int
	conn    *aio.Conn
	earlier []*aio.Conn // that were detached
	peer    net.Conn
	closed  bool // by us
	closing bool // by us, when its writes are over
	ending  bool // a CloseWrite was submitted

	sent       []byte // by the peer
	ended      bool   // the peer has ended its side
	vanished   bool   // the peer is gone, or reset
	got        []byte // by the peer
	peerFailed bool   // the peer's reading has ended
	written    int    // where the next write's pattern begins
}

func newPlayer(t *testing.T, sys System) *player {
	p := &player{turns: make(chan struct{}, 1), waited: make(chan struct{})}
	p.rig = newRig(t, sys, aio.Options{SwapSize: playSwap, MaxQueued: maxQueue})
	go func() {
		defer close(p.waited)
		for range p.turns {
			if _, err := p.wait(); err != nil {
				p.over = true
				if err != aio.ErrWatcherClosed {
					p.t.Error("WaitIO:", err)
				}
				return
			}
		}
	}()
	return p
}

// settle lets all goroutines come to rest, so that a seed tells all: where that can be.
func (p *player) settle() {
	if p.sys.Bubble {
		synctest.Wait()
	}
}

// next takes a byte of the program.
func (p *player) next() int {
	if len(p.program) == 0 {
		return 0
	}
	b := p.program[0]
	p.program = p.program[1:]
	return int(b)
}

// size draws a size, mostly small ones.
func (p *player) size() int {
	n := p.next()
	switch {
	case n < 200:
		return 1 + n
	default:
		return 1 + (n-199)*300
	}
}

// pick takes a connection, or makes one.
func (p *player) pick() *model {
	n := p.next()
	if len(p.conns) == 0 || len(p.conns) < maxConns && n%8 == 0 {
		p.number++
		m := &model{id: p.number}
		m.conn, m.peer = p.pair()
		p.conns = append(p.conns, m)
		return m
	}
	return p.conns[n%len(p.conns)]
}

// deadline draws one: mostly none.
func (p *player) deadline() time.Time {
	switch n := p.next(); {
	case n < 160:
		return time.Time{}
	case n < 180:
		return time.Now().Add(-time.Millisecond)
	default:
		return time.Now().Add(time.Duration(n) * playLimit / 256)
	}
}

func (p *player) step() {
	p.welcome()
	op := p.next() % 21
	if op >= 19 {
		p.arrive()
		return
	}
	m := p.pick()
	switch op {
	case 0, 1:
		p.begin(m, ticket{conn: m.conn, buf: make([]byte, p.size()), deadline: p.deadline()})
	case 2:
		p.begin(m, ticket{conn: m.conn, buf: make([]byte, p.size()), deadline: p.deadline(), full: true})
	case 3, 4:
		p.begin(m, ticket{conn: m.conn, deadline: p.deadline()})
	case 6:
		p.direct(m, p.size())
	case 5, 7:
		n := p.size()
		k := ticket{op: aio.OpWrite, conn: m.conn, buf: pattern(m.id, m.written, n), deadline: p.deadline()}
		if op == 7 {
			k.vec = cut(k.buf, n%5, 1+n/8)
		}
		if p.begin(m, k) {
			m.written += n
		}
	case 8, 9:
		p.peerWrites(m, p.size())
	case 10:
		p.peerReads(m, p.size())
	case 11, 12, 13:
		select {
		case p.turns <- struct{}{}:
		default:
		}
	case 14:
		time.Sleep(time.Duration(p.next()) * playLimit / 1024)
	case 15:
		p.rare(m)
	case 16, 17:
		p.cancel(m)
	case 18:
		p.move(m)
	}
}

// direct writes what there is room for.
func (p *player) direct(m *model, n int) {
	sent, err := p.tryWrite(m.conn, pattern(m.id, m.written, n))
	m.written += sent
	switch closed := m.closed || m.closing; {
	case closed && (sent > 0 || err != nil && err != aio.ErrClosed):
		p.t.Errorf("connection %d was closed: TryWrite %d, %v; want ErrClosed", m.id, sent, err)
	case closed || err == nil:
	default:
		if reason := m.allows(&ticket{op: aio.OpWrite, conn: m.conn, result: aio.Result{Error: err}}); reason != "" {
			p.t.Errorf("connection %d, TryWrite: %d, %v: %s", m.id, sent, err, reason)
		}
	}
}

// ticket takes an operation of a connection: mostly one that was not returned yet.
func (p *player) ticket(m *model) *ticket {
	n := p.next()
	p.mu.Lock()
	defer p.mu.Unlock()
	var these []*ticket
	for _, k := range p.tickets {
		if k.conn == m.conn && (k.times == 0 || n%16 == 0) {
			these = append(these, k)
		}
	}
	if len(these) == 0 {
		return nil
	}
	return these[n%len(these)]
}

// cancel cancels an operation, which may be over.
func (p *player) cancel(m *model) {
	if k := p.ticket(m); k != nil {
		over := p.times(k) > 0
		if n := p.cancelled(k); n > 1 || n == 1 && (over || m.closed || k.op == aio.OpClose) {
			p.t.Errorf("connection %d, operation %d (%v, over: %t): Cancel found %d", m.id, k.number, k.op, over, n)
		}
	}
}

// move moves a deadline, or takes it away, of an operation which may be over.
func (p *player) move(m *model) {
	if k := p.ticket(m); k != nil {
		over := p.times(k) > 0
		if n := p.moved(k, p.deadline()); n > 1 || n == 1 && (over || m.closed) {
			p.t.Errorf("connection %d, operation %d (%v, over: %t): SetDeadline found %d", m.id, k.number, k.op, over,
				n)
		}
	}
}

// rare does what most steps should not.
func (p *player) rare(m *model) {
	switch p.next() % 14 {
	case 0, 1:
		if !m.ended {
			m.ended = true
			_ = closeWrite(m.peer)
		}
	case 2:
		m.vanished = true
		if !reset(m.peer) {
			_ = m.peer.Close()
		}
	case 3:
		m.vanished = true
		_ = m.peer.Close()
	case 4, 5:
		if err := m.conn.Close(); err != nil {
			p.t.Error("Close:", err)
		}
		m.closed = true
	case 6: // forget it: another takes its place
		if (m.closed || m.closing) && len(p.conns) > 1 && p.outstanding(m) == 0 {
			p.check(m)
			for i := range p.conns {
				if p.conns[i] == m {
					p.conns = append(p.conns[:i], p.conns[i+1:]...)
					break
				}
			}
		}
	case 7:
		_ = p.w.Stats()
		if _, err := p.submit(ticket{op: aio.OpPost}); err != nil {
			p.t.Error("Post:", err)
		}
	case 8, 9, 10:
		k := ticket{op: aio.OpCloseWrite, conn: m.conn, deadline: p.deadline()}
		if p.outstanding(m) < maxQueue && p.begin(m, k) { // else it may be refused
			m.ending = true
		}
	case 11:
		if p.begin(m, ticket{op: aio.OpClose, conn: m.conn, deadline: p.deadline()}) {
			m.closing = true
		}
	case 12, 13:
		p.detach(m)
	}
}

// detach has a connection leave the Watcher, and come back, or be closed.
func (p *player) detach(m *model) {
	before := p.outstanding(m)
	c, err := m.conn.Detach()
	switch {
	case m.closed || m.closing:
		if err != aio.ErrClosed {
			p.t.Errorf("Detach of connection %d, which was closed: %v, want ErrClosed", m.id, err)
		}
	case err == aio.ErrPending && before > 0, err == syscall.EMFILE && p.sys.Faulty:
	case err != nil:
		p.t.Errorf("Detach of connection %d: %v with %d operations outstanding before", m.id, err, before)
	case p.next()%8 == 0:
		m.closed = true
		_ = c.Close()
	default:
		m.earlier = append(m.earlier, m.conn)
		if m.conn, err = p.w.Attach(c); err != nil {
			p.t.Fatalf("connection %d was detached and does not come back: %v", m.id, err)
		}
	}
}

// begin submits an operation. It reports false when that is refused because of what was closed.
func (p *player) begin(m *model, k ticket) bool {
	before := p.outstanding(m) // others may be returned meanwhile
	k.late = m.closed || m.closing
	k.crowded = before >= maxQueue && k.op != aio.OpClose
	if _, err := p.submit(k); err != nil {
		p.t.Errorf("connection %d: %v with %d operations outstanding before", m.id, err, before)
	}
	return !k.late
}

// outstanding counts a connection's operations that were not returned.
func (p *player) outstanding(m *model) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.tickets {
		if k.conn == m.conn && k.times == 0 {
			n++
		}
	}
	return n
}

// peerWrites sends what there is room for.
func (p *player) peerWrites(m *model, n int) {
	if m.ended || m.vanished {
		return
	}
	_ = m.peer.SetWriteDeadline(time.Now().Add(time.Millisecond))
	sent, _ := m.peer.Write(pattern(m.id+100, len(m.sent), n))
	m.sent = append(m.sent, pattern(m.id+100, len(m.sent), sent)...)
}

// peerReads receives what is there.
func (p *player) peerReads(m *model, n int) {
	if m.vanished {
		return
	}
	_ = m.peer.SetReadDeadline(time.Now().Add(time.Millisecond))
	buf := make([]byte, n)
	n, err := io.ReadFull(m.peer, buf)
	m.got = append(m.got, buf[:n]...)
	switch ne, ok := err.(net.Error); {
	case err == nil, ok && ne.Timeout():
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		m.peerFailed = true
	case !m.closed && !m.closing && !m.ending:
		p.t.Errorf("connection %d: its peer found the end, and nobody has ended it", m.id)
	}
}

// Program draws a program of less than most bytes.
func Program(rng *rand.Rand, most int) []byte {
	program := make([]byte, rng.IntN(most))
	for i := range program {
		program[i] = byte(rng.Uint32())
	}
	return program
}
