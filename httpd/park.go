package httpd

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// Conn is a hijacked connection that may wait without a goroutine: see [Parkable]. As a net.Conn it
// is like that of net/http: one goroutine at a time may read, any may write. A Write counts as
// written when it is queued, as that of an answer does.
type Conn struct {
	net.Conn // what blocks: a *net.TCPConn or *tls.Conn of net/http where the connection is not of aio

	worker *worker    // nil: not of aio
	ahead  []byte     // was read, and is next
	writes sync.Mutex // held by a Write: what it writes stands together
}

// Parkable returns w with a Hijack whose net.Conn is a *[Conn], for servers of websockets and the like with very many
// connections that are mostly silent. r is the request, or one made of it by WithContext.
//
//	nc, _, _, err := ws.UpgradeHTTP(r, httpd.Parkable(w, r)) // of github.com/gobwas/ws
//	c := nc.(*httpd.Conn)                                     // where err is nil
//	c.Park(func() { serve(c) })                               // reads a message, answers, and calls Park again
//
// What was read too far comes from the Conn's Read; the bufio.Reader that Hijack gives is empty.
//
// A connection that this package does not have, as net/http serves it with a goroutine ([Serve]
// says which), is one nevertheless, without the saving.
func Parkable(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	return &parkable{w, r}
}

type parkable struct {
	http.ResponseWriter
	request *http.Request
}

// Unwrap is for http.ResponseController.
func (p *parkable) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Hijack implements http.Hijacker.
func (p *parkable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if e, _ := p.request.Context().Value(exchangeKey{}).(*exchange); e != nil { // this request's alone: Hijack may fail
		e.writer.stays = true
	}
	nc, rw, err := http.NewResponseController(p.ResponseWriter).Hijack()
	if err != nil {
		return nc, rw, err
	}
	c := &Conn{Conn: nc, worker: workerOf(nc)}
	if n := rw.Reader.Buffered(); n > 0 {
		c.ahead = make([]byte, n)
		_, _ = rw.Reader.Read(c.ahead)
	}
	rw.Reader.Reset(c)
	rw.Writer.Reset(c)
	return c, rw, nil
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.ahead) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.ahead)
	if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
		c.ahead = nil
	}
	return n, nil
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.writes.Lock()
	defer c.writes.Unlock()
	return c.Conn.Write(p)
}

// Park returns at once, and has f called, once and in a goroutine of its own, when there are bytes, or their end or an
// error, for Read to return; so too at the deadline of reads, and when the Conn is closed. Until then the connection
// has neither goroutine nor buffer, and nobody may read. Writes, deadlines and Close are allowed as ever.
//
// f may find, in rare cases, that Read waits nevertheless: when the deadline was moved just then.
// Bytes that a buffer above the Conn has read are unknown to Park, so read by a library that takes
// no more than it needs.
func (c *Conn) Park(f func()) {
	if len(c.ahead) > 0 || !c.parks(f) {
		go f()
	}
}

// parks reports false where f is to be called at once.
func (c *Conn) parks(f func()) bool {
	w := c.worker
	if w == nil {
		go func() {
			var b [1]byte
			if n, _ := c.Conn.Read(b[:]); n > 0 { // an error comes again
				c.ahead = b[:]
			}
			f()
		}()
		return true
	}
	w.server.mu.Lock()
	defer w.server.unlock()
	if w.conn.tls != nil {
		var b [1]byte
		n, _, some := w.conn.readNow(w, b[:])
		if n > 0 {
			c.ahead = b[:]
		}
		if some {
			return false
		}
		again := f
		f = func() { c.Park(again) } // not all that comes is for Read
	}
	return w.park(f)
}

// park has f called when there is something to be read. It reports false where there is. mu is held.
func (w *worker) park(f func()) bool {
	c := w.conn
	if len(c.in) > 0 || c.err != nil || c.ended || !w.deadlines.in.IsZero() && !w.deadlines.in.After(time.Now()) {
		return false
	}
	w.then = f
	if !w.deadlines.in.IsZero() {
		c.handle.SetDeadline(c, w.deadlines.in)
	}
	return true
}

// unpark calls what Park has got. mu is held.
func (w *worker) unpark() {
	if f := w.then; f != nil {
		w.then = nil
		go f()
	}
}
