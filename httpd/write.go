package httpd

import (
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

func (w *worker) Write(p []byte) (int, error) {
	w.loop.mu.Lock()
	defer w.loop.unlock()
	if w.conn == nil || w.closed {
		return 0, net.ErrClosed
	}
	if w.request.heading {
		w.refuses()
	}
	if t := w.conn.tls; t != nil {
		w.loop.mu.Unlock()
		defer w.loop.mu.Lock()
		return t.Write(p)
	}
	n, err := w.conn.write(w, p)
	if err != nil {
		err = w.conn.opError("write", err)
	}
	return n, err
}

// refuses counts a request that net/http refuses after its header. net/http reports only a
// connection's first one as active, not a worker's later ones.
func (w *worker) refuses() {
	w.request.unasked = true
	if !w.conn.served {
		w.loop.mu.Unlock()
		defer w.loop.mu.Lock()
		w.loop.server.hooks.changed(w, http.StateActive)
	}
}

// gather lets what fills net/http's buffer be sent with the next Write within the handler's.
func (w *worker) gather() {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	w.output.gathers = w.conn != nil && w.conn.tls == nil // crypto/tls makes records of each Write
}

// gathered ends that, and sends what is kept.
func (w *worker) gathered() {
	w.loop.mu.Lock()
	defer w.loop.unlock()
	w.output.gathers = false
	if w.output.kept != nil {
		if _, err := w.conn.write(w, nil); err != nil && w.conn.outErr == nil {
			w.conn.moving().outErr = err // a piece is missing, even if the next Write has more time
		}
	}
}

func (w *worker) CloseWrite() error {
	w.loop.mu.Lock()
	defer w.loop.unlock()
	if w.conn == nil || w.conn.ended {
		return net.ErrClosed
	}
	if t := w.conn.tls; t != nil {
		w.loop.mu.Unlock()
		defer w.loop.mu.Lock()
		return t.CloseWrite()
	}
	return w.conn.handle().CloseWrite(nil, time.Time{})
}

func (c *conn) write(w *worker, p []byte) (n int, err error) {
	if c.hijacked { // net/http and crypto/tls write one at a time
		c.loop().mu.Unlock()
		w.output.mu.Lock()
		defer w.output.mu.Unlock()
		c.loop().mu.Lock()
	}
	w.output.writing++
	defer func() { w.output.writing-- }()
	if w.output.gathers && w.output.kept == nil && len(p) == pieceSize {
		w.output.kept = pieces.Get().(*[pieceSize]byte)
		return copy(w.output.kept[:], p), nil
	}
	if kept := w.output.kept; kept != nil {
		w.output.kept = nil
		if n, err = c.together(w, kept, p); err != nil {
			return 0, err
		}
	}
	for p = p[n:]; len(p) > 0; {
		if err := c.room(w, false); err != nil {
			return n, err
		}
		raceRelease()
		if len(p) >= c.loop().bytes.direct && c.out == 0 {
			if k := c.send(p); k > 0 || c.outErr != nil {
				n, p = n+k, p[k:]
				continue
			}
		}
		full := c.loop().server.full()
		if full && c.out > 0 && len(p) < bigWrite {
			continue
		}
		if full || len(p) >= bigWrite {
			n += c.lend(w, p)
			return n, c.outErr
		}
		piece := pieces.Get().(*[pieceSize]byte)
		part := piece[:copy(piece[:], p)]
		if err := c.queue(part, w.deadlines.out); err != nil {
			return n, err
		}
		n += len(part)
		p = p[len(part):]
	}
	return n, c.outErr
}

func (c *conn) lend(w *worker, p []byte) (n int) {
	if err := c.handle().Write((*sender)(c), p, w.deadlines.out); err != nil {
		c.moving().outErr = err
		return 0
	}
	w.output.lent = p
	c.awaitSent(w, cost(p))
	w.output.lent = nil
	if c.outErr != nil {
		return 0
	}
	return len(p)
}

// awaitSent counts n bytes of the handler's own memory, and waits until they are sent.
func (c *conn) awaitSent(w *worker, n int) {
	c.out += n
	c.loop().bytes.queued += n
	for c.out > 0 {
		w.moves.Wait()
	}
}

func (c *conn) queue(p []byte, deadline time.Time) error {
	if err := c.handle().Write((*sender)(c), p, deadline); err != nil {
		return err
	}
	c.out += cost(p)
	c.loop().bytes.queued += cost(p)
	c.loop().holds(cost(p))
	return nil
}

// together sends a piece and as much of p as there is room for, by one call or by the loop. It
// returns how much of p was sent.
func (c *conn) together(w *worker, piece *[pieceSize]byte, p []byte) (int, error) {
	if err := c.room(w, false); err != nil {
		pieces.Put(piece)
		return 0, err
	}
	raceRelease()
	k := 0
	if c.out == 0 {
		k = c.send(piece[:], p)
	}
	switch {
	case k >= pieceSize || c.outErr != nil:
	case k > 0 || len(p) < bigWrite:
		return 0, c.queue(piece[:copy(piece[:], piece[k:])], w.deadlines.out)
	default:
		if err := c.handle().Writev((*sender)(c), [][]byte{piece[:], p}, w.deadlines.out); err != nil {
			pieces.Put(piece)
			return 0, err
		}
		k = pieceSize + len(p)
		w.output.joint = k
		c.awaitSent(w, k)
		if c.outErr != nil { // the kernel may have the piece
			return 0, c.outErr
		}
	}
	pieces.Put(piece)
	return max(k-pieceSize, 0), c.outErr
}

// send sends what there is room for from the worker's goroutine. The caller holds mu, which send
// releases for a while.
func (c *conn) send(bufs ...[]byte) (n int) {
	c.loop().mu.Unlock()
	var err error
	if len(bufs) == 1 {
		n, err = c.handle().TryWrite(bufs[0])
	} else {
		n, err = c.handle().TryWritev(bufs)
	}
	c.loop().mu.Lock()
	if err != nil && c.outErr == nil {
		c.moving().outErr = err
	}
	return n
}

// room waits until a Write may go on, or until all is sent.
func (c *conn) room(w *worker, all bool) error {
	for {
		limit := c.loop().server.bounds.MaxQueuedBytes
		if all || c.loop().server.full() {
			limit = 0
		}
		switch {
		case c.ended:
			return net.ErrClosed
		case c.outErr != nil:
			return c.outErr
		case !w.deadlines.out.IsZero() && !w.deadlines.out.After(time.Now()):
			return os.ErrDeadlineExceeded
		case int64(c.out) <= limit:
			return nil
		case w.deadlines.out.IsZero():
			w.moves.Wait()
		default:
			late := time.AfterFunc(time.Until(w.deadlines.out), w.wakeLate)
			w.moves.Wait()
			late.Stop()
		}
	}
}

const (
	fileMin  = 32 << 10
	copySize = 32 << 10
)

var copies = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom is for net/http's ResponseWriter, for a body of known length.
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
