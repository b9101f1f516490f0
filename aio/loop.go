package aio

import (
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

const (
	// intakeLock is how many submissions are taken in before others can submit.
	intakeLock = 64

	// yieldAfter is how long WaitIO keeps its P from other goroutines while there is always
	// something to return; yieldCount saves looking at the clock.
	yieldAfter = time.Millisecond
	yieldCount = 32

	// maxFree is how many operations are kept for reuse.
	maxFree = 8192
)

// WaitIO drives the watcher until operations are over, and returns them; each is returned once.
// Operations progress only while a goroutine is in WaitIO. The slice, and swap buffers in it, are
// valid until the next call, by whatever goroutine: while one is in WaitIO, a call by another
// returns ErrWaiting and does nothing.
//
// After Close it returns the operations that were pending with ErrWatcherClosed, and then
// ErrWatcherClosed itself. Another error is the operating system's refusal to be waited for.
func (w *Watcher) WaitIO() ([]Result, error) {
	if !w.waiting.TryLock() {
		return nil, ErrWaiting
	}
	defer w.waiting.Unlock()
	w.loop.moved += len(w.loop.results)
	w.yield()
	clear(w.loop.results) // they keep tags and buffers alive
	w.loop.results = w.loop.results[:0]

	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		var idle bool
		var err error
		if !w.ending.closed {
			idle, err = w.turn()
			w.leave()
		}
		if w.ended.Head != nil {
			return w.collect(), nil
		}
		if w.ending.closed {
			return nil, ErrWatcherClosed
		}
		switch {
		case err != nil:
		case idle:
			err = w.wait()
		default: // transfers of operations that are not over yet
			w.mu.Unlock()
			w.yield()
			w.mu.Lock()
		}
		if err != nil && !w.ending.closed {
			return nil, err
		}
	}
}

// turn begins what was submitted, continues what the kernel has finished, and ends what is late.
// It was idle when it has given the backend nothing that the next Poll would have to submit.
func (w *Watcher) turn() (idle bool, err error) {
	if !w.swap.held { // reads may have ended in Conn.Close
		w.swap.used = 0
		w.backend.Recycle()
	}
	w.loop.moved += w.retry() // before others can take the memory
	w.unstall()
	w.intake()
	w.loop.moved += w.serve()
	// What could be done at once is over; then the kernel is asked the next time, so that a few
	// busy connections do not keep the others waiting.
	if w.loop.skipped = w.ended.Head != nil && !w.loop.skipped; !w.loop.skipped {
		var polled []*proactor.Op
		polled, err = w.backend.Poll(w.polled[:0])
		if w.memory.refused = err == syscall.EAGAIN; w.memory.refused {
			err = nil
		}
		w.land(polled)
		w.loop.moved += len(polled)
		w.stats.Polls++
		idle = len(polled) == 0
	}
	return !w.expire() && idle && w.listed() == 0, err
}

// land continues what the backend has returned, and keeps the slice.
func (w *Watcher) land(polled []*proactor.Op) {
	for _, op := range polled {
		d := op.Desc // an accept becomes the connection's
		if w.over(op) {
			w.finish(op)
		}
		w.list(d, &w.fair.again)
	}
	clear(polled)
	w.polled = polled
}

// wait waits until there is something to do. The caller holds mu, which is released meanwhile.
func (w *Watcher) wait() error {
	if len(w.accepts.stalled) > 0 && !w.accepts.warned {
		w.warnStalled()
		return nil // what happened meanwhile has woken nobody
	}
	w.subs.mu.Lock()
	if w.subs.descs.len() > 0 || w.subs.refused.Head != nil {
		w.subs.mu.Unlock()
		return nil
	}
	w.subs.asleep = true
	w.subs.mu.Unlock()

	timeout := time.Duration(-1)
	if at, any := w.deadlines.first(); any {
		timeout = max(at-w.now(), 0)
	}
	if (w.memory.retried.len()+w.memory.starved.len() > 0 || w.memory.refused) && (timeout < 0 || timeout > starvedRetry) {
		timeout = starvedRetry
	}
	if rest := max(w.accepts.until-w.now(), 0); len(w.accepts.stalled) > 0 && (timeout < 0 || timeout > rest) {
		timeout = rest
	}
	w.stats.Waits++
	w.mu.Unlock()
	err := w.backend.Wait(timeout)
	w.subs.mu.Lock()
	w.subs.asleep = false
	submitted := w.subs.descs.len() > 0
	w.subs.mu.Unlock()
	if submitted { // by a goroutine that may be one of many: what is runnable submits first, and all goes together
		w.loop.passing.pass()
	}
	w.mu.Lock()
	w.loop.moved = 0
	return err
}

// yield lets other goroutines run, now and then. A wait does, but under load there is none.
func (w *Watcher) yield() {
	if w.loop.moved < yieldCount {
		return
	}
	w.loop.moved = 0
	if now := w.now(); now-w.loop.yielded > yieldAfter {
		w.backend.Yield()
		w.loop.yielded = w.now()
	}
}

// opOf says what users know a kind as: a read, where it does not stand here.
var opOf = [...]Op{
	proactor.Send: OpWrite, proactor.Sendv: OpWrite, proactor.Posted: OpPost, proactor.ShutWrite: OpCloseWrite,
	proactor.Closing: OpClose, proactor.Accept: OpAccept, proactor.Connect: OpDial,
}

// collect returns the operations that have ended as results, and keeps them for reuse.
func (w *Watcher) collect() []Result {
	var spare proactor.Queue
	n, bytes := 0, int64(0)
	for op := w.ended.Pop(); op != nil; op = w.ended.Pop() {
		r := Result{
			Op: opOf[op.Kind], Tag: tagOf(op), Buffer: op.Buf, Swap: op.Swap, Size: op.Size, Error: op.Err,
			More: op.Mode == proactor.More,
		}
		if op.Kind != proactor.Connect || op.Err == nil {
			r.Conn, _ = op.Desc.Owner.(*Conn)
		}
		written := op.Bytes()
		if op.Mode == proactor.Rejected { // nobody has counted it
			written = 0
			w.stats.Refused++
		}
		bytes += written
		if op.Kind == proactor.Sendv {
			w.recycle(op)
		}
		w.loop.results = append(w.loop.results, r)
		atomic.AddInt32(&op.Desc.Queued, -1)
		op.Desc.Bytes.Add(-written)
		*op = proactor.Op{}
		spare.Push(op)
		n++
	}
	w.stats.Results += uint64(n)
	w.swap.held = false
	w.subs.mu.Lock()
	w.subs.bytes -= bytes
	if w.subs.spares < maxFree {
		spare.Append(&w.subs.spare) // the hottest first
		w.subs.spare = spare
		w.subs.spares += n
	}
	w.subs.mu.Unlock()
	w.checkDrained()
	return w.loop.results
}
