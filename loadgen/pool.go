package loadgen

import (
	"context"
	"sync"
	"time"
)

type feeder interface {
	// more ends a stream's job and gives it the next. Without one the stream is idle, or over.
	more(s *stream) (j job, ok bool)
}

// pool has the HTTP/2 connections of a run. No goroutine waits for an answer. A connection's reader
// ends the requests whose answers it reads. Then it sends the next ones in one write.
//
//	pool ──> line, as many as Connections ──> muxConn, one for each host
//	           └──> stream, as many as Streams: one request at a time
//
// The loop owns an idle stream. From muxConn.start until its request has ended, the connection owns
// it. Then the connection's reader owns it while it asks the loop for more.
//
// Lock order: no goroutine takes one of openLoop.mu, line.mu and muxConn.mu while it holds another.
type pool struct {
	e      *engine
	ctx    context.Context
	loop   feeder
	direct bool // all requests of a connection fit its send buffer, so a stream's user writes
	lines  []*line
}

func newPool(ctx context.Context, e *engine, loop feeder) *pool {
	p := &pool{e: e, ctx: ctx, loop: loop, direct: true}
	for _, r := range e.reqs {
		p.direct = p.direct && len(r.wire)*e.o.Streams <= 4*directBytes
	}
	return p
}

// stream makes the streams in order, for one goroutine at a time.
func (p *pool) stream(i int) *stream {
	k := i / p.e.o.Streams
	if k == len(p.lines) {
		p.lines = append(p.lines, &line{p: p, conns: make([]*muxConn, len(p.e.hosts))})
	}
	return &stream{line: p.lines[k]}
}

type line struct {
	p     *pool
	mu    sync.Mutex
	conns []*muxConn // by host; nil: none with room; guarded by mu
}

// send connects to the host if necessary. by is the connection whose reader calls, or nil.
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
			l.p.e.wg.Go(c.run)
			return
		}
		l.mu.Unlock()
		if c.start(s, by) {
			return
		}
		l.forget(c)
	}
}

// forget takes a connection out of use for new requests.
func (l *line) forget(c *muxConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[c.host] == c {
		l.conns[c.host] = nil
	}
}

type stream struct {
	line *line

	job    job
	req    *request
	resent int   // how often
	sent   int64 // or first waited

	// The connection's mu guards these.
	id     uint32
	status int    // 0: none yet
	bytes  int64  // of the body
	credit uint32 // not yet returned to the server's window
	window int64  // what the server accepts
	rest   []byte // of the request's body
}

// An idle stream needs no lock, and send connects if necessary.
func (s *stream) hold() {}

func (s *stream) ready() bool { return true }

func (s *stream) assign(j job) { s.begin(j, nil) }

func (s *stream) begin(j job, by *muxConn) {
	s.job, s.resent = j, 0
	s.req = s.line.p.e.request(j)
	s.line.send(s, by)
}

// end records how a request ended, and goes on with the next.
func (s *stream) end(by *muxConn, at int64, a answer, err error) {
	p := s.line.p
	s.job.rec.ended(p.ctx, s.job, s.sent, at, a, err)
	if j, ok := p.loop.more(s); ok {
		s.begin(j, by)
	}
}

// resends limits how often a GOAWAY without an error may refuse a request. A server that ends
// connections after some requests may do so on several. net/http's client has the same limit.
const resends = 6

func times(n int, allowed bool) int {
	if allowed {
		return n
	}
	return 0
}

// retry sends a request again, at most limit times, else it ends it.
func (s *stream) retry(by *muxConn, at int64, limit int, err error) {
	if s.resent >= limit || s.line.p.ctx.Err() != nil {
		s.end(by, at, answer{}, err)
		return
	}
	s.resent++
	s.line.send(s, by)
}

func (s *stream) timeout() int64 { return s.sent + int64(s.line.p.e.o.Timeout) }

func (p *pool) time(ns int64) time.Time { return p.e.epoch.Add(time.Duration(ns)) }
