package aio

import (
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// maxVecs is how many lists of buffers are kept for reuse. Each has up to vecKept buffers.
const (
	maxVecs = 256
	vecKept = 1024
)

// Writev submits one write of all of bufs, such as a net.Buffers. One transfer has up to 1,024
// buffers and about 64 KiB (sendmsg(2)). Longer ones take several, with nothing in between.
//
// The Result has OpWrite, a nil Buffer, and the Size of all. The watcher owns the bytes until
// WaitIO returns the operation. The caller keeps the slice bufs. Empty buffers are skipped. If
// there is no other, the Error is ErrEmptyBuffer. Like Read, it allocates only for more operations
// than before, beyond 256 lists, or for more than 1,024 buffers. On macOS and the BSDs each
// transfer allocates.
func (c *Conn) Writev(tag any, bufs [][]byte, deadline time.Time) error {
	w := c.watcher()
	if w == nil {
		return ErrClosed // the zero Conn
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

// vec returns an empty list of buffers.
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

// recycle keeps the list of a Sendv that is over, unless the kernel may still use it.
func (w *Watcher) recycle(op *proactor.Op) {
	if !op.Leaked {
		w.keep(op.Tag.(*proactor.Vec))
	}
}

// tagOf returns the caller's tag.
func tagOf(op *proactor.Op) any {
	if op.Kind == proactor.Sendv {
		return op.Tag.(*proactor.Vec).Tag
	}
	return op.Tag
}
