package httpd

import (
	"io"
	"net"
	"os"
	"slices"
	"time"
)

// list is of connections, the one that was parked first in front. Its deadlines are in that order, but for
// those of connections that have not sent a request yet.
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

// park keeps a connection that has nothing to say. mu is held, here and below.
func (s *server) park(c *conn) {
	c.parked = true
	if c.served && !s.guarded {
		s.guarded = true
		s.needed.Signal()
	}
	s.parked.push(c)
	if c.until > 0 {
		s.expireAt(c.until)
	}
}

func (s *server) unpark(c *conn) {
	c.parked = false
	s.parked.remove(c)
}

// expireAt has expire called at t, or before.
func (s *server) expireAt(t time.Duration) {
	if s.expires != nil {
		if t >= s.expiry {
			return
		}
		s.expires.Stop()
	}
	s.expiry = t
	s.expires = time.AfterFunc(t-time.Since(s.start), s.expire)
}

// expire ends the parked connections whose time is over. It looks at all of them, at most each tenth of a
// second but for new ones.
func (s *server) expire() {
	s.mu.Lock()
	defer s.unlock()
	s.expires = nil
	now := time.Since(s.start)
	var next time.Duration
	for c := s.parked.head; c != nil; {
		behind := c.behind
		switch {
		case c.until == 0:
		case c.until <= now:
			c.silent(&net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.ErrDeadlineExceeded})
			c.end()
		case next == 0 || c.until < next:
			next = c.until
		}
		c = behind
	}
	if next > 0 {
		s.expireAt(max(next, now+100*time.Millisecond))
	}
}

// endIdle ends the connections that are between requests, as net/http closes those that are idle.
func (s *server) endIdle() {
	for c := s.parked.head; c != nil; {
		behind := c.behind
		if c.served || s.closed { // others are new, not idle
			c.end()
		}
		c = behind
	}
	var fresh []*conn
	for _, c := range s.ready {
		if c.served || s.closed {
			c.end()
		} else {
			fresh = append(fresh, c)
		}
	}
	s.ready = fresh
	if s.guard != nil {
		s.guard.wake()
	}
	for _, w := range s.idle {
		w.wake()
	}
}

// offer has a worker serve a connection that has bytes.
func (s *server) offer(c *conn) {
	s.ready = append(s.ready, c)
	s.wake()
}

// wake sees to it that a worker looks for what is ready. One at a time is woken, which wakes the next one before
// it goes on: so a worker that ends a request meanwhile takes what is ready, without a switch.
func (s *server) wake() {
	if len(s.ready) == 0 || s.waking {
		return
	}
	s.waking = true
	n := len(s.idle)
	if n == 0 {
		s.asked = true
		s.needed.Signal()
		return
	}
	w := s.idle[n-1]
	s.idle = s.idle[:n-1]
	s.unused = min(s.unused, n-1)
	w.resting, w.woken = false, true
	w.wake()
}

// next gives w a connection that has bytes, and waits for one. It returns io.EOF when w has to end: a new
// one that finds nothing does, as net/http's time for its first request runs already.
func (s *server) next(w *worker) (*conn, error) {
	for {
		if w.woken {
			w.woken, s.waking = false, false
		}
		if len(s.ready) > 0 && !w.closed {
			c := s.ready[0]
			s.ready[0] = nil
			if s.ready = s.ready[1:]; len(s.ready) == 0 {
				s.ready = nil
			}
			s.unrest(w)
			c.worker = w
			s.wake()
			return c, nil
		}
		if w.fresh || w.closed || w.surplus || s.closed {
			s.unrest(w)
			s.wake()
			return nil, io.EOF
		}
		if !w.resting {
			w.resting = true
			s.idle = append(s.idle, w)
			if s.decays == nil {
				s.unused = 0
				s.decays = time.AfterFunc(decay, s.decay)
			}
		}
		w.moves.Wait()
	}
}

// unrest takes w off the idle ones.
func (s *server) unrest(w *worker) {
	if w.resting {
		w.resting = false
		at := slices.Index(s.idle, w)
		s.idle = slices.Delete(s.idle, at, at+1)
	}
}

// decay ends half of the workers that nobody needed since the last time.
func (s *server) decay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decays = nil
	n := (min(s.unused, len(s.idle)-spare) + 1) / 2
	for i := range max(n, 0) {
		s.idle[i].surplus = true // the first has waited for longest
		s.idle[i].wake()
	}
	if s.unused = len(s.idle); s.unused > spare {
		s.decays = time.AfterFunc(decay, s.decay)
	}
}
