package loadgen

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// muxWindow is what a server may send ahead, so this client never holds it up.
	muxWindow = 1 << 30
	// muxFrameBytes is HTTP/2's default.
	muxFrameBytes  = 16 << 10
	muxHeaderBytes = 1 << 20
	muxLastID      = 1<<31 - 1
)

var (
	errMalformed = errors.New("malformed HTTP/2")
	errReset     = errors.New("the server reset the stream")
	errGoAway    = errors.New("the server ended the connection (GOAWAY)")
)

// muxState only rises.
type muxState int

const (
	muxOpening muxState = iota // before the server's SETTINGS; requests wait in pending
	muxOpen
	muxClosing // no new requests; it closes after the last
	muxClosed
)

// muxConn is an HTTP/2 connection, on x/net's frames and HPACK. The goroutine of run reads.
type muxConn struct {
	p    *pool
	line *line
	host int

	// Owned by the reader.
	frames  *http2.Framer
	header  *hpack.Decoder
	status  int // of the header block under way
	headEnd bool
	got     int64
	credit  uint32
	away    error // of GOAWAY; nil: none

	wake chan struct{} // of writeOn; nil: who has a request writes

	mu      sync.Mutex // guards all below
	state   muxState
	nc      net.Conn  // set once, before muxOpen
	pending []*stream // waiting, oldest first
	streams []*stream // in the order of sending, so by id
	nextID  uint32
	most    int   // streams at a time
	armed   int64 // reader's deadline; 0: none

	writer  *http2.Framer // into out
	encoder *hpack.Encoder
	block   bytes.Buffer
	out     []byte
	spare   []byte
	writing bool  // a goroutine writes all of out
	window  int64 // of the connection
	initial int64 // of streams
	frame   int   // longest
	blocked []*stream
}

func newMuxConn(l *line, host int) *muxConn {
	c := &muxConn{
		p: l.p, line: l, host: host, nextID: 1, most: l.p.e.o.Streams,
		window: 65535, initial: 65535, frame: muxFrameBytes, // until SETTINGS: RFC 9113, 6.5.2
	}
	c.writer = http2.NewFramer((*muxOut)(c), nil)
	c.encoder = hpack.NewEncoder(&c.block)
	c.header = hpack.NewDecoder(4096, c.field)
	c.header.SetMaxStringLength(muxHeaderBytes)
	if !l.p.direct {
		c.wake = make(chan struct{}, 1)
	}
	return c
}

type muxOut muxConn

func (o *muxOut) Write(b []byte) (int, error) {
	o.out = append(o.out, b...)
	return len(b), nil
}

func (c *muxConn) run() {
	e := c.p.e
	nc, err := e.connected(c.p.ctx, c.host)
	if err == nil {
		err = c.serve(nc)
		e.drop(nc)
	}
	at := e.now()
	c.mu.Lock()
	opened := c.state >= muxOpen
	c.state = muxClosed
	over, waiting := c.abandoned(0), c.pending
	c.pending = nil
	c.mu.Unlock()
	c.line.forget(c)
	if !opened && e.o.Rate == 0 {
		sleep(c.p.ctx, redial) // the service may be down
	}
	for _, s := range over {
		// The server may have closed the connection just as the request went out.
		s.retry(c, at, times(1, s.req.replayable && c.got < s.sent && s.id > 1), err)
	}
	for _, s := range waiting {
		s.retry(c, at, times(1, opened), err)
	}
}

// abandoned removes the streams above an id, oldest first. The caller holds mu.
func (c *muxConn) abandoned(above uint32) []*stream {
	i, _ := c.find(above + 1)
	over := slices.Clone(c.streams[i:])
	for _, s := range over {
		c.remove(s)
	}
	return over
}

func (c *muxConn) serve(nc net.Conn) error {
	if c.wake != nil {
		done := make(chan struct{})
		defer close(done)
		c.p.e.wg.Go(func() { c.writeOn(done) })
	}
	c.mu.Lock()
	c.nc = nc
	c.out = append(c.out, http2.ClientPreface...)
	err := errors.Join(
		c.writer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: muxWindow}),
		c.writer.WriteWindowUpdate(0, muxWindow),
		nc.SetReadDeadline(c.p.time(c.p.e.now()).Add(c.p.e.o.Timeout)))
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.frames = http2.NewFramer(nil, bufio.NewReaderSize((*muxIn)(c), readBufferBytes))
	c.frames.SetReuseFrames()
	c.frames.SetMaxReadFrameSize(muxFrameBytes)
	for first := true; ; first = false {
		f, err := c.frames.ReadFrame()
		if _, settings := f.(*http2.SettingsFrame); first && err == nil && !settings {
			err = fmt.Errorf("%w: the server's first frame is %v, not SETTINGS", errMalformed, f.Header().Type)
		}
		var of http2.StreamError
		switch {
		case err == nil:
			err = c.received(f)
		case errors.As(err, &of):
			err = c.broken(of.StreamID, of.Code, fmt.Errorf("%w: %w", errMalformed, of))
		case first && errors.Is(err, io.EOF):
			return fmt.Errorf("the server closed the connection instead of speaking HTTP/2: %w", err)
		}
		if err != nil {
			return c.cause(err)
		}
	}
}

