package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evenkeel.dev/aio"
)

const (
	pieceSize = 4 << 10
	bigWrite  = 16 << 10 // a Write of this length or more waits and copies nothing
)

// flushLimit is how long a client may take nothing of a queued answer when its connection ends.
var flushLimit = 30 * time.Second // tests change it

// pieces are buffers for unread bytes and for queued answers.
var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// conn is a real connection. ConnState and ConnContext get it as a net.Conn. The mu of its loop guards
// it. An idle connection costs this and aio's part, so both are small.
//
//	state            worker, flags       what it waits for
//	parked           nil, parked         bytes (moved), its deadline (expire)
//	parked, held     nil, parked, held   the rest of its next header
//	ready            nil                 a worker: it is in loop.work.ready
//	leaving a loop   nil                 delivery to another loop (balance.go)
//	served           set                 its worker reads it
//	hijacked         set, hijacked       the user. With Conn.Park, worker.parkFunc is set
//	ended            any, ended          aio's OpClose, and then gone
type conn struct {
	home   atomic.Pointer[loop]
	aio    atomic.Pointer[aio.Conn] // another one after each move
	ctx    context.Context          // of ConnContext; nil: not called yet
	tls    *tls.Conn
	remote string

	worker         *worker
	before, behind *conn
	until          time.Duration // its deadline since the server's start; 0: none
	out            int           // bytes queued to be sent
	*traffic                     // noTraffic, or its own (moving)

	parked, reading, ended, hijacked, dropped bool
	leaving                                   bool // Hijack waits until aio returns it
	served                                    bool // it has sent a request
	posted                                    bool // its last request was a POST
	held                                      bool
	flushes                                   bool // it has ended, and sends what is queued
	reported                                  bool // ConnState has its end

	now    bool // a Read of tls does not wait (readNow)
	ending bool // tls.Close was or will be called

	period uint8  // of reads
	reads  uint16 // since the beginning of a period of the loop's relief
}

func newConn(l *loop, h *aio.Conn) *conn {
	c := &conn{traffic: &noTraffic}
	c.home.Store(l)
	c.aio.Store(h)
	return c
}

func (c *conn) loop() *loop       { return c.home.Load() }
func (c *conn) handle() *aio.Conn { return c.aio.Load() }

// lock locks the mu of c's loop, and returns the loop.
func (c *conn) lock() *loop {
	for {
		l := c.loop()
		l.mu.Lock()
		if l == c.loop() {
			return l
		}
		l.mu.Unlock()
	}
}

// traffic is the state of a connection that is not idle.
type traffic struct {
	piece  *[pieceSize]byte // memory of in; nil: in has its own, or none
	in     []byte
	memory int
	err    error
	outErr error
	real   net.Conn // below TLS, after Hijack
}

// noTraffic is shared by all idle connections. It is never written.
var noTraffic traffic

var traffics = sync.Pool{New: func() any { return new(traffic) }}

// moving returns c's own traffic. The caller of it and of dropTraffic holds mu.
func (c *conn) moving() *traffic {
	if c.traffic == &noTraffic {
		c.traffic = traffics.Get().(*traffic)
	}
	return c.traffic
}

// dropTraffic frees c's traffic if it is empty.
func (c *conn) dropTraffic() {
	if t := c.traffic; t != &noTraffic && t.piece == nil && t.in == nil && t.err == nil && t.outErr == nil &&
		t.real == nil {
		c.traffic = &noTraffic
		traffics.Put(t)
	}
}

var errForHooks = errors.New("httpd: a connection is served by its server: it can be closed, and asked for its " +
	"addresses and its socket's options")

// remoteAddr is RemoteAddr of a request. Only the request's goroutine calls it.
func (c *conn) remoteAddr() string {
	if c.remote == "" {
		if ip := c.handle().RemoteAddrPort(); ip.IsValid() {
			c.remote = ip.String()
		} else if ra := c.RemoteAddr(); ra != nil {
			c.remote = ra.String()
		}
	}
	return c.remote
}

func (c *conn) LocalAddr() net.Addr              { return c.handle().LocalAddr() }
func (c *conn) RemoteAddr() net.Addr             { return c.handle().RemoteAddr() }
func (c *conn) Read([]byte) (int, error)         { return 0, errForHooks }
func (c *conn) Write([]byte) (int, error)        { return 0, errForHooks }
func (c *conn) SetDeadline(time.Time) error      { return errForHooks }
func (c *conn) SetReadDeadline(time.Time) error  { return errForHooks }
func (c *conn) SetWriteDeadline(time.Time) error { return errForHooks }

func (c *conn) Close() error {
	l := c.lock()
	defer l.unlock()
	c.end()
	return nil
}

// SyscallConn implements syscall.Conn, for socket options. The function given to Control runs while
// locks of the loop and of aio are held, so it must not use a connection of this package.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	raw, err := c.handle().SyscallConn()
	return control{raw, c}, err
}

// control finds the descriptor even if the connection moves between two calls.
type control struct {
	syscall.RawConn
	conn *conn
}

func (r control) Control(f func(fd uintptr)) error {
	l := r.conn.lock()
	defer l.mu.Unlock()
	raw, err := r.conn.handle().SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(f)
}

