package aio

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

const (
	// Submissions that intake takes while it holds subs.mu.
	intakeLock = 64

	// How long WaitIO keeps its P under load, and transfers between looks at the clock.
	yieldAfter = time.Millisecond
	yieldCount = 32

	// Operations that are kept for reuse.
	maxFree = 8192
)

// WaitIO drives the watcher until operations are over, and returns each once. The slice, and swap
// buffers in it, are valid until the next call. A second call at the same time returns ErrWaiting.
//
// After Close it returns the pending operations with ErrWatcherClosed, and then ErrWatcherClosed
// itself. Another error means that the operating system refused to wait.
func (w *Watcher) WaitIO() ([]Result, error) {
	if !w.waiting.TryLock() {
		return nil, ErrWaiting
	}
	defer w.waiting.Unlock()
	w.loop.moved += len(w.loop.results)
	w.yield()
	clear(w.loop.results)
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
		default: // some operations moved and are not over
			w.mu.Unlock()
			w.yield()
			w.mu.Lock()
		}
		if err != nil && !w.ending.closed {
			return nil, err
		}
	}
}

// turn retries what lacked memory, takes in submissions, begins transfers, asks the kernel, and ends
// what is late, each within its budget. idle says that the backend has nothing to submit.
func (w *Watcher) turn() (idle bool, err error) {
	if !w.swap.held { // Conn.Close may have ended reads
		w.swap.used = 0
		w.backend.Recycle()
	}
	w.loop.moved += w.retry()
	w.unstall()
	w.intake()
	w.loop.moved += w.serve()
	// Ask the kernel at least in every second turn, so that a few busy connections do not keep the
	// others waiting.
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

func (w *Watcher) land(polled []*proactor.Op) {
	for _, op := range polled {
		d := op.Desc // over may make an accept the connection's operation
		if w.over(op) {
			w.finish(op)
		}
		w.list(d, &w.fair.again)
	}
	clear(polled)
	w.polled = polled
}

// wait waits until there is something to do. It releases mu, which the caller holds.
func (w *Watcher) wait() error {
	if len(w.accepts.stalled) > 0 && !w.accepts.warned {
		w.warnStalled()
		return nil // mu was free, and nothing woke a wait
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
	lacking := w.memory.retried.len()+w.memory.starved.len() > 0 || w.memory.refused
	if lacking && (timeout < 0 || timeout > starvedRetry) {
		timeout = starvedRetry
	}
	if rest := max(w.accepts.until-w.now(), 0); len(w.accepts.stalled) > 0 && (timeout < 0 || timeout > rest) {
		timeout = rest
	}
	w.stats.Waits++
	w.loop.asleep = w.now()
	w.mu.Unlock()
	err := w.backend.Wait(timeout)
	awake := w.now()
	w.subs.mu.Lock()
	w.subs.asleep, w.subs.awake = false, awake
	submitted := w.subs.descs.len() > 0
	w.subs.mu.Unlock()
	if submitted { // Others may be about to submit too. Let them, and begin all of it together
		w.loop.passing.pass()
	}
	w.mu.Lock()
	w.stats.Waited += awake - w.loop.asleep
	w.loop.asleep, w.loop.moved = 0, 0
	return err
}

// yield lets other goroutines run after yieldAfter. Under load nothing else does.
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

var opOf = [...]Op{
	proactor.Send: OpWrite, proactor.Sendv: OpWrite, proactor.Posted: OpPost, proactor.ShutWrite: OpCloseWrite,
	proactor.Closing: OpClose, proactor.Accept: OpAccept, proactor.Connect: OpDial,
}

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
		if op.Mode == proactor.Rejected { // it was not counted
			written = 0
			w.stats.Refused++
		}
		bytes += written
		if op.Kind == proactor.Sendv {
			w.keep(op.Tag.(*proactor.Vec))
		}
		if op.Kind == proactor.ShutWrite && op.Mode != proactor.Rejected {
			w.endCloseWrite(op.Desc)
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
		spare.Append(&w.subs.spare) // the most recently used first
		w.subs.spare = spare
		w.subs.spares += n
	}
	w.subs.mu.Unlock()
	w.checkDrained()
	return w.loop.results
}

const passFor = time.Millisecond

// passing lets the runnable goroutines go first, once. It belongs to the goroutine in WaitIO.
//
// runtime.Gosched alone puts the caller into the global queue. A P looks there when its own queue
// is empty, or at each 61st goroutine, so goroutines that wake each other all go first
// (findRunnable in runtime/proc.go). But a P looks at timers each time that it chooses a goroutine.
// So another goroutine goes to the global queue, and the caller waits for it or for a timer.
type passing struct {
	last  func()        // calls Gosched
	over  chan struct{} // last has run, and so has all that was runnable before it
	sent  bool          // last was started, and over has not received yet
	timer *time.Timer
}

func (p *passing) pass() {
	if p.timer == nil {
		over := make(chan struct{}, 1) // the timer may have ended the wait
		p.over, p.timer = over, time.NewTimer(passFor)
		p.last = func() {
			runtime.Gosched()
			over <- struct{}{}
		}
	} else {
		p.timer.Reset(passFor)
	}
	select {
	case <-p.over: // of the pass before, which ended by its timer
		p.sent = false
	default:
	}
	if !p.sent {
		p.sent = true
		go p.last()
	}
	select {
	case <-p.over:
		p.sent = false
		p.timer.Stop()
	case <-p.timer.C:
	}
}
