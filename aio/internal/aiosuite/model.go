package aiosuite

import (
	"bytes"
	"io"
	"slices"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

// finish lets every operation end, closes the Watcher and checks all.
func (p *player) finish() {
	p.closeDoor()
	p.turn(func() bool { return p.pendingAccepts() == 0 && (p.door.called == nil || p.times(p.door.called) > 0) })
	p.welcome()
	if p.door.out != nil {
		_ = p.door.out.Close()
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
