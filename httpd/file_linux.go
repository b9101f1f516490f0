package httpd

import (
	"io"
	"math"
	"os"
	"syscall"
)

const sendTurn = 4 << 20

// file is an *os.File, even behind io.Copy's wrapper.
type file interface {
	syscall.Conn
	Stat() (os.FileInfo, error)
}

// sendFile sends the rest of a file by sendfile(2) on a duplicate of the connection's descriptor.
// It waits in the runtime's poller, without aio. It returns false if src has to be copied.
func (w *worker) sendFile(src io.Reader) (n int64, err error, sent bool) { //nolint:revive // as its caller reads it
	left := int64(math.MaxInt64)
	limited, _ := src.(*io.LimitedReader)
	if limited != nil {
		src, left = limited.R, limited.N
	}
	f, ok := src.(file)
	if !ok || left < fileMin {
		return 0, nil, false
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < fileMin {
		return 0, nil, false
	}
	from, err := f.SyscallConn()
	if err != nil {
		return 0, nil, false
	}
	to, err := w.duplicate()
	if to == nil {
		return 0, err, err != nil
	}
	defer w.sentFile(to)
	socket, err := to.SyscallConn()
	if err != nil {
		return 0, nil, false
	}
	var failed error
	err = socket.Write(func(out uintptr) (done bool) {
		for n < left {
			var k int
			if err := from.Read(func(in uintptr) bool {
				k, failed = syscall.Sendfile(int(out), int(in), nil, int(min(left-n, sendTurn)))
				return true
			}); err != nil {
				failed = err
			}
			if k > 0 {
				n += int64(k)
			}
			switch {
			case failed == syscall.EAGAIN:
				return false
			case failed == syscall.EINTR || failed == nil && k > 0:
			default: // the end of the file, or an error
				return true
			}
		}
		return true
	})
	if err == nil {
		err = failed
	}
	if n == 0 && (err == syscall.EINVAL || err == syscall.ENOSYS || err == syscall.EOPNOTSUPP) {
		// a file system without it
		return 0, nil, false
	}
	if limited != nil {
		limited.N -= n
	}
	return n, err, true
}

// duplicate waits until all is sent, and returns a duplicate of the connection's descriptor. Both
// results are nil with TLS and for want of descriptors.
func (w *worker) duplicate() (*os.File, error) {
	l := w.loop
	l.mu.Lock()
	defer l.unlock()
	c := w.conn
	if c == nil || c.tls != nil || w.closed {
		return nil, nil
	}
	w.output.writing++
	defer func() { w.output.writing-- }()
	if err := c.room(w, true); err != nil {
		return nil, err
	}
	to, err := c.handle().File()
	if err != nil {
		return nil, nil
	}
	if err := to.SetWriteDeadline(w.deadlines.out); err != nil {
		_ = to.Close()
		return nil, nil
	}
	w.output.file = to
	return to, nil
}

func (w *worker) sentFile(to *os.File) {
	w.loop.mu.Lock()
	w.output.file = nil
	w.loop.mu.Unlock()
	_ = to.Close()
}
