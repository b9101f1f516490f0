package aio

import (
	"context"

	"evenkeel.dev/aio/internal/proactor"
)

// Close closes all connections and ends a WaitIO. What is pending is returned by WaitIO with
// ErrWatcherClosed. It always returns nil, and may be called again.
//
// On io_uring no operation waits in the kernel. Should a kernel keep one all the same, WaitIO has failed
// with an error that says so, and the operation is returned with a nil Buffer and Size 0: the kernel may
// still use the one submitted, so it is never freed, nor to be used again. Stats.Leaked counts these;
// Logger gets a Warn.
func (w *Watcher) Close() error {
	if leaked := w.end(); leaked > 0 {
		w.options.Logger.Warn("aio: the kernel did not return memory when the watcher was closed: it is never "+
			"freed. Look for what WaitIO said of a ring that failed",
			"operations", leaked)
	}
	return nil
}

// end closes the watcher, if it is open, and returns how many operations were leaked.
func (w *Watcher) end() (leaked uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending.closed {
		return 0
	}
	w.refuse()
	for len(w.table.descs) > 0 {
		w.release(w.table.descs[len(w.table.descs)-1], proactor.WatcherClosed)
	}
	w.intakeAll() // finds its connections gone
	for _, op := range w.backend.Close(nil) {
		if op.Leaked {
			leaked++
		}
		if w.over(op) {
			w.finish(op)
		}
		w.list(op.Desc, &w.fair.again)
	}
	for w.listed() > 0 {
		w.serve() // ends what is behind
	}
	w.ending.closed = true
	w.cleanup.Stop()
	w.table.leaving = nil
	w.swap.buf = nil // connections that are still referenced keep the watcher
	w.stats.Leaked = leaked
	w.checkDrained()
	return leaked
}

// refusing reports whether submissions have ended.
func (w *Watcher) refusing() bool {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	return w.subs.closed
}

// refuse ends submissions.
func (w *Watcher) refuse() {
	w.subs.mu.Lock()
	w.subs.closed = true
	w.subs.mu.Unlock()
}

// Shutdown refuses new operations, closes the listeners, ends the pending reads, accepts and dials
// with ErrWatcherClosed, lets the pending writes finish, and closes the Watcher when WaitIO has
// returned all of them: a goroutine has to call it meanwhile. When ctx ends first the Watcher is
// closed as by Close, and ctx's error is returned. It may be called again, and then waits for the
// same.
func (w *Watcher) Shutdown(ctx context.Context) error {
	drained := w.drain()
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		select {
		case <-drained: // too
		default:
			err = ctx.Err()
		}
	}
	_ = w.Close()
	return err
}

// drain begins a shutdown, if none has begun. The channel is closed when nothing is pending.
func (w *Watcher) drain() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending.drained != nil {
		return w.ending.drained
	}
	w.ending.drained = make(chan struct{})
	w.refuse()
	w.intakeAll()
	for i := len(w.table.descs) - 1; i >= 0; i-- { // from behind, as the last one takes the place of one that goes
		if _, ok := w.table.descs[i].Owner.(*Listener); ok {
			w.release(w.table.descs[i], proactor.WatcherClosed)
		}
	}
	for _, d := range w.table.descs {
		w.runAll(d) // what was submitted before is tried
		w.revive(d) // also what is silent since
		for op := d.Queues[proactor.In].Head; op != nil; op = op.Next {
			op.Cause = proactor.WatcherClosed
		}
		if op := d.Queues[proactor.In].Head; op != nil {
			w.cancel(op, proactor.WatcherClosed)
		}
		if op := d.Queues[proactor.Out].Head; op != nil && op.Kind == proactor.Connect {
			w.cancel(op, proactor.WatcherClosed)
		}
	}
	w.checkDrained()
	w.wake()
	return w.ending.drained
}

// checkDrained ends a Shutdown's waiting when nothing is pending any more. The caller holds mu.
func (w *Watcher) checkDrained() {
	if w.ending.drained == nil || !w.ending.closed && (w.pending > 0 || w.ended.Head != nil) {
		return
	}
	select {
	case <-w.ending.drained:
	default:
		close(w.ending.drained)
	}
}
