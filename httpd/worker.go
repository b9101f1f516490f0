package httpd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// peeked is how many bytes of a request net/http reads before its header timeout begins
// (http.conn.serve).
const peeked = 4

// aborts is the deadline by which net/http ends its background Read (http.aLongTimeAgo).
var aborts = time.Unix(1, 0)

// errAborted is the error of that Read.
var errAborted error = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}

// readSize is what net/http asks for with an empty buffer (http.newBufioReader).
const readSize = 4096

// worker is a connection in memory that net/http serves, over its current real connection. The
// mu of its loop guards it. One request:
//
//  1. Read        net/http asks for the first bytes of a request (phase between)
//  2. swap        the connection goes, and one with bytes comes (loop.next)
//  3. read        net/http gets the bytes (phase inRequest)
//  4. ServeHTTP   the handler gets the real connection's address and context
//  5. Write       the answer is sent or queued
//  6. changed     net/http reports StateIdle (phase answered), and sets a deadline (phase between)
//
// The flags of its pool:
//
//	resting    it is in loop.work.idle, and waits on moves
//	woken      wake took it out of there, and it has not looked at loop.work.ready yet
//	surplus    decay wants it to end
//	spoilt     it ends after this request
type worker struct {
	loop  *loop
	moves sync.Cond
	conn  *conn           // the real one; nil: it waits for one
	base  context.Context // of ConnContext; set before net/http serves it
	hello *hello

	phase  phase
	fresh  bool // it has had no connection
	closed bool

	deadlines struct {
		in, out time.Time
		timer   *time.Timer
	}
	pool struct {
		resting bool
		woken   bool
		surplus bool
		spoilt  bool // net/http has cancelled the context of its requests
	}
	request struct {
		posted  bool // its last request was a POST; belongs to the worker's goroutine
		blank   int  // bytes of empty lines that conn's next request may begin with
		got     int  // bytes of conn that net/http has
		heading bool // net/http reads the rest of its header
		unasked bool // net/http has its header, and has not called the handler
	}
	output struct {
		mu      sync.Mutex // held for a Write of a hijacked connection
		writing int
		joint   int    // bytes of a queued Writev
		lent    []byte // a queued Write's memory, the caller's

		// net/http has a long Write of the handler. kept is its buffer, for the next Write within
		// that one.
		gathers bool
		kept    *[pieceSize]byte

		file interface{ SetWriteDeadline(time.Time) error } // while ReadFrom sends a file past aio
	}

	handling atomic.Bool // a handler runs; belongs to the handler's goroutine
	parkFunc func()      // Park's function, until there is something to read
}

// phase is where net/http is with a worker (http.conn.serve).
type phase uint8

const (
	inRequest phase = iota
	answered
	between // the next Read is for the first bytes of a request
)

func newWorker(l *loop) *worker {
	w := &worker{loop: l, phase: between, fresh: true}
	w.pool.woken = true
	w.moves.L = &l.mu
	return w
}

func (w *worker) wake() { w.moves.Broadcast() }

// wakeLate is wake for a timer, which does not hold mu.
func (w *worker) wakeLate() {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	w.wake()
}

// Read reads from the real connection, or from the next one if net/http asks for a new request.
func (w *worker) Read(p []byte) (int, error) {
	l := w.loop
	l.mu.Lock()
	defer l.unlock()
	n, err := w.fill(p)
	if err != nil && !errors.Is(err, errAborted) {
		w.pool.spoilt = true
	}
	if w.request.blank > 0 && n > 0 {
		blank := min(len(p[:n])-len(bytes.TrimLeft(p[:n], "\r\n")), w.request.blank)
		if w.request.blank -= blank; blank < n {
			w.request.blank = 0
		}
		n = copy(p, p[blank:n])
	}
	return n, err
}

func (w *worker) fill(p []byte) (int, error) {
	l := w.loop
	if w.phase == between {
		if len(p) == readSize || w.fresh { // HTTP/2's preface of a new one is read in part
			return w.swap(p)
		}
		w.setReadingHeader(w.conn != nil) // net/http has its first byte, which came during the answer before
	}
	if c := w.conn; c != nil && c.tls != nil {
		l.mu.Unlock()
		defer l.mu.Lock()
		return c.tls.Read(p)
	}
	return w.read(p)
}

// swap reads the first bytes of a request, from the current connection or from the next one.
func (w *worker) swap(p []byte) (int, error) {
	l := w.loop
	w.setReadingHeader(false)
	began := w.fresh // net/http's time for its first request runs
	for first := true; ; first = false {
		w.phase = between // a handshake or part of a record is not a request
		if c := w.conn; c != nil {
			switch {
			case c.ended || w.closed:
				return 0, net.ErrClosed
			case first && len(l.work.ready) > 0 && len(c.in) > 0 && c.err == nil: // others waited longer
			case c.tls != nil:
				if n, err, some := c.readNow(w, w.afterBlankLines(p)); some {
					w.setReadingHeader(n > 0)
					return w.remember(p, n), err
				}
			case len(c.in) > 0 || c.err != nil:
				w.setReadingHeader(true)
				n, err := w.read(w.afterBlankLines(p))
				return w.remember(p, n), err
			}
			if first { // the time of the others goes on
				c.until = l.server.sinceStart(w.deadlines.in)
			}
			w.release()
			if began { // there was only a handshake
				return 0, io.EOF
			}
		}
		c, err := l.next(w)
		if err != nil {
			return 0, err
		}
		fresh := w.fresh
		w.conn, w.fresh, w.request.got, w.request.blank = c, false, 0, 0
		if c.posted && !w.request.posted {
			w.request.blank = len(blankLines)
		}
		switch {
		case l.server.config != nil && c.tls == nil && !c.greet(w):
		case l.server.unencrypted && !c.served && c.prefaced():
			c.give(wire{c})
		default:
			continue
		}
		w.conn = nil
		if fresh {
			return 0, io.EOF
		}
	}
}

