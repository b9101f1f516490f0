package aio

import (
	"syscall"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// TryWrite sends as much of buf as the socket has room for, 64 KiB at most, without WaitIO. That
// saves a hand-off for long answers. Submit the rest by Write. The caller keeps buf.
//
// It sends nothing, and returns no error, if a pending operation writes or ends writing, or if
// WaitIO or another call holds the lock. So bytes stay in order. It fails with ErrEmptyBuffer,
// ErrClosed, ErrWatcherClosed or a syscall.Errno such as EPIPE.
func (c *Conn) TryWrite(buf []byte) (n int, err error) {
	w, d := c.watcher(), &c.desc
	switch {
	case w == nil:
		return 0, ErrClosed
	case len(buf) == 0:
		return 0, ErrEmptyBuffer
	}
	if free, err := w.lockToWrite(d); !free {
		return 0, err
	}
	defer w.mu.Unlock()
	return w.wrote(w.backend.Send(d, buf[:min(len(buf), proactor.MaxTransfer)]))
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
	if free, err := w.lockToWrite(d); !free {
		return 0, err
	}
	defer w.mu.Unlock()
	return w.wrote(w.backend.Sendv(d, v))
}

// lockToWrite takes mu and returns true if a write may be tried. Otherwise it does not hold mu. err
// is nil if the write would only have to wait.
func (w *Watcher) lockToWrite(d *proactor.Desc) (free bool, err error) {
	if !w.mu.TryLock() {
		return false, nil
	}
	if d.Released != proactor.None {
		err = errOf(d.Released)
	} else if free, err = w.writable(d); free {
		return true, nil
	}
	w.mu.Unlock()
	return false, err
}

func (w *Watcher) wrote(n int, err error) (int, error) {
	w.stats.BytesWritten += uint64(n)
	if err == syscall.EAGAIN || err == syscall.ENOBUFS { // a Write would wait
		err = nil
	}
	return n, err
}

// writable reports whether no operation of d comes before a write. The caller holds mu.
func (w *Watcher) writable(d *proactor.Desc) (bool, error) {
	w.subs.mu.Lock()
	defer w.subs.mu.Unlock()
	switch {
	case w.subs.closed:
		return false, ErrWatcherClosed
	case d.Closed:
		return false, ErrClosed
	case d.Queues[proactor.Out].Head != nil:
		return false, nil
	}
	for op := d.Subs.Head; op != nil; op = op.Next {
		if op.Kind.Dir() == proactor.Out {
			return false, nil
		}
	}
	return true, nil
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

// recycle keeps the list of a Sendv that is over.
func (w *Watcher) recycle(op *proactor.Op) {
	if !op.Leaked {
		w.keep(op.Tag.(*proactor.Vec))
	}
}

func tagOf(op *proactor.Op) any {
	if op.Kind == proactor.Sendv {
		return op.Tag.(*proactor.Vec).Tag
	}
	return op.Tag
}
