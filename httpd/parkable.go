package httpd

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// Conn is a hijacked connection that may wait without a goroutine. See [Parkable]. One goroutine at
// a time may read, any may write. A queued Write counts as written.
type Conn struct {
	net.Conn // net/http's own if aio does not have the connection

	worker *worker // nil if aio does not have the connection
	ahead  []byte
}

// Parkable returns w with a Hijack whose net.Conn is a *[Conn], for servers with very many
// WebSocket connections that are mostly silent. r is the request, or a copy by WithContext.
//
//	nc, _, _, err := ws.UpgradeHTTP(r, httpd.Parkable(w, r)) // of github.com/gobwas/ws
//	c := nc.(*httpd.Conn)                                     // if err is nil
//	c.Park(func() { serve(c) })                               // reads a message, answers, and calls Park again
//
// The Conn's Read returns bytes that were read too early. The bufio.Reader that Hijack gives is
// empty. A connection with a goroutine ([Serve] says which) gets a Conn too, without the saving.
func Parkable(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	return &parkable{w, r}
}

type parkable struct {
	http.ResponseWriter
	request *http.Request
}

func (p *parkable) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *parkable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	// the context's exchange is only of this request, because Hijack may fail
	if e, _ := p.request.Context().Value(exchangeKey{}).(*exchange); e != nil {
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

// Park returns at once. It calls f once, in a goroutine, when Read has bytes, an end or an error to
// return, when the read deadline passes, or when the Conn is closed. Until then the connection has
// neither a goroutine nor a buffer, and nobody may read. Writes, deadlines and Close are allowed.
//
// Read may still wait in f if the deadline was moved at that moment. Park does not see bytes in a
// buffer above the Conn, so use a library that reads no more than it needs.
func (c *Conn) Park(f func()) {
	if len(c.ahead) > 0 || !c.parks(f) {
		go f()
	}
}

func (c *Conn) parks(f func()) bool {
	w := c.worker
	if w == nil {
		go func() {
			var b [1]byte
			if n, _ := c.Conn.Read(b[:]); n > 0 {
				c.ahead = b[:]
			}
			f()
		}()
		return true
	}
	w.loop.mu.Lock()
	defer w.loop.unlock()
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
		f = func() { c.Park(again) } // what came may be nothing for Read
	}
	return w.setParkFunc(f)
}

// setParkFunc calls f when there is something to read, or returns false if there is. The caller holds mu.
func (w *worker) setParkFunc(f func()) bool {
	c := w.conn
	if len(c.in) > 0 || c.err != nil || c.ended || !w.deadlines.in.IsZero() && !w.deadlines.in.After(time.Now()) {
		return false
	}
	w.parkFunc = f
	if !w.deadlines.in.IsZero() {
		c.handle().SetDeadline(c, w.deadlines.in)
	}
	return true
}

func (w *worker) callParkFunc() {
	if f := w.parkFunc; f != nil {
		w.parkFunc = nil
		go f()
	}
}
