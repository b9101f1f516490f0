package httpd

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"time"
)

type response interface {
	http.ResponseWriter
	http.Hijacker
	http.Flusher
	io.ReaderFrom
	io.StringWriter
	CloseNotify() <-chan bool // for http.CloseNotifier
	FlushError() error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	EnableFullDuplex() error
}

// twoWrites is the length from which net/http splits a handler's Write, to fill the header's
// buffer.
const twoWrites = 8 << 10

// writer is net/http's ResponseWriter with another Hijack, and with Writes that stay together. It
// serves requests without a body, because http.MaxBytesReader needs net/http's own type.
type writer struct {
	response
	worker *worker
	conn   *conn
	stays  bool
}

func (w *writer) Unwrap() http.ResponseWriter { return w.response }

// SetReadDeadline does nothing if the handler has returned and the worker has another connection.
func (w *writer) SetReadDeadline(t time.Time) error { return w.until(t, w.worker.readUntil) }

func (w *writer) SetWriteDeadline(t time.Time) error { return w.until(t, w.worker.writeUntil) }

func (w *writer) until(t time.Time, set func(time.Time)) error {
	l := w.worker.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.worker.conn != w.conn {
		return net.ErrClosed
	}
	set(t)
	return nil
}

// Write sends net/http's Writes of p together.
func (w *writer) Write(p []byte) (int, error) {
	if len(p) >= twoWrites {
		w.worker.gather()
		defer w.worker.gathered()
	}
	return w.response.Write(p)
}

func (w *writer) WriteString(p string) (int, error) {
	if len(p) >= twoWrites {
		w.worker.gather()
		defer w.worker.gathered()
	}
	return w.response.WriteString(p)
}

// Hijack returns a *net.TCPConn, as net/http would have accepted it.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := w.response.Hijack()
	if err != nil {
		return nc, rw, err
	}
	l := w.worker.loop
	l.mu.Lock()
	defer l.unlock()
	switch c := w.worker.conn; {
	case w.stays:
	case c.tls != nil:
		nc = c.tls
		if real := w.worker.detach(); real != nil {
			c.moving().real = &Conn{Conn: real, ahead: bytes.Clone(c.in)}
			c.drop()
			c.gone()
		}
	default:
		if real := w.worker.detach(); real != nil {
			nc = real
			refill(rw, real, c.in)
			c.drop()
			c.gone()
		}
	}
	return nc, rw, nil
}

// detach takes the connection back from aio after the queued bytes. It returns nil if an answer was
// cut, or if aio refuses, for want of descriptors. Then the worker goes on. The caller holds mu.
func (w *worker) detach() net.Conn {
	c := w.conn
	c.leaving = true
	c.handle().Cancel(c)
	if c.out > 0 {
		c.handle().SetDeadline((*sender)(c), time.Now().Add(flushLimit))
	}
	for (c.reading || c.out > 0) && !c.ended {
		w.moves.Wait()
	}
	if !c.ended && c.outErr == nil {
		if nc, err := c.handle().Detach(); err == nil {
			c.ended = true
			return nc
		}
	}
	c.leaving = false
	c.read()
	return nil
}

// refill makes rw read and write nc, after what rw and aio have read.
func refill(rw *bufio.ReadWriter, nc net.Conn, more []byte) {
	rw.Writer.Reset(nc)
	ahead, _ := rw.Reader.Peek(rw.Reader.Buffered())
	ahead = append(bytes.Clone(ahead), more...)
	if len(ahead) == 0 {
		rw.Reader.Reset(nc)
		return
	}
	if len(ahead) > rw.Reader.Size() {
		rw.Reader = bufio.NewReaderSize(nil, len(ahead))
	}
	rw.Reader.Reset(io.MultiReader(bytes.NewReader(ahead), nc))
	_, _ = rw.Reader.Peek(len(ahead))
}