// blankLines are the empty lines that net/http skips after a POST (CR and LF among a request's
// first four bytes, http.conn.readRequest). But the worker's POST may have been another
// connection's. If only the worker may send empty lines, a line that we add uses them up. If only
// conn may, request.blank removes them.
const blankLines = "\r\n\r\n"

func (w *worker) afterBlankLines(p []byte) []byte {
	if w.request.posted && !w.conn.posted {
		return p[len(blankLines):]
	}
	return p
}

// remember moves n bytes to the beginning of p, behind the lines that net/http skips.
func (w *worker) remember(p []byte, n int) int {
	if q := w.afterBlankLines(p); len(q) == len(p) || n == 0 {
		return n
	} else if q[0] != '\r' && q[0] != '\n' {
		return copy(p, q[:n])
	}
	return copy(p, blankLines) + n
}

func (w *worker) setReadingHeader(now bool) {
	switch {
	case now && !w.request.heading:
		w.loop.work.heading++
	case !now && w.request.heading:
		w.loop.work.heading--
	}
	w.request.heading = now
}

// timedOut notes the end of net/http's time for a header, or for an idle connection.
func (w *worker) timedOut() {
	switch {
	case !w.request.heading:
	case w.conn.served && w.request.got < peeked:
		w.loop.counts.IdleTimeouts++
	default:
		w.loop.counts.HeaderTimeouts++
	}
	w.setReadingHeader(false)
}

// read waits for bytes, the end, or the deadline.
func (w *worker) read(p []byte) (int, error) {
	for {
		c := w.conn
		until := w.deadlines.in
		switch {
		case c == nil || c.ended || w.closed:
			return 0, net.ErrClosed
		case (!c.served || c.held) && c.until > 0 && (until.IsZero() || w.loop.server.sinceStart(until) > c.until):
			until = w.loop.server.start.Add(c.until) // the first request's time begins at the accept
		case c.served && w.request.got < peeked:
			if until = (time.Time{}); c.until > 0 {
				until = w.loop.server.start.Add(c.until) // its idle timeout
			}
		}
		late := !until.IsZero() && !until.After(time.Now())
		switch {
		case late && until.Equal(aborts):
			return 0, errAborted
		case late:
			w.timedOut()
			return 0, c.opError("read", os.ErrDeadlineExceeded)
		case len(c.in) > 0:
			w.phase = inRequest
			n := c.take(p)
			w.request.got += n
			return n, nil
		case c.err == io.EOF:
			w.setReadingHeader(false)
			return 0, io.EOF
		case c.err != nil:
			w.setReadingHeader(false)
			return 0, c.opError("read", c.err)
		}
		if !until.IsZero() {
			d := time.Until(until)
			if w.deadlines.timer == nil {
				w.deadlines.timer = time.AfterFunc(d, w.wakeLate)
			} else {
				w.deadlines.timer.Reset(d)
			}
		}
		w.moves.Wait()
	}
}

func (w *worker) hasLent(b []byte) bool {
	return len(w.output.lent) > 0 && len(b) > 0 && &w.output.lent[0] == &b[0]
}

// Close ends the worker and its connection.
func (w *worker) Close() error {
	l := w.loop
	l.mu.Lock()
	defer l.unlock()
	if w.closed {
		return net.ErrClosed
	}
	w.closed = true
	w.setReadingHeader(false)
	if w.request.unasked {
		l.counts.BadRequests++
	}
	if w.conn == nil || !w.conn.hijacked {
		l.work.count--
	}
	if w.deadlines.timer != nil {
		w.deadlines.timer.Stop()
	}
	if w.conn != nil {
		w.conn.end()
	}
	if w.pool.woken {
		w.pool.woken, l.work.waking = false, false
		l.wake()
	}
	w.wake()
	return nil
}

func (w *worker) LocalAddr() net.Addr {
	if c := w.current(); c != nil {
		return c.LocalAddr()
	}
	return w.loop.server.real.Addr()
}

func (w *worker) RemoteAddr() net.Addr {
	if c := w.current(); c != nil {
		return c.RemoteAddr()
	}
	return nil
}

func (w *worker) current() *conn {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	return w.conn
}

func (w *worker) servedConn() *conn {
	w.loop.mu.Lock()
	defer w.loop.mu.Unlock()
	w.request.unasked = false
	return w.conn
}
