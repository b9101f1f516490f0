package loadgen

import (
	"golang.org/x/net/http2"
)

// muxOutBytes is how much of requests' bodies may wait to be written.
const muxOutBytes = 256 << 10

// start sends a stream's request on the connection, or has it wait until it can be sent; false where
// the connection takes no more. by is the connection whose reader calls: its own writes what comes
// when it has read all there is.
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

// open begins a stream. The caller holds mu.
func (c *muxConn) open(s *stream, now int64) {
	s.id, s.sent = c.nextID, max(s.sent, now)
	s.status, s.bytes, s.credit = 0, 0, 0
	if c.nextID += 2; c.nextID > muxLastID {
		c.state = muxClosing
	}
	c.streams[s.id] = s
	if s.prev = c.newest; s.prev == nil {
		c.oldest = s
	} else {
		s.prev.next = s
	}
	c.newest = s

	c.block.Reset()
	for _, f := range s.header() {
		_ = c.encoder.WriteField(f) // into memory, so it cannot fail
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

// pump frames as much of the bodies as the server's windows allow. The caller holds mu.
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

// flush writes, or leaves it to the goroutine that does.
func (c *muxConn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.out) == 0 || c.writing || c.nc == nil:
	case c.wake != nil:
		select {
		case c.wake <- struct{}{}:
		default: // it will wake anyway
		}
	default:
		c.write()
	}
}

// writeOn writes in a goroutine of its own if requests may exceed the send buffer. The reader must
// not wait for a server that waits for the reader.
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

// write writes until nothing is left. The caller holds mu, which it releases while it writes.
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
