package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

const (
	pieceSize = 4 << 10  // of pieces
	bigWrite  = 16 << 10 // from here on Write waits for its end, and nothing is copied
)

// flushLimit is how long a client may take nothing of what is queued when its connection ends.
var flushLimit = 30 * time.Second // a variable for tests

// pieces are buffers for what was read and not yet asked for, and for answers that are under way.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// conn is a real connection. As a net.Conn it is for ConnState and ConnContext, which ask it for
// its addresses and its socket's options, and may close it. The server's mu guards all but handle.
// An idle one costs this and aio's part, so both are kept small.
type conn struct {
	server *server
	handle *aio.Conn
	ctx    context.Context // of the user's ConnContext; nil: not asked yet
	tls    *tls.Conn       // of TLS, from its first bytes on
	remote string          // RemoteAddr of its requests; "": it has had none

	worker         *worker       // that it is with
	before, behind *conn         // in the list of parked ones
	until          time.Duration // its deadline, from the server's start on; 0: none
	out            int           // bytes that are queued to be sent
	*traffic                     // noTraffic, or its own: see moving

	parked, reading, ended, hijacked, dropped bool
	leaving                                   bool // Hijack waits until aio has done with it
	served                                    bool // it has sent a request
	posted                                    bool // its last request was a POST
	// a part of its next header has come, and is waited for in the loop
	held bool
	// it has ended, and what is queued is sent for as long as the client takes some of it
	flushes  bool
	reported bool // ConnState knows of its end

	now    bool // a Read of tls finds what there is, and does not wait: see readNow
	ending bool // tls.Close was called, or is about to be
}

// traffic is what has come on a connection, or gone wrong. One that is idle has none.
type traffic struct {
	piece  *[pieceSize]byte // of in; nil: it has memory of its own, or none
	in     []byte           // was read, and nobody has asked for it yet
	memory int              // bytes that in takes, from its beginning on
	err    error            // that reading ended with
	outErr error            // that sending ended with
	real   net.Conn         // what TLS is over, where Hijack has taken it back from aio
}

// still is that of all connections that have none. Nobody writes to it.
var noTraffic traffic

var traffics = sync.Pool{New: func() any { return new(traffic) }}

// moving returns c's own traffic. mu is held, also for rest.
func (c *conn) moving() *traffic {
	if c.traffic == &noTraffic {
		c.traffic = traffics.Get().(*traffic)
	}
	return c.traffic
}

// rest gives c's traffic back, if there is nothing in it.
func (c *conn) rest() {
	if t := c.traffic; t != &noTraffic && t.piece == nil && t.in == nil && t.err == nil && t.outErr == nil &&
		t.real == nil {
		c.traffic = &noTraffic
		traffics.Put(t)
	}
}

var errForHooks = errors.New("httpd: a connection is served by its server: it can be closed, and asked for its " +
	"addresses and its socket's options")

// remoteAddr is what a request has as its RemoteAddr. Only the goroutine of the request calls it.
func (c *conn) remoteAddr() string {
	if c.remote == "" {
		if ip := c.handle.RemoteAddrPort(); ip.IsValid() {
			c.remote = ip.String()
		} else if ra := c.RemoteAddr(); ra != nil {
			c.remote = ra.String()
		}
	}
	return c.remote
}

