package aio

import (
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// maxVecs is how many lists of buffers are kept for reuse, each of as many as vecKept.
const (
	maxVecs = 256
	vecKept = 1024
)

// Writev submits one write of all of bufs, one after the other: a net.Buffers, for instance, which it does
// not consume. One transfer is of up to 1,024 buffers, the last of which is the one that reaches 64 KiB
// (sendmsg(2)); more takes several, as a long Write does, with nothing else in between.
//
// The Result's Op is OpWrite, its Buffer nil, and Size counts over all of bufs. The bytes are the
// watcher's until WaitIO has returned the operation; the slice bufs is the caller's again when
// Writev returns. Empty buffers in it are left out; where nothing else is in it, the Error is
// ErrEmptyBuffer. It allocates nothing once the watcher has seen as many at a time, up to 256 of up
// to 1,024 buffers; on macOS and the BSDs each transfer allocates. See Read for the rest.
func (c *Conn) Writev(tag any, bufs [][]byte, deadline time.Time) error {
	w := c.watcher()
	if w == nil {
		return ErrClosed // no Watcher has made it
	}
	v := w.vec()
	v.Tag = tag
	op := proactor.Op{Desc: &c.desc, Kind: proactor.Sendv, Full: true, Tag: v}
	if v.Set(bufs) == 0 {
		op.Err = ErrEmptyBuffer
	}
	err := w.submit(op, deadline)
	if err != nil {
		w.keep(v)
	}
	return err
}

// vec returns a list of buffers to be filled.
func (w *Watcher) vec() *proactor.Vec {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	last := len(w.subs.vecs) - 1
	if last < 0 {
		return new(proactor.Vec)
	}
	v := w.subs.vecs[last]
	w.subs.vecs = w.subs.vecs[:last]
	return v
}

// keep keeps a list for reuse.
func (w *Watcher) keep(v *proactor.Vec) {
	if v.Clear() > vecKept {
		return
	}
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	if len(w.subs.vecs) < maxVecs {
		w.subs.vecs = append(w.subs.vecs, v)
	}
}

// recycle keeps the list of a Sendv that has ended, unless the kernel may still use it.
func (w *Watcher) recycle(op *proactor.Op) {
	if !op.Leaked {
		w.keep(op.Tag.(*proactor.Vec))
	}
}

// tagOf returns what the caller has submitted op with.
func tagOf(op *proactor.Op) any {
	if op.Kind == proactor.Sendv {
		return op.Tag.(*proactor.Vec).Tag
	}
	return op.Tag
}