func (c *conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// ProactorReadLimit implements proactor.Limiter, without mu.
func (c *conn) ProactorReadLimit() int {
	if c.loop().server.full() {
		return pieceSize
	}
	return 0
}

type sender conn

func cost(b []byte) int { return max(len(b), pieceSize) }

func (c *conn) read() {
	limit := max(c.loop().server.bounds.MaxUnreadBytes, peeked) // net/http peeks them before its handler asks
	if c.loop().server.full() {
		limit = min(limit, pieceSize)
	}
	if c.reading || c.ended || c.leaving || c.err != nil || int64(len(c.in)) >= limit {
		return
	}
	if err := c.handle().Read(c, nil, aio.NoDeadline); err != nil {
		c.moving().err = err
		return
	}
	c.reading = true
}

func (c *conn) done(r *aio.Result) {
	switch r.Op {
	case aio.OpRead:
		c.reading = false
		raceAcquire()
		c.keep(r.Buffer[:r.Size])
		if r.Error != nil && c.err == nil && r.Error != aio.ErrCancelled && r.Error != aio.ErrDeadline {
			// otherwise of detach or Park
			c.moving().err = r.Error
		}
		c.read()
		c.moved()
	case aio.OpWrite:
		over := cost(r.Buffer)
		lent := c.worker != nil && c.worker.hasLent(r.Buffer)
		if r.Buffer == nil { // a Writev, or io_uring kept it
			over, lent = c.out, true
			if w := c.worker; w != nil && w.output.joint > 0 {
				over, w.output.joint = w.output.joint, 0
			}
		}
		c.out -= over
		c.loop().bytes.queued -= over
		if !lent {
			c.loop().holds(-over)
		}
		if !lent && cap(r.Buffer) == pieceSize {
			pieces.Put((*[pieceSize]byte)(r.Buffer[:pieceSize]))
		}
		if r.Error != nil && c.outErr == nil {
			if errors.Is(r.Error, aio.ErrDeadline) && !c.hijacked {
				c.loop().counts.Unsent++
			}
			c.moving().outErr = r.Error
			c.handle().Cancel((*sender)(c)) // bytes are missing before what is queued
		}
		if c.flushes && r.Error == nil {
			c.handle().SetDeadline(c, time.Now().Add(flushLimit))
		}
		switch {
		case c.worker != nil:
			c.worker.wake()
		case c.parked && c.outErr != nil:
			c.end()
		}
	case aio.OpClose:
		if errors.Is(r.Error, aio.ErrDeadline) && c.outErr == nil {
			c.loop().counts.Unsent++
		}
		c.gone()
	}
}

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

func (c *conn) own(in []byte) {
	c.in, c.memory = in, cap(in)
	c.loop().bytes.unread += c.memory
	c.loop().holds(c.memory)
}

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
	c.loop().bytes.unread -= c.memory
	c.loop().holds(-c.memory)
	c.in, c.memory = nil, 0
	if c.piece != nil {
		pieces.Put(c.piece)
		c.piece = nil
	}
}

// moved announces bytes, or the end.
func (c *conn) moved() {
	switch {
	case c.ended:
	case c.worker != nil:
		c.worker.callParkFunc()
		c.worker.wake()
	case !c.parked:
	case len(c.in) > 0 && (c.err == nil || !c.short()):
		if !c.loop().hold(c) {
			c.loop().unpark(c)
			c.loop().offer(c)
		}
	case c.err != nil:
		c.fail(c.err)
	}
}

// short reports whether c's next request has fewer bytes than peeked. If the connection then ends,
// net/http answers only if it is the connection's first request. A worker's first request is not
// c's.
func (c *conn) short() bool { return c.served && c.loop().server.config == nil && len(c.in) < peeked }

// end closes the connection after the queued bytes, or at once if a Write waits.
func (c *conn) end() {
	if c.ended {
		return
	}
	l := c.loop()
	if c.parked {
		l.unpark(c)
	}
	if c.tls != nil && !c.ending {
		c.ending = true
		l.callbacks.later = append(l.callbacks.later, func() { _ = c.tls.Close() })
		return
	}
	c.ended = true
	if c.worker != nil {
		if c.worker.output.file != nil {
			_ = c.worker.output.file.SetWriteDeadline(aborts)
		}
		c.worker.callParkFunc()
		c.worker.wake()
	}
	c.drop()
	if c.out > 0 && c.outErr == nil && (c.worker == nil || c.worker.output.writing == 0) {
		until := time.Now().Add(flushLimit)
		if w := c.worker; w != nil && c.tls == nil && !w.deadlines.out.IsZero() && w.deadlines.out.Before(until) {
			// crypto/tls set it to now
			until = w.deadlines.out
		} else {
			c.flushes = true
		}
		if c.handle().CloseAfterWrites(c, until) == nil {
			return
		}
	}
	_ = c.handle().Close()
	c.gone()
}

func (c *conn) away() {
	c.hijacked = true
	if s := c.loop().server; !c.dropped {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hijacked++
		s.checkEmpty()
	}
}

func (c *conn) gone() {
	if c.dropped {
		return
	}
	c.dropped = true
	if !c.hijacked && c.worker == nil { // otherwise net/http reports the worker's end
		c.reportEnd()
	}
	s := c.loop().server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if c.hijacked {
		s.hijacked--
	}
	s.acceptMore()
	s.checkEmpty()
}

// reportEnd calls the user's ConnState for the end, once.
func (c *conn) reportEnd() {
	if !c.reported {
		c.reported = true
		c.loop().after(func() { c.loop().server.hooks.state(c, http.StateClosed) })
	}
}
