package httpd

import (
	"io"
	"runtime"
	"slices"
	"time"
)

// headers is how many workers may wait for the rest of a request's header. While there are so many,
// or connections that wait for a worker, another one waits for the rest of its header without one.
const headers = 64

// sliceFor is for how long workers serve what is ready in one of the scheduler's slices, which it
// ends after 10 ms (runtime/proc.go, forcePreemptNS).
const sliceFor = 5 * time.Millisecond

// batchRate is from how many requests a second on the loop sends short answers together. Below that
// it has few to send at a time, and each waits for the loop, so for the handlers that compute
// meanwhile: a worker sends its own.
const batchRate = 5000

// offer has a worker serve a connection that has bytes.
func (s *server) offer(c *conn) {
	s.work.ready = append(s.work.ready, c)
	s.wake()
}

// wake sees to it that a worker looks for what is ready. One at a time is woken, which wakes the next one before
// it goes on: so a worker that ends a request meanwhile takes what is ready, without a switch.
func (s *server) wake() {
	if len(s.work.ready) == 0 || s.work.waking {
		return
	}
	s.work.waking = true
	n := len(s.work.idle)
	if n == 0 {
		s.work.asked = true
		s.work.needed.Signal()
		return
	}
	w := s.work.idle[n-1]
	s.work.idle = s.work.idle[:n-1]
	s.work.unused = min(s.work.unused, n-1)
	w.pool.resting, w.pool.woken = false, true
	w.wake()
}

// next gives w a connection that has bytes, and waits for one. It returns io.EOF when w has to end: a new
// one that finds nothing does, as net/http's time for its first request runs already.
func (s *server) next(w *worker) (*conn, error) {
	for {
		if w.pool.woken {
			w.pool.woken, s.work.waking = false, false
		}
		if len(s.work.ready) > 0 && !w.closed && !w.pool.spoilt {
			if now := time.Now(); now.Sub(s.slice.began) >= sliceFor {
				s.bytes.direct = 0
				if s.batches && float64(s.slice.given) > batchRate*now.Sub(s.slice.began).Seconds() {
					s.bytes.direct = pieceSize
				}
				s.slice.began, s.slice.given = now, 0
				if len(s.work.ready) > 1 { // else nobody waits
					s.wake() // it goes on, or who is woken already
					s.mu.Unlock()
					newSlice()
					s.mu.Lock()
					continue
				}
			}
			s.slice.given++
			c := s.work.ready[0]
			s.work.ready[0] = nil
			if s.work.ready = s.work.ready[1:]; len(s.work.ready) == 0 {
				s.work.ready = s.work.few[:0]
			}
			s.unrest(w)
			c.worker = w
			s.wake()
			return c, nil
		}
		if w.fresh || w.closed || w.pool.surplus || w.pool.spoilt || s.accepting.closed {
			s.unrest(w)
			s.wake()
			return nil, io.EOF
		}
		if !w.pool.resting {
			w.pool.resting = true
			s.work.idle = append(s.work.idle, w)
			if s.work.decays == nil {
				s.work.unused = 0
				s.work.decays = time.AfterFunc(decay, s.decay)
			}
		}
		if len(s.callbacks.later)+len(s.callbacks.hooked) > 0 {
			// by release: Wait lets go of mu, and would leave them to whoever unlocks it next
			s.unlock()
			s.mu.Lock()
			continue
		}
		w.moves.Wait()
	}
}

// newSlice gives way between two requests. Workers that wake one another run in one slice
// (runtime/proc.go, ready and runqget), at whose end the scheduler takes the P from whoever is in
// the midst of a request, or of a long send, with aio's lock: and has it wait in the queue of all
// Ps until this P's own is empty, so for all that is ready. The goroutine without a task takes the
// place of the one that would run in the same slice, which so begins the next one.
func newSlice() {
	go func() {}()
	runtime.Gosched()
}

// unrest takes w off the idle ones.
func (s *server) unrest(w *worker) {
	if w.pool.resting {
		w.pool.resting = false
		at := slices.Index(s.work.idle, w)
		s.work.idle = slices.Delete(s.work.idle, at, at+1)
	}
}

// decay ends half of the workers that nobody needed since the last time.
func (s *server) decay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work.decays = nil
	n := (min(s.work.unused, len(s.work.idle)-spare) + 1) / 2
	for i := range max(n, 0) {
		s.work.idle[i].pool.surplus = true // the first has waited for longest
		s.work.idle[i].wake()
	}
	if s.work.unused = len(s.work.idle); s.work.unused > spare {
		s.work.decays = time.AfterFunc(decay, s.decay)
	}
}
