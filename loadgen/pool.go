package loadgen

import (
	"context"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
)

// feeder is a loop as the streams of HTTP/2 see it.
type feeder interface {
	// more ends a stream's job and gives it the next. Where it gives none the stream is idle, or over.
	more(s *stream) (j job, rec *recorder, ok bool)
}

// pool has the connections of a run over HTTP/2. No goroutine waits for an answer: a connection's
// reader ends the requests whose answers it reads and sends the next on their streams, all that one
// read brought in one write.
//
//	pool ──> line, as many as Connections ──> muxConn, one a host
//	           └──> stream, as many as Streams: one request at a time, on the connection to its host
//
// A stream is owned by the loop while it is idle and by a connection from muxConn.start until its
// request has ended; then for a moment by the connection's reader, which asks the loop for more.
//
// Lock order: none of openLoop.mu, line.mu and muxConn.mu is taken with another held.
type pool struct {
	e      *engine
	ctx    context.Context
	loop   feeder
	direct bool // whoever has a request writes it: what a connection's streams send fits its send buffer
	lines  []*line
	wg     sync.WaitGroup // the connections' goroutines
}

func newPool(ctx context.Context, e *engine, loop feeder) *pool {
	p := &pool{e: e, ctx: ctx, loop: loop, direct: true}
	for _, r := range e.reqs {
		p.direct = p.direct && len(r.wire)*e.o.Streams <= 4*directBytes
	}
	return p
}

// stream makes the i-th stream, in order. One goroutine at a time may call it.
func (p *pool) stream(i int) *stream {
	k := i / p.e.o.Streams
	if k == len(p.lines) {
		p.lines = append(p.lines, &line{p: p, conns: make([]*muxConn, len(p.e.hosts))})
	}
	return &stream{line: p.lines[k]}
}

// line is what one of Options.Connections is over HTTP/2: a connection to each host.
type line struct {
	p     *pool
	mu    sync.Mutex
	conns []*muxConn // by host; nil where there is none, or none that takes more; guarded by mu
}

// send has a stream's request sent on the connection to its host, which is made where there is none.
// by is the connection whose reader calls, nil for others.
func (l *line) send(s *stream, by *muxConn) {
	host := s.req.host
	s.sent = l.p.e.now()
	for {
		l.mu.Lock()
		c := l.conns[host]
		if c == nil {
			c = newMuxConn(l, host)
			c.pending = append(c.pending, s)
			l.conns[host] = c
			l.mu.Unlock()
			l.p.wg.Go(c.run)
			return
		}
		l.mu.Unlock()
		if c.start(s, by) {
			return
		}
		l.forget(c)
	}
}

// forget has no more requests sent on a connection.
func (l *line) forget(c *muxConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[c.host] == c {
		l.conns[c.host] = nil
	}
}

// stream carries one request at a time over HTTP/2. See pool for who owns it.
type stream struct {
	line *line

	job    job
	rec    *recorder
	req    *request
	resent int   // how often it was sent again
	sent   int64 // when it went out, or when it came to a connection that could not send it yet

	// While the request is on a connection, guarded by its mu.
	id         uint32
	prev, next *stream // in the order of sending
	status     int     // 0: none yet
	bytes      int64   // of the answer's body
	credit     uint32  // received, and not yet given back to the server's window
	window     int64   // what the server lets us send
	rest       []byte  // of the request's body
}

// hold is for a worker: an idle stream needs no lock, since nothing happens to it.
func (s *stream) hold() {}

// ready says that an idle stream can have a request: a connection is made where there is none.
func (s *stream) ready() bool { return true }

// assign sends a job on an idle stream.
func (s *stream) assign(j job, rec *recorder) { s.begin(j, rec, nil) }

func (s *stream) begin(j job, rec *recorder, by *muxConn) {
	s.job, s.rec, s.resent = j, rec, 0
	s.req = s.line.p.e.request(j)
	s.line.send(s, by)
}

// end records how the stream's request ended, at a time, and goes on with the next.
func (s *stream) end(by *muxConn, at int64, a answer, err error) {
	p := s.line.p
	s.rec.ended(p.ctx, s.job, s.sent, at, a, err)
	if j, rec, ok := p.loop.more(s); ok {
		s.begin(j, rec, by)
	}
}

// resends is how often a request is sent again that a GOAWAY without an error has refused, as the
// server ends the connection after some requests: the same one may be too late on several.
// net/http's client goes on for as long, and waits between (Transport.RoundTrip of HTTP/2).
const resends = 6

// times is how often a request is sent again: n, where that is allowed.
func times(n int, allowed bool) int {
	if allowed {
		return n
	}
	return 0
}

// retry sends a request again, where it was sent again less often than that, else it ends it.
func (s *stream) retry(by *muxConn, at int64, limit int, err error) {
	if s.resent >= limit || s.line.p.ctx.Err() != nil {
		s.end(by, at, answer{}, err)
		return
	}
	s.resent++
	s.line.send(s, by)
}

// header returns the request's fields.
func (s *stream) header() []hpack.HeaderField {
	if s.req.fields == nil {
		// It is well-formed: preparedHTTP2 and the wire of HTTP/1.1 have checked it.
		fs, _ := s.req.target.fields()
		return fs
	}
	return s.req.fields
}

// timeout is when the stream's request is given up.
func (s *stream) timeout() int64 { return s.sent + int64(s.line.p.e.o.Timeout) }

func (p *pool) time(ns int64) time.Time { return p.e.epoch.Add(time.Duration(ns)) }
