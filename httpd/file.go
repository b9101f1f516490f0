package httpd

import (
	"io"
	"net"
	"sync"
)

const (
	fileMin  = 32 << 10 // smallest part of a file for sendfile
	copySize = 32 << 10 // as in net/http
)

var copies = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom implements io.ReaderFrom. net/http's ResponseWriter uses it for a body of known length.
func (w *worker) ReadFrom(src io.Reader) (int64, error) {
	if n, err, sent := w.sendFile(src); sent {
		if err != nil {
			err = &net.OpError{Op: "sendfile", Net: "tcp", Source: w.LocalAddr(), Addr: w.RemoteAddr(), Err: err}
		}
		return n, err
	}
	buf := copies.Get().(*[copySize]byte)
	defer copies.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{w}, src, buf[:])
}
