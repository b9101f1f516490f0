package loadgen

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"evenkeel.dev/internal/leaks"
)

// peer2 is a server of HTTP/2 frame by frame, which does with each request what a test says.
type peer2 struct {
	*http2.Framer
	conn   *net.TCPConn
	served int // requests on this connection so far, this one included
	block  bytes.Buffer
	enc    *hpack.Encoder
}

// servePeer2 has handle called for each request, on the connection's goroutine; the connection ends when it
// returns false.
func servePeer2(t testing.TB, settings []http2.Setting, handle func(p *peer2, stream uint32) bool) string {
	t.Helper()
	return serveRaw(t, func(c *net.TCPConn, br *bufio.Reader) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(br, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		p := &peer2{Framer: http2.NewFramer(c, br), conn: c}
		p.enc = hpack.NewEncoder(&p.block)
		p.WriteSettings(settings...)
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := f.(*http2.HeadersFrame); ok {
				if p.served++; !handle(p, h.StreamID) {
					c.CloseWrite() // and no reset, as of one that closes with frames unread
					io.Copy(io.Discard, br)
					return
				}
			}
		}
	})
}

func (p *peer2) head(stream uint32, end bool, fields ...string) {
	p.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	p.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: p.block.Bytes(), EndHeaders: true,
		EndStream: end,
	})
}

func (p *peer2) ok(stream uint32) bool {
	p.head(stream, true, ":status", "200")
	return true
}

// What servers may do with a stream or a connection.
func TestHTTP2Peers(t *testing.T) {
	leaks.Test(t)
	var once sync.Once
	var gone atomic.Int64
	for name, c := range map[string]struct {
		handle   func(p *peer2, stream uint32) bool
		answered int64
		class    Class // of the others
		text     string
		connects int64 // 0: any
		one      bool  // stream only
	}{
		"a body in parts, and a trailer": {answered: 20, connects: 1, handle: func(p *peer2, s uint32) bool {
			p.head(s, false, ":status", "103")
			p.head(s, false, ":status", "200", "date", "today")
			p.WriteDataPadded(s, false, []byte("o"), make([]byte, 9))
			p.WritePing(false, [8]byte{1})
			p.WriteData(s, false, []byte("k"))
			p.head(s, true, "grpc-status", "0")
			return true
		}},
		"settings that change": {answered: 20, connects: 1, handle: func(p *peer2, s uint32) bool {
			p.WriteSettings(http2.Setting{
				ID:  http2.SettingMaxConcurrentStreams,
				Val: uint32(p.served % 3),
			}, http2.Setting{
				ID:  http2.SettingHeaderTableSize,
				Val: uint32(p.served % 2 * 100),
			})
			p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
			return p.ok(s)
		}},
		"refused once": {answered: 20, connects: 1, handle: func(p *peer2, s uint32) bool {
			refuse := false
			once.Do(func() { refuse = true })
			if refuse {
				p.WriteRSTStream(s, http2.ErrCodeRefusedStream)
				return true
			}
			return p.ok(s)
		}},
		"refused always": {class: ClassReset, text: "REFUSED_STREAM", handle: func(p *peer2, s uint32) bool {
			p.WriteRSTStream(s, http2.ErrCodeRefusedStream)
			return true
		}},
		"reset": {class: ClassReset, text: "INTERNAL_ERROR", connects: 1, handle: func(p *peer2, s uint32) bool {
			p.head(s, false, ":status", "200")
			p.WriteRSTStream(s, http2.ErrCodeInternal)
			return true
		}},
		// Each connection serves three: the others are sent to the next, as the server said that it
		// has not touched them.
		"gone after three": {answered: 20, handle: func(p *peer2, s uint32) bool {
			if p.served == 3 {
				p.WriteGoAway(s, http2.ErrCodeNo, nil)
			}
			if p.served <= 3 {
				p.ok(s)
			}
			return true
		}},
		// The same request is too late three times.
		"gone at once": {answered: 20, connects: 4, one: true, handle: func(p *peer2, s uint32) bool {
			if gone.Add(1) <= 3 {
				p.WriteGoAway(0, http2.ErrCodeNo, nil)
				return true
			}
			return p.ok(s)
		}},
		// Without a word of the server, only what it cannot have seen is sent again.
		"closed after three": {answered: 20, one: true, handle: func(p *peer2, s uint32) bool {
			if p.ok(s); p.served == 3 {
				return false
			}
			return true
		}},
		"gone in anger": {class: ClassClosed, text: "ENHANCE_YOUR_CALM", handle: func(p *peer2, s uint32) bool {
			p.WriteGoAway(s, http2.ErrCodeEnhanceYourCalm, nil)
			return false
		}},
		"closed in the middle": {class: ClassClosed, handle: func(p *peer2, s uint32) bool {
			p.head(s, false, ":status", "200")
			return false
		}},
		"no status": {class: ClassProtocol, text: "no status", connects: 1, handle: func(p *peer2, s uint32) bool {
			p.head(s, true, "date", "today")
			return true
		}},
		"an informational answer alone": {class: ClassProtocol, connects: 1, handle: func(p *peer2, s uint32) bool {
			p.head(s, true, ":status", "103")
			return true
		}},
		"two headers": {class: ClassProtocol, connects: 1, handle: func(p *peer2, s uint32) bool {
			p.head(s, false, ":status", "200")
			p.head(s, false, ":status", "200")
			return true
		}},
		"a body first": {
			class: ClassProtocol, text: "before its header", connects: 1,
			handle: func(p *peer2, s uint32) bool {
				p.WriteData(s, true, []byte("ok"))
				return true
			},
		},
		"a push": {class: ClassProtocol, handle: func(p *peer2, s uint32) bool {
			p.WritePushPromise(http2.PushPromiseParam{
				StreamID: s, PromiseID: 2, EndHeaders: true,
				BlockFragment: []byte{0x82},
			})
			return true
		}},
		"noise": {class: ClassProtocol, handle: func(p *peer2, _ uint32) bool {
			p.conn.Write([]byte(strings.Repeat("noise ", 100)))
			return true
		}},
		"a header that is none": {class: ClassProtocol, handle: func(p *peer2, s uint32) bool {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: []byte{
				0xff, 0xff, 0xff, 0xff, 0xff,
				0xff,
			}, EndHeaders: true})
			return true
		}},
	} {
		addr := servePeer2(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 4}}, c.handle)
		for _, streams := range []int{1, 4} {
			if c.one && streams > 1 {
				continue
			}
			r := run(t, Options{
				Targets: []Target{{URL: "http://" + addr}}, Protocol: ProtocolHTTP2, Requests: 20,
				Connections: 1, Streams: streams,
			})
			if r.Requests() != 20 || r.Answered != c.answered || c.class != "" && class(r, c.class) != 20-c.answered ||
				c.connects > 0 && r.Connects != c.connects {
				t.Errorf("%s, %d streams: answered %d over %d connections, %+v", name, streams, r.Answered, r.Connects,
					r.Failures)
			}
			if c.text != "" && !strings.Contains(r.Failures[0].Example, c.text) {
				t.Errorf("%s: %q", name, r.Failures[0].Example)
			}
		}
	}
}

