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

// play carries out a program. Any bytes are one. Connections come and go, operations are submitted,
// cancelled and given other deadlines, peers read, write, end and vanish, and WaitIO runs or does
// not. It checks each result against a simple model: returned once, in order, bytes as they were
// sent, and an error that has a reason.
func play(t *testing.T, sys System, program []byte) {
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

type player struct {
	*rig
	program   []byte
	conns     []*model
	accepting accepting
	number    int
	turns     chan struct{} // each starts one WaitIO
	waited    chan struct{} // closed when the goroutine in WaitIO has ended
}

// model is what is known of a connection.
type model struct {
	id      int
	conn    *aio.Conn
	earlier []*aio.Conn // detached ones
	peer    net.Conn
	closed  bool // by us
	closing bool // by us, after its writes
	ending  bool // a CloseWrite was submitted

	sent       []byte // by the peer
	ended      bool   // by the peer, which still reads
	vanished   bool   // the peer has closed or reset it
	got        []byte // by the peer
	peerFailed bool   // to read
	written    int    // by us
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

// settle waits for all goroutines in a bubble, so that a seed always has the same course.
func (p *player) settle() {
	if p.sys.Bubble {
		synctest.Wait()
	}
}

func (p *player) next() int {
	if len(p.program) == 0 {
		return 0
	}
	b := p.program[0]
	p.program = p.program[1:]
	return int(b)
}

func (p *player) size() int {
	n := p.next()
	switch {
	case n < 200:
		return 1 + n
	default:
		return 1 + (n-199)*300
	}
}

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
	p.admit()
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

// direct is a TryWrite.
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

// ticket picks an operation of a connection, mostly a pending one.
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

func (p *player) cancel(m *model) {
	if k := p.ticket(m); k != nil {
		over := p.times(k) > 0
		if n := p.cancelled(k); n > 1 || n == 1 && (over || m.closed || k.op == aio.OpClose) {
			p.t.Errorf("connection %d, operation %d (%v, over: %t): Cancel found %d", m.id, k.number, k.op, over, n)
		}
	}
}

func (p *player) move(m *model) {
	if k := p.ticket(m); k != nil {
		over := p.times(k) > 0
		if n := p.moved(k, p.deadline()); n > 1 || n == 1 && (over || m.closed) {
			p.t.Errorf("connection %d, operation %d (%v, over: %t): SetDeadline found %d", m.id, k.number, k.op, over,
				n)
		}
	}
}

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
	case 6: // another one takes its place
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
		if p.outstanding(m) < maxQueue && p.begin(m, k) {
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

// begin submits an operation. It returns false if the Watcher refuses it because of a Close.
func (p *player) begin(m *model, k ticket) bool {
	before := p.outstanding(m)
	k.late = m.closed || m.closing
	k.crowded = before >= maxQueue && k.op != aio.OpClose
	if _, err := p.submit(k); err != nil {
		p.t.Errorf("connection %d: %v with %d operations outstanding before", m.id, err, before)
	}
	return !k.late
}

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

func (p *player) peerWrites(m *model, n int) {
	if m.ended || m.vanished {
		return
	}
	_ = m.peer.SetWriteDeadline(time.Now().Add(time.Millisecond))
	sent, _ := m.peer.Write(pattern(m.id+100, len(m.sent), n))
	m.sent = append(m.sent, pattern(m.id+100, len(m.sent), sent)...)
}

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

// draw draws a program of less than most bytes.
func draw(rng *rand.Rand, most int) []byte {
	program := make([]byte, rng.IntN(most))
	for i := range program {
		program[i] = byte(rng.Uint32())
	}
	return program
}
