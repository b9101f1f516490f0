package aio

import (
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// acceptRest is the time between tries of an accept that lacks descriptors or memory.
const acceptRest = 10 * time.Millisecond

// accepted is over for an Accept.
func (w *Watcher) accepted(op *proactor.Op) bool {
	d := op.Desc
	cause := max(d.Gone, op.Cause)
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
		op.Err = errOf(cause) // that connection is gone. Take the next one, as accept(2) says
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM:
		if op.Err = errOf(cause); op.Err == nil {
			w.stall(d)
		}
	}
	return op.Err != nil
}

// accept takes a connection from l into w.accepts.arrived.
func (w *Watcher) accept(l *Listener) error {
	if w.connsFull() {
		return syscall.EMFILE // MaxConns is treated like it
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

// arrive makes op, an Accept that took a connection, that connection's operation.
func (w *Watcher) arrive(op *proactor.Op) {
	c := w.accepts.arrived
	w.accepts.arrived = nil
	atomic.AddInt32(&op.Desc.Queued, -1)
	op.Desc, c.desc.Queued = &c.desc, 1
}

// pass returns the connection of a multishot Accept by another operation. The Accept goes on.
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

// stall pauses the accepts of d. Connections stay in the kernel's queue.
func (w *Watcher) stall(d *proactor.Desc) {
	d.Starved[proactor.In] = true
	w.accepts.stalled = append(w.accepts.stalled, d)
	w.accepts.until = w.now() + acceptRest
	w.stats.AcceptStalls++
}

// unstall tries paused accepts again, when it is time.
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

// warnStalled logs once that accepts are paused. The caller holds mu, which is released for the
// Logger.
func (w *Watcher) warnStalled() {
	w.accepts.warned = true
	w.mu.Unlock()
	defer w.mu.Lock() // even if the Logger panics
	w.options.Logger.Warn("aio: a connection waits to be accepted, as there is no descriptor or no memory for it, " +
		"or Options.MaxConns are open: close connections, or raise the limit (ulimit -n). Stats.AcceptStalls " +
		"counts this")
}