// A server that allows as many streams as there are numbers, which is how some say that they have
// no limit: an int has 32 bits on some systems.
func TestHTTP2NoLimitOfStreams(t *testing.T) {
	leaks.Test(t)
	addr := servePeer2(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1<<32 - 1}}, (*peer2).ok)
	r := run(t, Options{
		Targets: []Target{{URL: "http://" + addr}}, Protocol: ProtocolHTTP2, Requests: 20,
		Connections: 1, Streams: 3,
	})
	if r.Answered != 20 {
		t.Errorf("answered %d, %+v", r.Answered, r.Failures)
	}
}

// A connection on which nothing comes any more gets no more requests.
func TestHTTP2DeadConnection(t *testing.T) {
	leaks.Test(t)
	var conns atomic.Int64
	addr := servePeer2(t, nil, func(p *peer2, s uint32) bool {
		if p.served == 1 {
			conns.Add(1)
		}
		return conns.Load() == 1 || p.ok(s) // the first connection never answers
	})
	r := run(t, Options{
		Targets: []Target{{URL: "http://" + addr}}, Protocol: ProtocolHTTP2, Requests: 20,
		Connections: 1, Streams: 3, Timeout: time.Second,
	})
	if n := class(r, ClassTimeout); n < 3 || r.Answered+n != 20 || r.Connects < 2 {
		t.Errorf("answered %d over %d connections, %+v", r.Answered, r.Connects, r.Failures)
	}
}

// A server that never allows a stream, and one that never says SETTINGS.
func TestHTTP2NeverOpens(t *testing.T) {
	leaks.Test(t)
	for name, addr := range map[string]string{
		"no streams":  servePeer2(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 0}}, nil),
		"no settings": serveRaw(t, func(_ *net.TCPConn, br *bufio.Reader) { io.Copy(io.Discard, br) }),
	} {
		r := run(t, Options{
			Targets: []Target{{URL: "http://" + addr}}, Protocol: ProtocolHTTP2, Requests: 6,
			Connections: 1, Streams: 3, Timeout: 200 * time.Millisecond,
		})
		if class(r, ClassTimeout) != 6 {
			t.Errorf("%s: answered %d, %+v", name, r.Answered, r.Failures)
		}
	}
}

// FuzzHTTP2 has a server answer with any bytes after its SETTINGS: the run ends, and its sums are right.
func FuzzHTTP2(f *testing.F) {
	frame := func(write func(*http2.Framer)) []byte {
		var b bytes.Buffer
		write(http2.NewFramer(&b, nil))
		return b.Bytes()
	}
	ok := frame(func(f *http2.Framer) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true})
		f.WriteData(1, true, []byte("ok"))
	})
	f.Add(ok)
	f.Add(append(ok[:len(ok):len(ok)], frame(func(f *http2.Framer) {
		f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3})
		f.WriteWindowUpdate(0, 1<<30)
		f.WriteWindowUpdate(3, 5)
		f.WriteRSTStream(3, http2.ErrCodeRefusedStream)
		f.WritePing(false, [8]byte{})
		f.WriteGoAway(5, http2.ErrCodeNo, nil)
	})...))
	f.Add(frame(func(f *http2.Framer) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}})
		f.WriteContinuation(1, true, []byte{0x48, 3, '1', '0', '3'})
	}))
	var answer atomic.Pointer[[]byte]
	addr := serveRaw(f, func(c *net.TCPConn, br *bufio.Reader) {
		http2.NewFramer(c, nil).WriteSettings()
		c.Write(*answer.Load())
		c.CloseWrite()
		io.Copy(io.Discard, br)
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		answer.Store(&b)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r := runContext(t, ctx, Options{
			Targets:  []Target{{URL: "http://" + addr, Method: "POST", Body: []byte("a body")}},
			Protocol: ProtocolHTTP2, Requests: 3, Connections: 1, Streams: 2, Timeout: patience,
		})
		if r.Requests() != 3 || r.Interrupted {
			t.Errorf("%d requests ended, interrupted %v", r.Requests(), r.Interrupted)
		}
	})
}
