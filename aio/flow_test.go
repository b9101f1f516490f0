package aio_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// flood writes to c until it blocks for longer than a short time, and returns how much it wrote. If
// it does so although there was room, it has written less.
func flood(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	chunk := make([]byte, 16<<10)
	for total := 0; ; {
		must(t, c.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		n, err := c.Write(chunk)
		total += n
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return total
		case err != nil:
			t.Fatal(err)
		case total > 64<<20:
			t.Fatal("the peer can write without end")
		}
	}
}

// TestFeatureBackPressureReachesThePeer: while no read is submitted, a peer that writes fills the
// socket's buffers and blocks; with reads it goes on.
func TestFeatureBackPressureReachesThePeer(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		own, there := pair(t)
		must(t, own.SetReadBuffer(256<<10)) // less than loopback's segments makes TCP crawl
		must(t, there.SetWriteBuffer(256<<10))
		_, err := there.Write([]byte("x"))
		must(t, err)
		here := attach(t, w, own)
		must(t, here.Read(nil, make([]byte, 1), none))
		must(t, only(t, w).Error)

		var read atomic.Int64
		pump(t, w, func(r aio.Result) {
			if read.Add(int64(r.Size)); r.Error == nil {
				_ = r.Conn.Read(nil, nil, none)
			}
		})
		wrote := flood(t, there)
		if n := read.Load(); n != 0 {
			t.Errorf("%d bytes were read without a read", n)
		}
		must(t, here.Read(nil, nil, none))
		eventually(t, "all that was written is read", func() bool { return read.Load() == int64(wrote) })
	})
}

// TestFeatureBackPressureFromSlowToFast: a copy from a fast A to a slow B holds one buffer, and
// A's pace becomes B's.
func TestFeatureBackPressureFromSlowToFast(t *testing.T) {
	onEach(t, func(t *testing.T, backend aio.Backend) {
		w := open(t, aio.Options{Backend: backend})
		a, fast := pair(t)
		b, slow := pair(t)
		for _, c := range []*net.TCPConn{a, fast, b, slow} {
			must(t, c.SetReadBuffer(256<<10))
			must(t, c.SetWriteBuffer(256<<10))
		}
		from, to := attach(t, w, a), attach(t, w, b)
		pump(t, w, func(r aio.Result) {
			switch {
			case r.Error == io.EOF:
				_ = to.Close()
			case r.Error != nil:
			case r.Op == aio.OpRead:
				_ = to.Write(nil, r.Buffer[:r.Size], none)
			default:
				_ = from.Read(nil, r.Buffer[:cap(r.Buffer)], none)
			}
		})
		const size = 8 << 20
		data := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{}).Read(data)
		var written atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for rest := data; len(rest) > 0; {
				n, err := fast.Write(rest[:min(32<<10, len(rest))])
				if err != nil {
					t.Error(err)
					return
				}
				written.Add(int64(n))
				rest = rest[n:]
			}
			_ = fast.CloseWrite()
		}()
		must(t, from.Read(nil, make([]byte, 16<<10), none))

		last := int64(-1)
		eventually(t, "A blocks while B does not read", func() bool {
			time.Sleep(50 * time.Millisecond)
			n := written.Load()
			blocked := n > 0 && n == last
			last = n
			return blocked
		})
		if last > size/2 {
			t.Errorf("A wrote %d bytes that B did not read", last)
		}
		got, err := io.ReadAll(slow)
		<-done
		if err != nil || sha256.Sum256(got) != sha256.Sum256(data) {
			t.Errorf("B got %d bytes, %v; equal to A's %d: %v", len(got), err, size, bytes.Equal(got, data))
		}
	})
}

