package httpd

import (
	"net"
	"net/http"
	"time"
)

// Write queues p for the real connection.
func (w *worker) Write(p []byte) (int, error) {
	w.server.mu.Lock()
	defer w.server.unlock()
	if w.guard {
		return len(p), nil
	}
	if w.conn == nil || w.closed {
		return 0, net.ErrClosed
	}
	if w.heading {
		w.refuses()
	}
	if t := w.conn.tls; t != nil {
		w.server.mu.Unlock()
		defer w.server.mu.Lock()
		return t.Write(p)
	}
	n, err := w.conn.write(w, p)
	if err != nil {
		err = &net.OpError{Op: "write", Net: "tcp", Source: w.conn.LocalAddr(), Addr: w.conn.RemoteAddr(), Err: err}
	}
	return n, err
}

// refuses notes that net/http refuses a request whose header it had when it asked for it, as a worker's second and further ones are read: it tells of
// none that is active then. But a connection's first one is.
func (w *worker) refuses() {
	w.unasked = true
	if !w.conn.served {
		w.server.mu.Unlock()
		defer w.server.mu.Lock()
		w.server.hooks.changed(w, http.StateActive)
	}
}

// gather has what fills net/http's buffer be sent with the Write that follows: within one Write of the handler.
func (w *worker) gather() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	w.gathers = w.conn != nil && w.conn.tls == nil // crypto/tls makes records, of each Write
}

// gathered ends that. What is kept, as no other Write has followed, is sent now.
func (w *worker) gathered() {
	w.server.mu.Lock()
	defer w.server.unlock()
	w.gathers = false
	if w.kept != nil {
		if _, err := w.conn.write(w, nil); err != nil && w.conn.outErr == nil {
			w.conn.moving().outErr = err // as this piece is missing, also where the next Write would have more time
		}
	}
}

// CloseWrite ends the sending of the real connection, after what is queued.
func (w *worker) CloseWrite() error {
	w.server.mu.Lock()
	defer w.server.unlock()
	if w.conn == nil || w.conn.ended {
		return net.ErrClosed
	}
	if t := w.conn.tls; t != nil {
		w.server.mu.Unlock()
		defer w.server.mu.Lock()
		return t.CloseWrite()
	}
	return w.conn.handle.CloseWrite(nil, time.Time{})
}
