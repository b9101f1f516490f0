package httpd

import (
	"io"
	"net"
	"sync"
)

const (
	fileMin  = 32 << 10 // of a file's bytes that are left to the kernel
	copySize = 32 << 10 // as net/http has it, where it copies itself
)

var copies = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom implements io.ReaderFrom, as a *net.TCPConn does: net/http's ResponseWriter hands it a
// body whose length is known.
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
