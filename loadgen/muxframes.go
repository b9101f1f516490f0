package loadgen

import (
	"fmt"

	"golang.org/x/net/http2"
)

// received handles a frame. Its error ends the connection.
func (c *muxConn) received(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		c.status, c.headEnd = 0, f.StreamEnded()
		return c.head(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.ContinuationFrame:
		return c.head(f.StreamID, f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.DataFrame:
		return c.data(f)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.WindowUpdateFrame:
		c.widen(f.StreamID, int64(f.Increment))
	case *http2.RSTStreamFrame:
		return c.broken(f.StreamID, http2.ErrCode(0), resetError(f.ErrCode))
	case *http2.GoAwayFrame:
		c.leave(f)
	case *http2.PingFrame:
		c.mu.Lock()
		defer c.mu.Unlock()
		if !f.IsAck() {
			return c.writer.WritePing(true, f.Data)
		}
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

type resetError http2.ErrCode

func (e resetError) Error() string { return fmt.Sprintf("%v: %v", errReset, http2.ErrCode(e)) }

func (e resetError) Unwrap() error { return errReset }

func (c *muxConn) head(id uint32, fragment []byte, ended bool) error {
	if _, err := c.header.Write(fragment); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	if !ended {
		return nil
	}
	if err := c.header.Close(); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	c.mu.Lock()
	s := c.stream(id)
	wrong := ""
	switch {
	case s == nil: // ended already
	case s.status != 0:
		if !c.headEnd {
			wrong = "a second header that ends nothing"
		}
	case c.status >= 200:
		s.status = c.status
	case c.status < 100:
		wrong = "no status"
	case c.headEnd:
		wrong = "an informational answer alone"
	}
	switch {
	case wrong != "":
		c.mu.Unlock()
		return c.broken(id, http2.ErrCodeProtocol, fmt.Errorf("%w: %s", errMalformed, wrong))
	case s == nil || !c.headEnd:
		c.mu.Unlock()
	default:
		c.answered(s)
	}
	return nil
}

func (c *muxConn) data(f *http2.DataFrame) error {
	c.mu.Lock()
	n := f.Length // padding counts
	if c.credit += n; c.credit >= muxWindow/2 {
		_ = c.writer.WriteWindowUpdate(0, c.credit)
		c.credit = 0
	}
	s := c.stream(f.StreamID)
	switch {
	case s == nil:
		c.mu.Unlock()
		return nil
	case s.status == 0:
		c.mu.Unlock()
		return c.broken(f.StreamID, http2.ErrCodeProtocol, fmt.Errorf("%w: a body before its header", errMalformed))
	}
	s.bytes += int64(len(f.Data()))
	if f.StreamEnded() {
		c.answered(s)
		return nil
	}
	if s.credit += n; s.credit >= muxWindow/2 {
		_ = c.writer.WriteWindowUpdate(s.id, s.credit)
		s.credit = 0
	}
	c.mu.Unlock()
	return nil
}

// answered ends a stream. The caller holds mu, and answered unlocks it.
func (c *muxConn) answered(s *stream) {
	if s.rest != nil { // the server did not wait for the body
		_ = c.writer.WriteRSTStream(s.id, http2.ErrCodeNo)
	}
	c.remove(s)
	c.proceed(c.got)
	c.mu.Unlock()
	s.end(c, c.got, answer{status: s.status, bytes: s.bytes}, nil)
}

// broken ends a failed stream, and resets it unless code is 0.
func (c *muxConn) broken(id uint32, code http2.ErrCode, err error) error {
	c.mu.Lock()
	s := c.stream(id)
	if s == nil {
		c.mu.Unlock()
		return nil
	}
	if code != 0 {
		_ = c.writer.WriteRSTStream(id, code)
	}
	c.remove(s)
	c.proceed(c.got)
	c.mu.Unlock()
	// it was not processed (RFC 9113, 8.7)
	s.retry(c, c.got, times(1, err == resetError(http2.ErrCodeRefusedStream)), err)
	return nil
}

// leave handles GOAWAY. Ignored requests go to another connection.
func (c *muxConn) leave(f *http2.GoAwayFrame) {
	c.away = fmt.Errorf("%w: %v", errGoAway, f.ErrCode)
	last := f.LastStreamID
	c.mu.Lock()
	if c.state < muxClosing {
		c.state = muxClosing
	}
	over := c.abandoned(last)
	moved := c.pending
	c.pending = nil
	c.proceed(c.got)
	c.mu.Unlock()
	c.line.forget(c)
	limit := 1
	if f.ErrCode == http2.ErrCodeNo {
		limit = resends
	}
	for _, s := range append(over, moved...) {
		s.retry(c, c.got, limit, c.away)
	}
}

// settings handles SETTINGS. The first open the connection.
func (c *muxConn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingHeaderTableSize:
			c.encoder.SetMaxDynamicTableSizeLimit(s.Val)
		case http2.SettingMaxConcurrentStreams:
			c.most = int(min(uint32(c.p.e.o.Streams), s.Val))
		case http2.SettingMaxFrameSize:
			c.frame = int(s.Val)
		case http2.SettingInitialWindowSize:
			for _, b := range c.streams {
				b.window += int64(s.Val) - c.initial
			}
			c.initial = int64(s.Val)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.writer.WriteSettingsAck(); err != nil {
		return err
	}
	now := c.p.e.now()
	if c.state == muxOpening {
		c.state = muxOpen
	}
	c.proceed(now)
	c.pump()
	c.armed = 0
	c.arm()
	return nil
}

func (c *muxConn) widen(id uint32, by int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == 0 {
		c.window += by
	} else if s := c.stream(id); s != nil {
		s.window += by
	}
	c.pump()
}

const muxOutBytes = 256 << 10

// start sends a request, now or later, or returns false if the connection takes no more. by is the
// connection whose reader calls. That one writes when it has read all there is.
func (c *muxConn) start(s *stream, by *muxConn) bool {
	c.mu.Lock()
	if c.state >= muxClosing {
		c.mu.Unlock()
		return false
	}
	if c.state == muxOpen && len(c.pending) == 0 && len(c.streams) < c.most {
		c.open(s, s.sent)
	} else {
		c.pending = append(c.pending, s)
	}
	c.arm()
	c.mu.Unlock()
	if by != c {
		c.flush()
	}
	return true
}

func (c *muxConn) open(s *stream, now int64) {
	s.id, s.sent = c.nextID, max(s.sent, now)
	s.status, s.bytes, s.credit = 0, 0, 0
	if c.nextID += 2; c.nextID > muxLastID {
		c.state = muxClosing
	}
	c.streams = append(c.streams, s)

	c.block.Reset()
	for _, f := range s.req.fields {
		_ = c.encoder.WriteField(f)
	}
	head, body := c.block.Bytes(), s.req.target.Body
	first := head[:min(len(head), c.frame)]
	head = head[len(first):]
	_ = c.writer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: first, EndHeaders: len(head) == 0, EndStream: len(body) == 0,
	})
	for len(head) > 0 {
		part := head[:min(len(head), c.frame)]
		head = head[len(part):]
		_ = c.writer.WriteContinuation(s.id, len(head) == 0, part)
	}
	if len(body) > 0 {
		s.rest, s.window = body, c.initial
		c.blocked = append(c.blocked, s)
		c.pump()
	}
}

// pump frames as much of the bodies as the windows allow. The caller holds mu.
func (c *muxConn) pump() {
	kept := c.blocked[:0]
	for _, s := range c.blocked {
		for s.rest != nil && c.window > 0 && s.window > 0 && len(c.out) < muxOutBytes {
			n := int(min(int64(len(s.rest)), int64(c.frame), c.window, s.window))
			_ = c.writer.WriteData(s.id, n == len(s.rest), s.rest[:n])
			c.window -= int64(n)
			s.window -= int64(n)
			if s.rest = s.rest[n:]; len(s.rest) == 0 {
				s.rest = nil
			}
		}
		if s.rest != nil {
			kept = append(kept, s)
		}
	}
	clear(c.blocked[len(kept):])
	c.blocked = kept
}

// flush writes, or leaves that to the goroutine that does.
func (c *muxConn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.out) == 0 || c.writing || c.nc == nil:
	case c.wake != nil:
		select {
		case c.wake <- struct{}{}:
		default:
		}
	default:
		c.write()
	}
}

// writeOn writes if requests may exceed the send buffer, because the reader must not wait for a
// server that waits for the reader.
func (c *muxConn) writeOn(done <-chan struct{}) {
	for {
		select {
		case <-c.wake:
			c.mu.Lock()
			c.write()
			c.mu.Unlock()
		case <-done:
			return
		}
	}
}

// write writes all of out. The caller holds mu, which is unlocked during a write.
func (c *muxConn) write() {
	c.writing = true
	for len(c.out) > 0 {
		out := c.out
		c.out = c.spare[:0]
		c.mu.Unlock()
		_ = c.nc.SetWriteDeadline(c.p.time(c.p.e.now()).Add(c.p.e.o.Timeout))
		_, err := c.nc.Write(out)
		c.mu.Lock()
		c.spare = out
		if err != nil {
			c.nc.Close() // the reader notices
			c.out = nil
			break
		}
		c.pump()
	}
	c.writing = false
}
