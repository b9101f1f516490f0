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
		if len(s.ready) > 0 && !w.closed && !w.spoilt {
			if now := time.Now(); now.Sub(s.sliced) >= sliceFor {
				s.direct = 0
				if s.batches && float64(s.given) > batchRate*now.Sub(s.sliced).Seconds() {
					s.direct = pieceSize
				}
				s.sliced, s.given = now, 0
				if len(s.ready) > 1 { // else nobody waits
					s.wake() // it goes on, or who is woken already
					s.mu.Unlock()
					newSlice()
					s.mu.Lock()
					continue
				}
			}
			s.given++
			c := s.ready[0]
			s.ready[0] = nil
			if s.ready = s.ready[1:]; len(s.ready) == 0 {
				s.ready = s.few[:0]
			}
			s.unrest(w)
			c.worker = w
			s.wake()
			return c, nil
		}
		if w.fresh || w.closed || w.surplus || w.spoilt || s.closed {
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
		if len(s.later)+len(s.hooked) > 0 {
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