func (c *conn) LocalAddr() net.Addr              { return c.handle.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr             { return c.handle.RemoteAddr() }
func (c *conn) Read([]byte) (int, error)         { return 0, errForHooks }
func (c *conn) Write([]byte) (int, error)        { return 0, errForHooks }
func (c *conn) SetDeadline(time.Time) error      { return errForHooks }
func (c *conn) SetReadDeadline(time.Time) error  { return errForHooks }
func (c *conn) SetWriteDeadline(time.Time) error { return errForHooks }

// SyscallConn implements syscall.Conn: for the options of the socket, and who the peer of a unix socket is.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return c.handle.SyscallConn() }

// Close ends the connection, with the request that it may have.
func (c *conn) Close() error {
	c.server.mu.Lock()
	defer c.server.unlock()
	c.end()
	return nil
}

// ProactorReadLimit implements proactor.Limiter: what is there may be more than there is room for. aio
// calls it, which knows nothing of mu.
func (c *conn) ProactorReadLimit() int {
	if c.server.full() {
		return pieceSize
	}
	return 0
}

// sender is a conn as the tag of its writes.
type sender conn

// cost is the memory that a queued write keeps.
func cost(b []byte) int { return max(len(b), pieceSize) }

// read has aio read, unless there is enough. mu is held, here and below.
func (c *conn) read() {
	limit := c.server.bounds.MaxUnreadBytes
	if c.server.full() {
		limit = min(limit, pieceSize)
	}
	if c.reading || c.ended || c.leaving || c.err != nil || int64(len(c.in)) >= limit {
		return
	}
	if err := c.handle.Read(c, nil, aio.NoDeadline); err != nil {
		c.moving().err = err
		return
	}
	c.reading = true
}

// done takes what aio has done.
func (c *conn) done(r *aio.Result) {
	switch r.Op {
	case aio.OpRead:
		c.reading = false
		raceAcquire()
		c.keep(r.Buffer[:r.Size])
		if r.Error != nil && c.err == nil && r.Error != aio.ErrCancelled && r.Error != aio.ErrDeadline {
			// of detach, of park
			c.moving().err = r.Error
		}
		c.read()
		c.moved()
	case aio.OpWrite:
		over := cost(r.Buffer)
		lent := c.worker != nil && c.worker.hasLent(r.Buffer)
		if r.Buffer == nil { // of a Writev; or the kernel kept it: see aio.Watcher.Close
			over, lent = c.out, true
			if w := c.worker; w != nil && w.output.joint > 0 {
				over, w.output.joint = w.output.joint, 0
			}
		}
		c.out -= over
		c.server.bytes.queued -= over
		if !lent {
			c.server.holds(-over)
		}
		if !lent && cap(r.Buffer) == pieceSize {
			pieces.Put((*[pieceSize]byte)(r.Buffer[:pieceSize]))
		}
		if r.Error != nil && c.outErr == nil {
			if errors.Is(r.Error, aio.ErrDeadline) && !c.hijacked {
				c.server.counts.Unsent++
			}
			c.moving().outErr = r.Error
			c.handle.Cancel((*sender)(c)) // what is queued behind it would be taken for what is missing
		}
		if c.flushes && r.Error == nil {
			c.handle.SetDeadline(c, time.Now().Add(flushLimit))
		}
		switch {
		case c.worker != nil:
			c.worker.wake()
		case c.parked && c.outErr != nil:
			c.end()
		}
	case aio.OpClose:
		if errors.Is(r.Error, aio.ErrDeadline) && c.outErr == nil { // else it is counted
			c.server.counts.Unsent++
		}
		c.gone()
	}
}

// keep appends to what was read.
func (c *conn) keep(b []byte) {
	if len(b) == 0 || c.ended {
		return
	}
	t := c.moving()
	switch n := len(t.in) + len(b); {
	case n <= cap(t.in):
	case n <= pieceSize && t.in == nil:
		t.piece = pieces.Get().(*[pieceSize]byte)
		c.own(t.piece[:0])
	default:
		size := max(n, min(2*len(t.in), pieceSize))
		if n > pieceSize {
			size = (n + pieceSize - 1) / pieceSize * pieceSize
		}
		in := append(make([]byte, 0, size), t.in...)
		c.drop()
		c.own(in)
	}
	t.in = append(t.in, b...)
}

// own has c hold in, and counts its memory.
func (c *conn) own(in []byte) {
	c.in, c.memory = in, cap(in)
	c.server.bytes.unread += c.memory
	c.server.holds(c.memory)
}

// take moves what was read to p.
func (c *conn) take(p []byte) int {
	n := copy(p, c.in)
	if c.in = c.in[n:]; len(c.in) == 0 {
		c.drop()
	}
	c.read()
	return n
}

func (c *conn) drop() {
	if c.in == nil {
		return
	}
	c.server.bytes.unread -= c.memory
	c.server.holds(-c.memory)
	c.in, c.memory = nil, 0
	if c.piece != nil {
		pieces.Put(c.piece)
		c.piece = nil
	}
}

// moved tells of bytes, or of the end.
func (c *conn) moved() {
	switch {
	case c.ended:
	case c.worker != nil:
		c.worker.unpark()
		c.worker.wake()
	case !c.parked: // it waits for a worker
	case len(c.in) > 0 && (c.err == nil || !c.short()):
		if !c.server.hold(c) {
			c.server.unpark(c)
			c.server.offer(c)
		}
	case c.err != nil:
		c.fail(c.err)
	}
}

// short reports whether less has come of c's next request than net/http awaits before it takes it
// for one (Peek in http.conn.serve): at the end of the connection it says nothing then. It does so
// of each request but the first, which is a bad one; and a worker's first is not c's.
func (c *conn) short() bool { return c.served && c.server.config == nil && len(c.in) < peeked }

// end closes the connection, when what is queued was sent; at once where a Write waits, as its
// bytes would not be sent either way.
func (c *conn) end() {
	if c.ended {
		return
	}
	s := c.server
	if c.parked {
		s.unpark(c)
	}
	if c.tls != nil && !c.ending {
		c.ending = true
		// It says so to the peer, and then closes its wire.
		s.callbacks.later = append(s.callbacks.later, func() { _ = c.tls.Close() })
		return
	}
	c.ended = true
	if c.worker != nil {
		if c.worker.output.file != nil {
			_ = c.worker.output.file.SetWriteDeadline(aborts)
		}
		c.worker.unpark()
		c.worker.wake()
	}
	c.drop()
	if c.out > 0 && c.outErr == nil && (c.worker == nil || c.worker.output.writing == 0) {
		until := time.Now().Add(flushLimit)
		if w := c.worker; w != nil && c.tls == nil && !w.deadlines.out.IsZero() && w.deadlines.out.Before(until) {
			// crypto/tls has set it to now
			until = w.deadlines.out
		} else {
			c.flushes = true
		}
		if c.handle.CloseAfterWrites(c, until) == nil {
			return // done goes on
		}
	}
	_ = c.handle.Close()
	c.gone()
}

// away notes that the user has c from here on.
func (c *conn) away() {
	c.hijacked = true
	if !c.dropped {
		c.server.conns.hijacked++
		c.server.checkEmpty()
	}
}

// gone forgets a connection that is closed.
func (c *conn) gone() {
	s := c.server
	if c.dropped {
		return
	}
	c.dropped = true
	s.conns.open--
	s.conns.ended.Signal()
	s.more()
	switch {
	case c.hijacked:
		s.conns.hijacked--
	case c.worker == nil: // else net/http tells of the worker's end
		c.tell()
	}
	s.checkEmpty()
}

// tell tells the user's ConnState of the end, once.
func (c *conn) tell() {
	if !c.reported {
		c.reported = true
		c.server.after(func() { c.server.hooks.state(c, http.StateClosed) })
	}
}
