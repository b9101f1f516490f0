package gaio_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/aio"
	gaio "evenkeel.dev/aio/gaio" // the one line that a moved program changes
	"evenkeel.dev/aio/internal/aiosuite"
)

// gaioEcho is a program in the shape that those over gaio have: a loop over results, with a switch
// over their operation, and an accept loop that submits the first read.
type gaioEcho struct {
	watcher *gaio.Watcher
	log     func(...any)
}

func (e *gaioEcho) loop() {
	for {
		results, err := e.watcher.WaitIO()
		if err != nil {
			if err != gaio.ErrWatcherClosed {
				e.log("wait:", err)
			}
			return
		}
		for _, res := range results {
			switch res.Operation {
			case gaio.OpRead:
				if res.Error != nil {
					if res.Error != io.EOF && res.Error != gaio.ErrWatcherClosed && res.Error != io.ErrClosedPipe {
						e.log("read:", res.Error)
					}
					e.watcher.Free(res.Conn)
					continue
				}
				if err := e.watcher.Write(res.Context, res.Conn, res.Buffer[:res.Size]); err != nil &&
					err != gaio.ErrWatcherClosed {
					e.log("submit a write:", err)
				}
			case gaio.OpWrite:
				if res.Error != nil {
					e.watcher.Free(res.Conn)
					continue
				}
				if err := e.watcher.Read(res.Context, res.Conn, res.Buffer[:cap(res.Buffer)]); err != nil &&
					err != gaio.ErrWatcherClosed {
					e.log("submit a read:", err)
				}
			}
		}
	}
}

func TestGaioEchoProgram(t *testing.T) {
	w, err := gaio.NewWatcher()
	must(t, err)
	e := &gaioEcho{watcher: w, log: func(args ...any) { t.Error(args...) }}
	done := make(chan struct{})
	go func() { e.loop(); close(done) }()
	addr := accept(t, func(c net.Conn) {
		if err := w.Read("context", c, make([]byte, 128)); err != nil {
			t.Error(err)
		}
	})
	for i := range 8 {
		c, err := net.Dial("tcp", addr.String())
		must(t, err)
		for range 3 {
			answered(t, c, fmt.Sprint("message of client ", i))
		}
		c.Close()
	}
	c, err := net.Dial("tcp", addr.String())
	must(t, err)
	defer c.Close()
	answered(t, c, strings.Repeat("longer than the buffer ", 1000))
	must(t, w.Close())
	<-done
}

// TestGaioErrors: programs compare OpResult.Error and what calls return with ==.
func TestGaioErrors(t *testing.T) {
	if gaio.ErrDeadline != os.ErrDeadlineExceeded || gaio.ErrPollerClosed != gaio.ErrWatcherClosed {
		t.Error("ErrDeadline is not os.ErrDeadlineExceeded, or ErrPollerClosed is one of its own")
	}
	if gaio.OpRead == gaio.OpWrite || gaio.OpRead != 0 {
		t.Error("OpRead and OpWrite")
	}
	w, err := gaio.NewWatcherSize(1 << 10)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	here, there := pair(t)
	one := make([]byte, 1)
	var none *net.TCPConn
	for _, tt := range []struct {
		call string
		got  error
		want error
	}{
		{"Read of nil", w.Read(nil, nil, one), gaio.ErrUnsupported},
		{"Read of a nil pointer", w.Read(nil, none, one), gaio.ErrUnsupported},
		{"Write of nothing", w.Write(nil, here, nil), gaio.ErrEmptyBuffer},
		{"WriteTimeout of nothing", w.WriteTimeout(nil, here, []byte{}, time.Time{}), gaio.ErrEmptyBuffer},
		{"ReadFull of nothing", w.ReadFull(nil, here, nil, time.Time{}), gaio.ErrEmptyBuffer},
		{"Read into no room", w.Read(nil, here, []byte{}), gaio.ErrEmptyBuffer},
		{"Free of nil", w.Free(nil), gaio.ErrUnsupported},
		{"SetPollerAffinity(-1)", w.SetPollerAffinity(-1), gaio.ErrCPUID},
		{"SetLoopAffinity past the last", w.SetLoopAffinity(1 << 20), gaio.ErrCPUID},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.call, tt.got, tt.want)
		}
	}
	result := func(what string, want error) {
		t.Helper()
		if r := only(t, w); r.Error != want {
			t.Errorf("%s: %v, want %v", what, r.Error, want)
		}
	}
	pipe, _ := net.Pipe()
	must(t, w.Read(nil, pipe, one))
	result("a net.Pipe", gaio.ErrUnsupported)
	closed, _ := pair(t)
	closed.Close()
	must(t, w.Write(nil, closed, one))
	result("a closed connection", gaio.ErrConnClosed)
	must(t, w.ReadTimeout(nil, here, one, time.Now().Add(-time.Hour)))
	result("a read with a deadline that has passed", gaio.ErrDeadline)
	_, err = there.Write([]byte("xy"))
	must(t, err)
	must(t, w.Read(nil, here, one))
	result("the first of two bytes", nil) // so the second is there too
	must(t, w.ReadTimeout(nil, here, one, time.Now().Add(-time.Hour)))
	result("the same when there is something", nil)
	must(t, there.Close())
	must(t, w.Read(nil, here, nil))
	result("the peer's end", io.EOF)

	must(t, w.Close())
	must(t, w.Close())
	if err := w.Read(nil, here, one); err != gaio.ErrWatcherClosed {
		t.Errorf("Read after Close: %v", err)
	}
	if _, err := w.WaitIO(); err != gaio.ErrWatcherClosed {
		t.Errorf("WaitIO after Close: %v", err)
	}
	if loop, poller := w.SetLoopAffinity(0), w.SetPollerAffinity(0); loop != gaio.ErrConnClosed ||
		poller != gaio.ErrPollerClosed {
		t.Errorf("after Close: SetLoopAffinity: %v, SetPollerAffinity: %v", loop, poller)
	}
}

