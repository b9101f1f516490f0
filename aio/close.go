package aio

import (
	"context"

	"evenkeel.dev/aio/internal/proactor"
)

// Close closes all connections and ends a WaitIO. WaitIO returns pending operations with
// ErrWatcherClosed. Close always returns nil, and may be called again.
//
// With io_uring, no operation waits in the kernel. If a kernel keeps one all the same, WaitIO
// fails, and the Result has a nil Buffer. That buffer is never freed, because the kernel may use
// it. Stats.Leaked counts these, and Logger gets a Warn.
func (w *Watcher) Close() error {
	if leaked := w.end(); leaked > 0 {
		w.options.Logger.Warn("aio: the kernel did not return memory when the watcher was closed: it is never "+
			"freed. Look for what WaitIO said of a ring that failed",
			"operations", leaked)
	}
	return nil
}

// end closes the watcher if it is open, and returns how many operations leaked.
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
	w.intakeAll() // their connections are gone
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
		w.serve() // ends what is queued behind
	}
	w.ending.closed = true
	w.cleanup.Stop()
	w.table.leaving = nil
	w.swap.buf = nil // connections that are still referenced keep the watcher
	w.stats.Leaked = leaked
	w.checkDrained()
	return leaked
}

func (w *Watcher) refusing() bool {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	return w.subs.closed
}

func (w *Watcher) refuse() {
	w.subs.mu.Lock()
	w.subs.closed = true
	w.subs.mu.Unlock()
}

// Shutdown refuses new operations, closes the listeners, ends pending reads, accepts and dials with
// ErrWatcherClosed, and lets pending writes finish. Then it closes the Watcher. A goroutine must
// call WaitIO during that time. If ctx ends first, Shutdown closes the Watcher at once and returns
// ctx's error. It may be called again.
func (w *Watcher) Shutdown(ctx context.Context) error {
	drained := w.drain()
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		select {
		case <-drained:
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
	for i := len(w.table.descs) - 1; i >= 0; i-- { // backwards, because the last one takes the place of one that goes
		if _, ok := w.table.descs[i].Owner.(*Listener); ok {
			w.release(w.table.descs[i], proactor.WatcherClosed)
		}
	}
	for _, d := range w.table.descs {
		w.runAll(d)
		w.revive(d)
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

// checkDrained ends the wait of Shutdown if nothing is pending. The caller holds mu.
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