// TestFeatureAmortisedContextSwitches: tiny messages of many connections come in few returns of
// WaitIO, none of which waited.
func TestFeatureAmortisedContextSwitches(t *testing.T) {
	const conns, rounds = 256, 8
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		var mine []*aio.Conn
		var theirs []net.Conn
		for range conns {
			here, there := attached(t, w)
			mine, theirs = append(mine, here), append(theirs, there)
		}
		before, calls := w.Stats(), 0
		for range rounds {
			for i, c := range theirs {
				_, err := io.WriteString(c, "tick")
				must(t, err)
				must(t, mine[i].Read(nil, nil, none))
			}
			for left := conns; left > 0; calls++ {
				results, err := w.WaitIO()
				must(t, err)
				for _, r := range results {
					if string(r.Buffer) != "tick" {
						t.Fatalf("%q, %v", r.Buffer, r.Error)
					}
				}
				left -= len(results)
			}
		}
		s := w.Stats()
		polls, waits := s.Polls-before.Polls, s.Waits-before.Waits
		t.Logf("%d messages: %d calls of WaitIO, the kernel was asked %d times and waited for %d times", conns*rounds,
			calls, polls, waits)
		if limit := conns * rounds / 16; calls > limit || polls > uint64(limit) || waits > uint64(calls) {
			t.Errorf("more than %d calls", limit)
		}
	})
}

// TestFeatureHighPerformance: in the steady state an operation allocates nothing, whether it
// brings a buffer or none, or a deadline.
func TestFeatureHighPerformance(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, way := range []string{"buffer", "swap buffer", "deadline", "several buffers"} {
			t.Run(way, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				conn, there := attached(t, w)
				deadline := time.Now().Add(time.Hour)
				read := func(buf []byte) error {
					switch way {
					case "swap buffer":
						return conn.Read(nil, nil, none)
					case "deadline":
						return conn.ReadFull(nil, buf, deadline)
					default:
						return conn.Read(nil, buf, none)
					}
				}
				var written []byte
				wait := func() ([]byte, error) {
					results, err := w.WaitIO()
					if err != nil || len(results) != 1 {
						t.Fatalf("%v, %v", results, err)
					}
					r := results[0]
					if r.Buffer == nil {
						r.Buffer = written // of a Writev
					}
					return r.Buffer[:r.Size], r.Error
				}
				write := func(buf []byte) error {
					if way == "several buffers" {
						written = buf
						return conn.Writev(nil, [][]byte{buf[:1], nil, buf[1:]}, none)
					}
					return conn.Write(nil, buf, none)
				}
				if n := aiosuite.EchoAllocates(t, there, read, write, wait); n != 0 {
					t.Errorf("%v allocations an echo, want 0", n)
				}
			})
		}
	})
}

// TestCancelOfATag: all of a connection that have the tag, of both directions, and of no other connection.
func TestCancelOfATag(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		conn, _ := attached(t, w)
		other, _ := attached(t, w)
		type session struct{ id int }
		tag := session{7}
		for _, c := range []*aio.Conn{conn, other} {
			must(t, c.Read(tag, nil, none))
			must(t, c.Read(session{8}, nil, none))
			must(t, c.Read(tag, nil, time.Now().Add(time.Hour)))
		}
		must(t, conn.CloseWrite(tag, none)) // not begun: it would be over by then
		if n := conn.Cancel(session{7}); n != 3 {
			t.Errorf("%d operations found, want 3", n)
		}
		for _, r := range wait(t, w, 3) {
			if r.Conn != conn || r.Tag != tag || r.Error != aio.ErrCancelled {
				t.Errorf("%+v", r)
			}
		}
		if n := other.SetDeadline(tag, time.Now()); n != 2 {
			t.Errorf("%d operations found, want 2", n)
		}
		for _, r := range wait(t, w, 2) {
			if r.Conn != other || r.Tag != tag || r.Error != aio.ErrDeadline {
				t.Errorf("%+v", r)
			}
		}
		if s := w.Stats(); s.Pending != 2 || s.Cancelled != 5 {
			t.Errorf("%+v; want two operations pending, and five that were cancelled", s)
		}
	})
}

// TestCancelAllocatesNothing holds it and SetDeadline to that.
func TestCancelAllocatesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		conn, _ := attached(t, w)
		tag := new(int)
		hour := time.Now().Add(time.Hour)
		if n := testing.AllocsPerRun(100, func() {
			if conn.Read(tag, nil, none) != nil || conn.SetDeadline(tag, hour) != 1 || conn.Cancel(tag) != 1 {
				t.Error("not found")
			}
			if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Error != aio.ErrCancelled {
				t.Errorf("%v, %v", results, err)
			}
		}); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	})
}
