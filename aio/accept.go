package aio

import (
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// acceptRest is when an accept is tried again for which there were no descriptors or no memory, unless
// the Watcher closes a descriptor before.
const acceptRest = 10 * time.Millisecond

// accepted is over for an Accept.
func (w *Watcher) accepted(op *proactor.Op) bool {
	d := op.Desc
	cause := max(d.Gone, op.Cause) // the stronger one
	if op.Err == nil && d.Gone == proactor.None {
		if op.Err = w.accept(d.Owner.(*Listener)); op.Err == nil {
			if op.Mode == proactor.Multishot {
				w.pass(op)
				return false
			}
			return true
		}
	}
	switch op.Err {
	case nil, syscall.ECANCELED, syscall.EAGAIN:
		op.Err = errOf(cause)
	case syscall.ECONNABORTED, syscall.EPROTO, syscall.ENETDOWN, syscall.ENOPROTOOPT, syscall.EHOSTDOWN,
		syscall.EHOSTUNREACH, syscall.ENETUNREACH:
		op.Err = errOf(cause) // of a connection that is gone: the next one, as accept(2) says
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
		if op.Err = errOf(cause); op.Err == nil {
			w.stall(d)
		}
	}
	return op.Err != nil
}

// accept takes a connection that waits at l into w.accepts.arrived.
func (w *Watcher) accept(l *Listener) error {
	if w.connsFull() {
		return syscall.EMFILE // as good as that
	}
	c := w.accepts.unused
	if c == nil {
		c = &Conn{}
	}
	w.accepts.unused = nil
	remote, err := w.backend.Accept(&l.desc, &c.desc)
	if err != nil {
		c.desc = proactor.Desc{}
		w.accepts.unused = c
		return err
	}
	c.setRemote(remote)
	c.at = l.placeOf(&c.desc)
	w.enter(&c.desc, c)
	w.stats.Accepted++
	w.accepts.arrived = c
	return nil
}

// arrive has an Accept that took a connection be that connection's operation, to be returned.
func (w *Watcher) arrive(op *proactor.Op) {
	c := w.accepts.arrived
	w.accepts.arrived = nil
	atomic.AddInt32(&op.Desc.Queued, -1)
	op.Desc, c.desc.Queued = &c.desc, 1
}

// pass has an operation of its own return the connection that a multishot Accept took, which goes
// on.
func (w *Watcher) pass(op *proactor.Op) {
	c := w.accepts.arrived
	w.accepts.arrived = nil
	w.subs.mu.Lock()
	one := w.operation()
	w.subs.mu.Unlock()
	*one = proactor.Op{Desc: &c.desc, Kind: proactor.Accept, Tag: op.Tag, Mode: proactor.More, Index: -1}
	c.desc.Queued = 1
	w.ended.Push(one)
}

// stall has the accepts of d rest: the connection stays in the kernel's queue.
func (w *Watcher) stall(d *proactor.Desc) {
	d.Starved[proactor.In] = true
	w.accepts.stalled = append(w.accepts.stalled, d)
	w.accepts.until = w.now() + acceptRest
	w.stats.AcceptStalls++
}

// unstall tries again the accepts that rest, when it is time.
func (w *Watcher) unstall() {
	if len(w.accepts.stalled) == 0 || w.now() < w.accepts.until {
		return
	}
	for _, d := range w.accepts.stalled {
		d.Starved[proactor.In] = false
		w.list(d, &w.fair.again)
	}
	clear(w.accepts.stalled)
	w.accepts.stalled = w.accepts.stalled[:0]
}

// warnStalled says once that accepts rest. The caller holds mu, which is released meanwhile.
func (w *Watcher) warnStalled() {
	w.accepts.warned = true
	w.mu.Unlock()
	defer w.mu.Lock() // where the Logger panics, too
	w.options.Logger.Warn("aio: a connection waits to be accepted, as there is no descriptor or no memory for it, " +
		"or Options.MaxConns are open: close connections, or raise the limit (ulimit -n). Stats.AcceptStalls " +
		"counts this")
}
