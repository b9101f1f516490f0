package httpd

import (
	"io"
	"runtime"
	"slices"
	"time"
)

// headers is how many workers may wait for the rest of a header. Beyond it, and while connections
// wait for a worker, a connection waits for its header without one.
const headers = 64

// sliceFor is how long workers serve in one scheduler slice. A slice ends after 10 ms
// (forcePreemptNS in runtime/proc.go).
const sliceFor = 5 * time.Millisecond

// batchRate is the requests per second from which the loop sends short answers together. Below it a
// worker sends its own, because it would wait for the loop.
const batchRate = 5000

func (s *server) offer(c *conn) {
	s.work.ready = append(s.work.ready, c)
	s.wake()
}

// wake wakes one worker to serve what is ready. That one wakes the next. So a worker that ends a
// request now takes what is ready without a switch.
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

// next waits for a connection that has bytes. It returns io.EOF if w has to end. A new worker does
// not wait, because net/http's time for its first request runs.
//
//  1. With a ready connection, unless w is closed or spoilt: end a scheduler slice that is old
//     (sliceFor), take the connection, and wake the next worker.
//  2. Otherwise end w if it is new, closed, surplus or spoilt, or if the listener is closed.
//  3. Otherwise let w rest among the idle workers until wake or decay wakes it.
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
				if len(s.work.ready) > 1 {
					s.wake()
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
			s.removeIdle(w)
			c.worker = w
			s.wake()
			return c, nil
		}
		if w.fresh || w.closed || w.pool.surplus || w.pool.spoilt || s.accepting.closed {
			s.removeIdle(w)
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
			// Wait would leave these functions to the next unlock
			s.unlock()
			s.mu.Lock()
			continue
		}
		w.moves.Wait()
	}
}

// newSlice yields between two requests. Workers that wake one another share a scheduler slice
// (ready and runqget in runtime/proc.go). At its end the scheduler preempts a goroutine anywhere,
// even with aio's lock, and puts it behind all that is ready. An empty goroutine begins another
// slice.
func newSlice() {
	go func() {}()
	runtime.Gosched()
}

func (s *server) removeIdle(w *worker) {
	if w.pool.resting {
		w.pool.resting = false
		at := slices.Index(s.work.idle, w)
		s.work.idle = slices.Delete(s.work.idle, at, at+1)
	}
}

// decay ends half of the workers that were unused since its last call.
func (s *server) decay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work.decays = nil
	n := (min(s.work.unused, len(s.work.idle)-spare) + 1) / 2
	for i := range max(n, 0) {
		s.work.idle[i].pool.surplus = true
		s.work.idle[i].wake()
	}
	if s.work.unused = len(s.work.idle); s.work.unused > spare {
		s.work.decays = time.AfterFunc(decay, s.decay)
	}
}