func (c *muxConn) cause(err error) error {
	var broken http2.ConnectionError
	switch {
	case errors.As(err, &broken), errors.Is(err, http2.ErrFrameTooLarge):
		return fmt.Errorf("%w: %w", errMalformed, err)
	case c.away != nil:
		return c.away
	}
	return err
}

// muxIn writes what the last frames caused before it blocks.
type muxIn muxConn

func (in *muxIn) Read(b []byte) (int, error) {
	c := (*muxConn)(in)
	for {
		c.flush()
		n, err := c.nc.Read(b)
		if n > 0 {
			c.got = c.p.e.now()
			return n, nil
		}
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || !c.expire()) {
			return 0, err
		}
	}
}

// expire ends requests that timed out. It returns false if connecting did.
func (c *muxConn) expire() bool {
	now := c.p.e.now()
	c.mu.Lock()
	if c.state == muxOpening {
		c.mu.Unlock()
		return false
	}
	var over, moved []*stream
	dead := false
	for len(c.streams) > 0 && c.streams[0].timeout() <= now {
		s := c.streams[0]
		c.remove(s)
		over = append(over, s)
		_ = c.writer.WriteRSTStream(s.id, http2.ErrCodeCancel)
		dead = dead || c.got < s.sent
	}
	for len(c.streams) == 0 && len(c.pending) > 0 && c.pending[0].timeout() <= now { // the server allows no streams
		over = append(over, c.pending[0])
		c.pending = c.pending[1:]
	}
	if dead && c.state == muxOpen {
		// No byte came since then, so other requests go to another connection.
		c.state = muxClosing
		moved, c.pending = c.pending, nil
	}
	c.proceed(now)
	c.armed = 0
	c.arm()
	c.mu.Unlock()
	if dead {
		c.line.forget(c)
	}
	for _, s := range over {
		s.end(c, now, answer{}, os.ErrDeadlineExceeded)
	}
	for _, s := range moved {
		s.line.send(s, c)
	}
	return true
}

// arm sets the reader's deadline, unless it is set. So it moves once in a Timeout. The caller holds
// mu.
func (c *muxConn) arm() {
	if c.armed != 0 || c.state == muxOpening {
		return
	}
	at := time.Time{}
	switch {
	case len(c.streams) > 0:
		c.armed = c.streams[0].timeout()
	case len(c.pending) > 0:
		c.armed = c.pending[0].timeout()
	}
	if c.armed != 0 {
		at = c.p.time(c.armed)
	}
	_ = c.nc.SetReadDeadline(at) // the next read finds a dead connection
}

// find returns where the stream of an id is in streams, or would be.
func (c *muxConn) find(id uint32) (i int, found bool) {
	return slices.BinarySearchFunc(c.streams, id, func(s *stream, id uint32) int { return cmp.Compare(s.id, id) })
}

// stream returns the stream of an id, or nil if it has ended. The caller holds mu.
func (c *muxConn) stream(id uint32) *stream {
	if i, found := c.find(id); found {
		return c.streams[i]
	}
	return nil
}

func (c *muxConn) remove(s *stream) {
	if i, found := c.find(s.id); found {
		c.streams = slices.Delete(c.streams, i, i+1)
	}
	if s.rest != nil {
		s.rest = nil
		c.blocked = slices.DeleteFunc(c.blocked, func(b *stream) bool { return b == s })
	}
}

// proceed starts waiting requests, or closes a closing connection without streams. The reader calls
// it with mu.
func (c *muxConn) proceed(now int64) {
	for c.state == muxOpen && len(c.pending) > 0 && len(c.streams) < c.most {
		s := c.pending[0]
		c.pending = c.pending[1:]
		c.open(s, now)
	}
	if c.state == muxClosing && len(c.streams) == 0 {
		c.nc.Close()
	}
}

func (c *muxConn) field(f hpack.HeaderField) {
	if f.Name == ":status" && len(f.Value) == 3 && f.Value[0] != '-' && f.Value[0] != '+' {
		c.status, _ = strconv.Atoi(f.Value)
	}
}
