package httpd

import (
	"io"
	"math"
	"net"
	"os"
)

// sendFile has package net send a large file, by sendfile(2) on a duplicate of the connection's
// descriptor. It waits in the runtime's poller, without aio. It returns false if src has to be
// copied.
func (w *worker) sendFile(src io.Reader) (n int64, err error, sent bool) { //nolint:revive // as its caller reads it
	from, left := src, int64(math.MaxInt64)
	if limited, ok := src.(*io.LimitedReader); ok {
		from, left = limited.R, limited.N
	}
	f, ok := from.(interface{ Stat() (os.FileInfo, error) }) // an *os.File, even behind io.Copy's wrapper
	if !ok || left < fileMin {
		return 0, nil, false
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < fileMin {
		return 0, nil, false
	}
	to, err := w.duplicate()
	if to == nil {
		return 0, err, err != nil
	}
	defer w.sentFile(to)
	n, err = to.ReadFrom(src)
	return n, err, true
}

// duplicate waits until all is sent, and returns a duplicate of the connection. Both results are
// nil with TLS and for want of descriptors.
func (w *worker) duplicate() (*net.TCPConn, error) {
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
	f, err := c.handle().File()
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, nil
	}
	to := nc.(*net.TCPConn)
	_ = to.SetWriteDeadline(w.deadlines.out)
	w.output.file = to
	return to, nil
}

func (w *worker) sentFile(to *net.TCPConn) {
	w.loop.mu.Lock()
	w.output.file = nil
	w.loop.mu.Unlock()
	_ = to.Close()
}
