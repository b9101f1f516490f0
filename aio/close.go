package aio

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// Close closes all connections and ends a WaitIO. WaitIO returns pending operations with
// ErrWatcherClosed. Close always returns nil, and may be called again.
func (w *Watcher) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending.closed {
		return nil
	}
	w.refuse()
	for len(w.table.descs) > 0 {
		w.release(w.table.descs[len(w.table.descs)-1], proactor.WatcherClosed)
	}
	w.intakeAll()
	for _, op := range w.backend.Close(nil) {
		if w.over(op) {
			w.finish(op)
		}
		w.list(op.Desc, &w.fair.again)
	}
	for w.listed() > 0 {
		w.serve()
	}
	w.ending.closed = true
	w.conns.Store(math.MaxInt32) // Spread chooses another
	w.cleanup.Stop()
	w.table.leaving = nil
	w.swap.buf = nil // connections that are still referenced keep the watcher
	w.checkDrained()
	return nil
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
	w.awaitSend(nil)
}

// Shutdown refuses new operations, closes the listeners, ends pending reads, accepts and dials with
// ErrWatcherClosed, and closes the Watcher when the pending writes are over. Another goroutine must
// call WaitIO. If ctx ends first, Shutdown closes at once and returns ctx's error.
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

// drain begins a shutdown. The channel is closed when nothing is pending.
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

// CloseWrite submits the end of the sending side (shutdown(2)), behind the writes that were
// submitted before. If these are not over at the deadline, the Error is ErrDeadline and the side
// stays open. A later write fails with syscall.EPIPE. See Read.
func (c *Conn) CloseWrite(tag any, deadline time.Time) error {
	return c.submit(proactor.ShutWrite, false, tag, nil, deadline)
}

// CloseAfterWrites submits a close behind the writes that were submitted before. The connection is
// closed when they are over or failed, or at the deadline. Pending reads go on until then. New
// operations are refused with ErrClosed. A full queue does not refuse it. The Error is nil,
// ErrDeadline if writes were left, or ErrClosed if Close came first. See Read.
//
// If bytes of the peer are unread, or arrive later, the kernel resets the connection, and the peer
// may lose data (RFC 9112, 9.6). If the peer may still send, submit a CloseWrite, read to io.EOF
// with a deadline, and Close.
func (c *Conn) CloseAfterWrites(tag any, deadline time.Time) error {
	return c.submit(proactor.Closing, false, tag, nil, deadline)
}

// leave releases connections whose last write is over. The caller holds mu.
func (w *Watcher) leave() {
	for _, d := range w.table.leaving {
		if d.Released == proactor.None {
			w.release(d, proactor.ConnClosed)
		}
	}
	clear(w.table.leaving)
	w.table.leaving = w.table.leaving[:0]
}

// Detach gives the connection back as a *net.TCPConn or a *net.UnixConn. The Conn is closed. Socket
// options stay, except that package net turns on keep-alive probes and TCP_NODELAY. It fails
// with ErrPending if WaitIO has not returned all operations of the connection, so cancel reads
// before. Other errors are ErrClosed, ErrWatcherClosed and a syscall.Errno such as EMFILE. It needs
// two more descriptors for a moment. On an error nothing has changed.
func (c *Conn) Detach() (net.Conn, error) {
	w, d := c.watcher(), &c.desc
	if w == nil {
		return nil, ErrClosed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if err := w.leaves(d); err != nil {
		return nil, err
	}
	conn, err := w.backend.Detach(d)
	if err != nil {
		return nil, err
	}
	w.left(d)
	return conn, nil
}

// leaves returns why d cannot leave the watcher. The caller holds mu and subs.mu, here and in left.
func (w *Watcher) leaves(d *proactor.Desc) error {
	switch {
	case d.Released != proactor.None:
		return errOf(d.Released)
	case d.State&proactor.Closed != 0:
		return ErrClosed
	case atomic.LoadInt32(&d.Queued) > 0 || d.State&proactor.Sending != 0:
		return ErrPending
	}
	return nil
}

func (w *Watcher) left(d *proactor.Desc) {
	d.State |= proactor.Closed
	w.forget(d, proactor.ConnClosed)
	w.wakeLocked() // an accept may wait for room
}
