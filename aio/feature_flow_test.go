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
