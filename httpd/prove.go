package httpd

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// proveTime bounds the proof, in case net/http waits for ever.
const proveTime = 10 * time.Second

// prove tests once in a process that net/http reads connections as workers rely on. A release of Go
// may change that. A wrong guess would give one client's bytes to another's request.
var prove = sync.OnceValue(func() error { return (&proof{}).run() })

var unproven = new(sync.Once)

type proof struct {
	breaks func(*observed) net.Conn
	keeps  func(body io.ReadCloser) io.ReadCloser

	now      *observed
	accepted chan net.Conn
	before   io.ReadCloser
}

type dialogue struct {
	requests []string
	ends     []int       // ends of Reads, in the text of all requests
	ahead    map[int]int // by request, bytes that arrive before its handler returns
	served   int
	refused  int
	torn     bool // the client leaves in the middle of the last request
}

const (
	aGet      = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	aPost     = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n"
	aBody     = "12345678"
	aLongPost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16384\r\n\r\n"
	longBody  = 16384
	filling   = "\x00\x00\x00\x00" // peeked bytes of a request
)

// dialogues are whole requests, and requests that begin or end within a Read.
var dialogues = []dialogue{
	{requests: []string{aGet, aGet}, ends: []int{len(aGet), 2 * len(aGet)}, served: 2},
	{requests: []string{aGet, aGet}, ends: []int{len(aGet) + 2, 2 * len(aGet)}, served: 2},
	{requests: []string{aGet, aGet}, ends: []int{2 * len(aGet)}, served: 2},
	{
		requests: []string{aGet, aGet}, ends: []int{len(aGet), len(aGet) + 1, 2 * len(aGet)}, served: 2,
		ahead: map[int]int{0: len(aGet) + 1},
	},
	{
		requests: []string{aPost + aBody, aGet}, served: 2,
		ends: []int{len(aPost) + 3, len(aPost) + len(aBody), len(aPost) + len(aBody) + len(aGet)},
	},
	{
		requests: []string{aGet, aLongPost + strings.Repeat("b", longBody), aGet}, served: 3,
		ends: []int{
			len(aGet) + len(aLongPost), len(aGet) + len(aLongPost) + longBody,
			2*len(aGet) + len(aLongPost) + longBody,
		},
	},
	both(aPost+aBody, blankLines+aGet),
	refusing(aPost+aBody, blankLines+"\r\n"+aGet),
	refusing(aGet, "\r\n"+aGet),
	{requests: []string{aGet, filling[1:]}, ends: []int{len(aGet), len(aGet) + peeked - 1}, served: 1, torn: true},
	{requests: []string{aGet, filling}, ends: []int{len(aGet), len(aGet) + peeked}, served: 1, refused: 1, torn: true},
}

func both(first, second string) dialogue {
	return dialogue{requests: []string{first, second}, ends: []int{len(first), len(first) + len(second)}, served: 2}
}

func refusing(first, second string) dialogue {
	d := both(first, second)
	d.served, d.refused = 1, 1
	return d
}

// run tries all dialogues with and without timeouts, because net/http then sets other deadlines.
func (p *proof) run() error {
	for _, timeout := range []time.Duration{0, time.Hour} {
		srv := &http.Server{
			Handler: http.HandlerFunc(p.handle), ConnState: p.stateChanged,
			ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
			ReadTimeout: 2 * timeout, ReadHeaderTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout,
		}
		if err := p.serve(srv); err != nil {
			return err
		}
	}
	return nil
}

func (p *proof) serve(srv *http.Server) error {
	p.accepted = make(chan net.Conn)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(p) }()
	defer func() {
		close(p.accepted)
		<-ended
	}()
	for _, d := range dialogues {
		o := observe(d)
		p.now, p.before = o, http.NoBody
		var nc net.Conn = o
		if p.breaks != nil {
			nc = p.breaks(o)
		}
		p.accepted <- nc
		select {
		case <-o.ended:
		case <-time.After(proveTime):
			o.fail("it does not come to the end of a connection")
		}
		if err := o.verdict(); err != nil {
			return err
		}
	}
	return nil
}

func (p *proof) stateChanged(_ net.Conn, to http.ConnState) {
	switch to {
	case http.StateIdle:
		p.now.answered()
	case http.StateClosed:
		p.now.end()
	}
}

// handle reads a long body in pieces of readSize, and leaves a short one to net/http.
func (p *proof) handle(_ http.ResponseWriter, r *http.Request) {
	p.now.handled()
	if n, err := p.before.Read(make([]byte, 1)); n > 0 || err == nil {
		p.now.fail("the body of a request can be read when its handler has returned")
	}
	if p.before = r.Body; p.keeps != nil {
		p.before = p.keeps(r.Body)
	}
	if r.ContentLength == longBody {
		for buf, err := make([]byte, readSize), error(nil); err == nil; {
			_, err = r.Body.Read(buf)
		}
	}
}

