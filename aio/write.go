package aio

import (
	"runtime"
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// TryWrite sends as much of buf as the socket has room for, 64 KiB at most, without WaitIO. That
// saves a hand-off for long answers. Submit the rest by Write. The caller keeps buf.
//
// It sends nothing, and returns no error, if a pending operation writes or ends writing, or if
// another TryWrite sends. So bytes stay in order. WaitIO does not keep it waiting. It fails with
// ErrEmptyBuffer, ErrClosed, ErrWatcherClosed or a syscall.Errno such as EPIPE.
func (c *Conn) TryWrite(buf []byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	switch {
	case w == nil:
		return 0, ErrClosed
	case len(buf) == 0:
		return 0, ErrEmptyBuffer
	}
	if free, err := w.beginSend(d); !free {
		return 0, err
	}
	n, err = w.backend.Send(d, buf[:min(len(buf), proactor.MaxTransfer)])
	return w.endSend(d, n, err)
}

// TryWritev is TryWrite of up to 1,024 buffers by one system call. It allocates as Writev does.
func (c *Conn) TryWritev(bufs [][]byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	if w == nil {
		return 0, ErrClosed
	}
	v := w.vec()
	defer w.keep(v)
	if v.Set(bufs) == 0 {
		return 0, ErrEmptyBuffer
	}
	if free, err := w.beginSend(d); !free {
		return 0, err
	}
	n, err = w.backend.Sendv(d, v)
	return w.endSend(d, n, err)
}

// beginSend keeps d for a send by this goroutine, until endSend. err is nil if the send would only
// have to wait.
func (w *Watcher) beginSend(d *proactor.Desc) (free bool, err error) {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	switch {
	case w.subs.closed:
		return false, ErrWatcherClosed
	case d.State&proactor.Closed != 0:
		return false, ErrClosed
	case d.State != 0 || d.Bytes.Load() > 0:
		return false, nil
	}
	d.State |= proactor.Sending
	w.subs.sending++
	return true, nil
}

// endSend lets the loop take what was submitted for d during the send.
func (w *Watcher) endSend(d *proactor.Desc, n int, err error) (int, error) {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	w.subs.sending--
	w.subs.sent += uint64(n)
	waits := d.State&proactor.Waiting != 0
	if d.State &^= proactor.Sending | proactor.Waiting; waits {
		w.subs.descs.push(d)
		w.wakeLocked()
	}
	if err == syscall.EAGAIN || err == syscall.ENOBUFS { // a Write would wait
		err = nil
	}
	return n, err
}

// endCloseWrite lets TryWrite send again, which then fails, if no other CloseWrite is pending. The
// caller holds mu.
func (w *Watcher) endCloseWrite(d *proactor.Desc) {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	for _, q := range []proactor.Queue{d.Queues[proactor.Out], d.Subs} {
		for op := q.Head; op != nil; op = op.Next {
			if op.Kind == proactor.ShutWrite {
				return
			}
		}
	}
	d.State &^= proactor.CloseWrite
}

// awaitSend waits until no send keeps d, or any descriptor if d is nil. No other send may begin. A
// send does not block, so the caller may hold mu.
func (w *Watcher) awaitSend(d *proactor.Desc) {
	for {
		w.subs.mu.Lock()
		sends := w.subs.sending > 0 && (d == nil || d.State&proactor.Sending != 0)
		w.subs.mu.Unlock()
		if !sends {
			return
		}
		runtime.Gosched()
	}
}

// Lists of buffers that are kept for reuse, and the most buffers of one.
const (
	maxVecs = 256
	vecKept = 1024
)

// Writev submits one write of all of bufs, such as a net.Buffers. A transfer has up to 1,024
// buffers and about 64 KiB. Nothing comes between the transfers of one Writev.
//
// The Result has OpWrite, a nil Buffer, and the Size of all. The watcher owns the bytes until
// WaitIO returns the operation. The caller keeps the slice bufs. Like Read, it allocates for more
// operations than before, and beyond 256 lists or 1,024 buffers. On macOS and the BSDs each transfer
// allocates.
func (c *Conn) Writev(tag any, bufs [][]byte, deadline time.Time) error {
	w := c.watcher()
	if w == nil {
		return ErrClosed
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

func tagOf(op *proactor.Op) any {
	if op.Kind == proactor.Sendv {
		return op.Tag.(*proactor.Vec).Tag
	}
	return op.Tag
}
