package httpd

import (
	"bytes"
	"iter"
	"net"
	"os"
	"time"
)

const (
	tick  = 100 * time.Millisecond // the most that a parked connection's timeout may be late
	ticks = 4096
)

// list has the connections in the order in which they were parked.
type list struct{ head, tail *conn }

func (l *list) push(c *conn) {
	c.before, c.behind = l.tail, nil
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.behind = c
	}
	l.tail = c
}

func (l *list) remove(c *conn) {
	if c.before == nil {
		l.head = c.behind
	} else {
		c.before.behind = c.behind
	}
	if c.behind == nil {
		l.tail = c.before
	} else {
		c.behind.before = c.before
	}
	c.before, c.behind = nil, nil
}

// all yields the connections, which the caller may remove.
func (l *list) all() iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		for c := l.head; c != nil; {
			behind := c.behind
			if !yield(c) {
				return
			}
			c = behind
		}
	}
}

// wheel has the parked connections by their deadlines (a hashed timing wheel). Each list has those
// of one tick of every turn. Parking takes constant time, and the expired ones are in a few lists.
type wheel struct {
	lists [ticks]list
	never list
	n     int
	swept time.Duration // ticks before this one are over
}

func (w *wheel) list(c *conn) *list {
	if c.until == 0 {
		return &w.never
	}
	return &w.lists[c.until/tick%ticks]
}

func (w *wheel) all() iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		for i := range w.lists {
			for c := range w.lists[i].all() {
				if !yield(c) {
					return
				}
			}
		}
		w.never.all()(yield)
	}
}

func (w *wheel) over(now time.Duration) iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		from := max(w.swept, now/tick-ticks)
		w.swept = now / tick
		for ; from < now/tick; from++ {
			for c := range w.lists[from%ticks].all() {
				if c.until <= now && !yield(c) {
					return
				}
			}
		}
	}
}

// next returns when to look again, or 0 without a deadline.
func (w *wheel) next() time.Duration {
	for i := w.swept; i < w.swept+ticks; i++ {
		if w.lists[i%ticks].head != nil {
			return (i + 1) * tick
		}
	}
	return 0
}

// park keeps a silent connection. The caller holds mu, here and below.
func (s *server) park(c *conn) {
	if c.until > 0 && c.until/tick < s.parked.swept {
		s.expired(c)
		return
	}
	c.parked = true
	c.dropTraffic()
	if c.served && !s.standIns.asked {
		s.standIns.asked = true
		s.work.needed.Signal()
	}
	s.parked.n++
	s.parked.list(c).push(c)
	if c.until > 0 {
		s.expireAt((c.until/tick + 1) * tick)
	}
}

func (s *server) unpark(c *conn) {
	c.parked = false
	s.parked.n--
	s.parked.list(c).remove(c)
}

func (s *server) expireAt(t time.Duration) {
	if s.expiry.timer != nil {
		if t >= s.expiry.at {
			return
		}
		s.expiry.timer.Stop()
	}
	s.expiry.at = t
	s.expiry.timer = time.AfterFunc(t-time.Since(s.start), s.expire)
}

func (s *server) expire() {
	s.mu.Lock()
	defer s.unlock()
	s.expiry.timer = nil
	for c := range s.parked.over(time.Since(s.start)) {
		s.expired(c)
	}
	if next := s.parked.next(); next > 0 {
		s.expireAt(next)
	}
}

func (s *server) expired(c *conn) {
	if c.served && !c.held {
		s.counts.IdleTimeouts++
		c.end()
		return
	}
	s.counts.HeaderTimeouts++
	c.fail(&net.OpError{
		Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(),
		Err: os.ErrDeadlineExceeded,
	})
}

// hold keeps a connection that has sent part of a header parked, or returns false if a worker may
// read it.
func (s *server) hold(c *conn) bool {
	free := s.work.heading+len(s.work.ready) < headers
	if s.config != nil || c.err != nil || !c.short() && (free || hasWholeHeader(c.in)) {
		return false
	}
	if c.piece != nil {
		b := append(make([]byte, 0, len(c.in)), c.in...)
		c.drop()
		c.own(b)
	}
	if c.served && !c.held && len(c.in) >= peeked { // net/http does not count it as idle any more
		s.unpark(c)
		c.held, c.until = true, 0
		if d := s.hooks.headerTimeout(); d > 0 {
			c.until = s.sinceStart(time.Now().Add(d))
		}
		s.park(c)
	}
	return true
}

// hasWholeHeader reports whether a worker need not wait for the rest of b.
func hasWholeHeader(b []byte) bool {
	return len(b) >= readSize || bytes.Contains(b, []byte("\n\r\n")) || bytes.Contains(b, []byte("\n\n"))
}

// endIdle ends the connections between requests, as net/http closes idle ones.
func (s *server) endIdle() {
	for c := range s.parked.all() {
		if c.served || s.accepting.closed {
			c.end()
		}
	}
	var fresh []*conn
	for _, c := range s.work.ready {
		if c.served || s.accepting.closed {
			c.end()
		} else {
			fresh = append(fresh, c)
		}
	}
	s.work.ready = fresh
	clear(s.work.few[:])
	if s.standIns.guard != nil {
		s.standIns.guard.wake()
	}
	for _, w := range s.work.idle {
		w.wake()
	}
}