// structConn has no identity: each copy would be another connection. gaio panics.
type structConn struct{ net.Conn }

func TestGaioStructConn(t *testing.T) {
	w := open(t, aio.Options{})
	here, _ := pair(t)
	if err := w.Read(nil, structConn{here}, make([]byte, 1)); err != gaio.ErrUnsupported {
		t.Errorf("%v, want %v", err, gaio.ErrUnsupported)
	}
}

// TestGaioCloseReturnsPending: gaio drops what is pending when it is closed.
func TestGaioCloseReturnsPending(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := pair(t)
		must(t, w.Read("first", here, make([]byte, 1)))
		must(t, w.Read("second", here, nil))
		must(t, w.Close())
		for i, r := range wait(t, w, 2) {
			if want := []string{"first", "second"}[i]; r.Context != want || r.Error != gaio.ErrWatcherClosed ||
				r.Conn != here {
				t.Errorf("%+v, want %s with %v", r, want, gaio.ErrWatcherClosed)
			}
		}
		if _, err := w.WaitIO(); err != gaio.ErrWatcherClosed {
			t.Errorf("then WaitIO: %v", err)
		}
		if !ended(there) {
			t.Error("the peer does not see the end")
		}
	})
}

// TestGaioRefused: what a connection refuses comes back as any other operation does, in the order of
// the submissions, and one that could not be attached stays its owner's.
func TestGaioRefused(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b, MaxQueued: 3})
		pipe, other := net.Pipe()
		defer func() { _, _ = pipe.Close(), other.Close() }()
		buf := []byte("hello")
		for range 2 { // again once they were returned
			must(t, w.Read("swap", pipe, nil))
			must(t, w.Write("write", pipe, buf))
			must(t, w.ReadFull("full", pipe, buf, time.Now().Add(time.Hour)))
			must(t, w.Write("more", pipe, buf)) // than MaxQueued
			for i, r := range wait(t, w, 4) {
				want := []gaio.OpResult{
					{Operation: gaio.OpRead, Context: "swap"},
					{Operation: gaio.OpWrite, Context: "write", Buffer: buf},
					{Operation: gaio.OpRead, Context: "full", Buffer: buf},
					{Operation: gaio.OpWrite, Context: "more", Buffer: buf},
				}[i]
				if r.Operation != want.Operation || r.Context != want.Context ||
					string(r.Buffer) != string(want.Buffer) || r.Size != 0 || r.Conn != pipe ||
					r.Error != gaio.ErrUnsupported {
					t.Errorf("%+v, want %+v with %v", r, want, gaio.ErrUnsupported)
				}
			}
		}
		go func() { _, _ = pipe.Write(buf) }()
		if _, err := io.ReadFull(other, make([]byte, len(buf))); err != nil {
			t.Error("what was refused is no more:", err)
		}
	})
}

// TestGaioQueueFull: one operation more than a connection may have comes back with ErrQueueFull,
// and the others go on.
func TestGaioQueueFull(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b, MaxQueued: 1})
		here, there := pair(t)
		must(t, w.ReadFull("first", here, make([]byte, 2), time.Time{}))
		must(t, w.ReadFull("more", here, make([]byte, 2), time.Time{}))
		if r := wait(t, w, 1)[0]; r.Context != "more" || r.Error != gaio.ErrQueueFull || r.Size != 0 || r.Conn != here {
			t.Errorf("%+v, want %v", r, gaio.ErrQueueFull)
		}
		_, err := there.Write([]byte("ok"))
		must(t, err)
		if r := wait(t, w, 1)[0]; r.Context != "first" || r.Error != nil || string(r.Buffer) != "ok" {
			t.Errorf("%+v, want ok", r)
		}
	})
}

// TestGaioShutdown: a Shutdown of the Watcher below sends pending writes before the end, and pending reads return.
func TestGaioShutdown(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		inner := aiosuite.Open(t, aio.Options{Backend: b})
		w := gaio.Over(inner)
		here, there := pair(t)
		got := make(chan gaio.OpResult, 2)
		pump(t, w, func(r gaio.OpResult) { got <- r })
		must(t, w.Read("read", here, nil))
		must(t, w.Write("write", here, []byte("bye")))
		must(t, inner.Shutdown(t.Context()))
		if text, err := io.ReadAll(there); string(text) != "bye" || err != nil {
			t.Errorf("the peer got %q, %v", text, err)
		}
		for range 2 {
			r := <-got
			if want := map[any]error{"read": gaio.ErrWatcherClosed, "write": nil}[r.Context]; r.Error != want {
				t.Errorf("%+v, want %v", r, want)
			}
		}
		must(t, w.Close())
		if err := w.Free(here); err != gaio.ErrWatcherClosed {
			t.Errorf("Free: %v, want %v", err, gaio.ErrWatcherClosed)
		}
	})
}