// Accept, Close and Addr make p the listener of its http.Server.
func (p *proof) Accept() (net.Conn, error) {
	if nc, ok := <-p.accepted; ok {
		return nc, nil
	}
	return nil, net.ErrClosed
}

func (*proof) Close() error { return nil }

func (*proof) Addr() net.Addr { return &net.UnixAddr{Net: "memory"} }

// observed is a connection in memory. It follows the phases of a worker, and knows the bytes of
// each request.
type observed struct {
	dialogue
	text  string
	ended chan struct{}
	end   func() // closes ended. Another net/http may call it twice

	mu       sync.Mutex
	moved    sync.Cond
	phase    phase
	deadline time.Time
	given    int
	handlers int
	idles    int
	reads    int
	out      strings.Builder
	closed   bool
	broken   error
}

func observe(d dialogue) *observed {
	o := &observed{dialogue: d, text: strings.Join(d.requests, ""), ended: make(chan struct{})}
	o.end = sync.OnceFunc(func() { close(o.ended) })
	o.moved.L = &o.mu
	return o
}

// fail records a breach and closes the connection.
func (o *observed) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.breach(format, args...)
	o.closed = true
	o.moved.Broadcast()
}

// breach records why net/http is not as expected. The first reason stays. The caller holds mu.
func (o *observed) breach(format string, args ...any) {
	if o.broken == nil {
		o.broken = fmt.Errorf(format, args...)
	}
}

func (o *observed) verdict() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if refused := strings.Count(o.out.String(), "400 Bad Request\r\n"); o.handlers != o.served || refused != o.refused {
		o.breach("it served %d and refused %d, not %d and %d, of the requests %q",
			o.handlers, refused, o.served, o.refused, o.requests)
	}
	return o.broken
}

func (o *observed) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reads > 0 {
		o.breach("it reads on when a request is answered")
	}
	o.phase = answered
	o.idles++
	o.moved.Broadcast()
}

func (o *observed) handled() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase != inRequest {
		o.breach("it calls a handler before it has set the deadline of the request")
	}
	for o.given < o.ahead[o.handlers] && !o.closed {
		o.moved.Wait()
	}
	o.handlers++
}

// Read returns what the client says next, once the request before is answered.
func (o *observed) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.judge(len(p))
	o.reads++
	defer func() { o.reads-- }()
	for {
		switch end := o.until(o.given, o.idles); {
		case o.closed:
			return 0, net.ErrClosed
		case !o.deadline.IsZero() && !o.deadline.After(time.Now()):
			return 0, errAborted
		case end > o.given:
			n := copy(p, o.text[o.given:end])
			o.given += n
			o.phase = inRequest
			o.moved.Broadcast()
			return n, nil
		case o.given == len(o.text) && (o.torn || o.idles == len(o.requests)):
			return 0, io.EOF
		}
		o.moved.Wait()
	}
}

// until returns the end of the Read that begins at given, or given if nothing has arrived. A
// request comes after the answer to the one before, except for bytes of ahead.
func (d *dialogue) until(given, idles int) int {
	whole := 0
	for _, r := range d.requests[:min(idles+1, len(d.requests))] {
		whole += len(r)
	}
	if given >= max(whole, d.ahead[idles]) {
		return given
	}
	at := slices.IndexFunc(d.ends, func(end int) bool { return end > given })
	return d.ends[at]
}

// judge checks a Read of n bytes. The caller holds mu.
func (o *observed) judge(n int) {
	if o.idles == 0 {
		return // the first request may come to any worker
	}
	ahead := o.given
	for _, r := range o.requests[:o.idles] {
		ahead -= len(r)
	}
	switch {
	case o.phase == answered:
		o.breach("it reads the next request before it has set a deadline")
	case o.phase == between && ahead > 0 && n == readSize:
		o.breach("it asks for %d bytes when it has the beginning of a request", n)
	case o.phase == between && ahead == 0 && n != readSize:
		o.breach("it asks for %d bytes, not %d, when it has nothing of the next request", n, readSize)
	case o.phase == inRequest && ahead == 0:
		o.breach("it sets more than one deadline before it reads the next request")
	}
}

func (o *observed) SetReadDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = t
	switch o.phase {
	case answered:
		o.phase = between
	case between:
		o.phase = inRequest
	}
	o.moved.Broadcast()
	return nil
}

func (o *observed) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(p)
}

func (o *observed) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.moved.Broadcast()
	return nil
}

func (o *observed) SetDeadline(t time.Time) error { return o.SetReadDeadline(t) }

func (*observed) SetWriteDeadline(time.Time) error { return nil }

func (*observed) LocalAddr() net.Addr { return &net.UnixAddr{Net: "memory"} }

func (*observed) RemoteAddr() net.Addr { return &net.UnixAddr{Net: "memory"} }
