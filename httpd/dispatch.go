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
// worker sends its own, because it would wait for the loop. Workers also send if several loops have no
// time for it, which takes up to 8% more CPU time.
const batchRate = 5000

const (
	manyLoops = 4   // so many have no time if all cores are busy
	saturated = 0.9 // part of the time
)

func (l *loop) offer(c *conn) {
	l.work.ready = append(l.work.ready, c)
	l.wake()
}

// wake wakes one worker to serve what is ready. That one wakes the next. So a worker that ends a
// request now takes what is ready without a switch.
func (l *loop) wake() {
	if len(l.work.ready) == 0 || l.work.waking {
		return
	}
	l.work.waking = true
	n := len(l.work.idle)
	if n == 0 {
		l.ask()
		return
	}
	w := l.work.idle[n-1]
	l.work.idle = l.work.idle[:n-1]
	l.work.unused = min(l.work.unused, n-1)
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
func (l *loop) next(w *worker) (*conn, error) {
	for {
		if w.pool.woken {
			w.pool.woken, l.work.waking = false, false
		}
		if len(l.work.ready) > 0 && !w.closed && !w.pool.spoilt {
			if now := time.Now(); now.Sub(l.slice.began) >= sliceFor {
				l.bytes.direct = 0
				fast := float64(l.slice.given) > batchRate*now.Sub(l.slice.began).Seconds()
				if l.batches && fast && !l.server.spread.Load() && l.relief.busy < saturated {
					l.bytes.direct = pieceSize
				}
				l.slice.began, l.slice.given = now, 0
				if len(l.work.ready) > 1 {
					l.wake()
					l.mu.Unlock()
					newSlice()
					l.mu.Lock()
					continue
				}
			}
			l.slice.given++
			c := l.work.ready[0]
			l.work.ready[0] = nil
			if l.work.ready = l.work.ready[1:]; len(l.work.ready) == 0 {
				l.work.ready = l.work.few[:0]
			}
			l.removeIdle(w)
			c.worker = w
			l.wake()
			return c, nil
		}
		if w.fresh || w.closed || w.pool.surplus || w.pool.spoilt || l.server.closed.Load() {
			l.removeIdle(w)
			l.wake()
			return nil, io.EOF
		}
		if !w.pool.resting {
			w.pool.resting = true
			l.work.idle = append(l.work.idle, w)
			if l.work.decays == nil {
				l.work.unused = 0
				l.work.decays = time.AfterFunc(decay, l.decay)
			}
		}
		if len(l.callbacks.later)+len(l.callbacks.hooked) > 0 {
			// Wait would leave these functions to the next unlock
			l.unlock()
			l.mu.Lock()
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

func (l *loop) removeIdle(w *worker) {
	if w.pool.resting {
		w.pool.resting = false
		at := slices.Index(l.work.idle, w)
		l.work.idle = slices.Delete(l.work.idle, at, at+1)
	}
}

// decay ends half of the workers that were unused since its last call.
func (l *loop) decay() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.work.decays = nil
	spare := max(spareWorkers/l.server.bounds.Loops, 1)
	n := (min(l.work.unused, len(l.work.idle)-spare) + 1) / 2
	for i := range max(n, 0) {
		l.work.idle[i].pool.surplus = true
		l.work.idle[i].wake()
	}
	if l.work.unused = len(l.work.idle); l.work.unused > spare {
		l.work.decays = time.AfterFunc(decay, l.decay)
	}
}
