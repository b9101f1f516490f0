package httpd

import (
	"bytes"
	"os"
	"slices"
	"time"
)

// release takes the connection from its worker: it ends, waits for its turn, or is parked.
func (w *worker) release() {
	l, c := w.loop, w.conn
	c.worker = nil
	w.conn, w.deadlines.in, w.deadlines.out = nil, time.Time{}, time.Time{} // crypto/tls may have set one
	switch {
	case c.ended:
		if c.dropped {
			// net/http does not know c any more
			c.reportEnd()
		}
	case l.server.closed.Load() || c.outErr != nil:
		c.end()
	case len(c.in) > 0 && !c.short(): // others waited longer, or it arrived while mu was free
		l.offer(c)
	case c.err != nil:
		c.end()
	default:
		l.park(c)
		if c.parked && len(c.in) > 0 {
			l.hold(c)
		}
	}
}

// park keeps a silent connection. The caller holds mu, here and below.
func (l *loop) park(c *conn) {
	if c.until > 0 && c.until/tick < l.parked.swept {
		l.expired(c)
		return
	}
	c.parked = true
	c.dropTraffic()
	if c.served && !l.server.guarded.Load() {
		l.server.askGuard()
	}
	l.parked.n++
	l.parked.list(c).push(c)
	if c.until > 0 {
		l.expireAt((c.until/tick + 1) * tick)
	}
}

func (l *loop) unpark(c *conn) {
	c.parked = false
	l.parked.n--
	l.parked.list(c).remove(c)
}

func (l *loop) expireAt(t time.Duration) {
	if l.expiry.timer != nil {
		if t >= l.expiry.at {
			return
		}
		l.expiry.timer.Stop()
	}
	l.expiry.at = t
	l.expiry.timer = time.AfterFunc(t-time.Since(l.server.start), l.expire)
}

func (l *loop) expire() {
	l.mu.Lock()
	defer l.unlock()
	l.expiry.timer = nil
	for c := range l.parked.over(time.Since(l.server.start)) {
		l.expired(c)
	}
	if next := l.parked.next(); next > 0 {
		l.expireAt(next)
	}
}

func (l *loop) expired(c *conn) {
	if c.served && !c.held {
		l.counts.IdleTimeouts++
		c.end()
		return
	}
	l.counts.HeaderTimeouts++
	c.fail(c.opError("read", os.ErrDeadlineExceeded))
}

// hold keeps a connection that has sent part of a header parked, or returns false if a worker may
// read it.
func (l *loop) hold(c *conn) bool {
	free := l.work.heading+len(l.work.ready) < max(headers/l.server.bounds.Loops, 1)
	if l.server.config != nil || c.err != nil || !c.short() && (free || hasWholeHeader(c.in)) {
		return false
	}
	if c.piece != nil {
		b := append(make([]byte, 0, len(c.in)), c.in...)
		c.drop()
		c.own(b)
	}
	if c.served && !c.held && len(c.in) >= peeked { // net/http does not count it as idle any more
		l.unpark(c)
		c.held, c.until = true, l.server.endOf(l.server.hooks.headerTimeout())
		l.park(c)
	}
	return true
}

// hasWholeHeader reports whether a worker need not wait for the rest of b.
func hasWholeHeader(b []byte) bool {
	return len(b) >= readSize || bytes.Contains(b, []byte("\n\r\n")) || bytes.Contains(b, []byte("\n\n"))
}

// endIdle is server.endIdle for a loop.
func (l *loop) endIdle() {
	closed := l.server.closed.Load()
	for c := range l.parked.all() {
		if c.served || closed {
			c.end()
		}
	}
	l.work.ready = slices.DeleteFunc(l.work.ready, func(c *conn) bool {
		ends := c.served || closed
		if ends {
			c.end()
		}
		return ends
	})
	for _, w := range l.work.idle {
		w.wake()
	}
}
