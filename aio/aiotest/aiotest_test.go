package aiotest_test

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/aio"
	"evenkeel.dev/aio/aiotest"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/internal/leaks"
)

// TestWatcher: the ends of a Pair work in both ways, with all faults and without, and nothing else does.
func TestWatcher(t *testing.T) {
	for name, o := range map[string]aiotest.Options{
		"io_uring": {}, "epoll": {Readiness: true},
		"io_uring, faulty": {Seed: 3, Faults: 1}, "epoll, faulty": {Seed: 3, Readiness: true, Faults: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := aiotest.NewWatcher(aio.Options{}, o)
			if err != nil {
				t.Fatal(err)
			}
			end, peer := aiotest.Pair(64)
			conn, err := w.Attach(end)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Write("hello", []byte("hello"), aio.NoDeadline); err != nil {
				t.Fatal(err)
			}
			if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Tag != "hello" ||
				results[0].Error != nil {
				t.Errorf("%+v, %v", results, err)
			}
			if err := conn.Read(nil, nil, aio.NoDeadline); err != nil {
				t.Fatal(err)
			}
			if err := peer.Reset(); err != nil {
				t.Fatal(err)
			}
			if results, err := w.WaitIO(); err != nil || len(results) != 1 || results[0].Error != syscall.ECONNRESET {
				t.Errorf("%+v, %v; want %v", results, err, syscall.ECONNRESET)
			}
			socket, other := aiosuite.TCP(t)
			if _, err := w.Attach(socket); err != aio.ErrNoDescriptor {
				t.Errorf("a socket: %v, want %v", err, aio.ErrNoDescriptor)
			}
			if err := errors.Join(socket.Close(), other.Close(), w.Close()); err != nil {
				t.Error(err)
			}
			if _, err := w.WaitIO(); err != aio.ErrWatcherClosed {
				t.Error(err)
			}
		})
	}
	var refused *evenkeel.OptionError
	if _, err := aiotest.NewWatcher(aio.Options{SwapSize: -1}, aiotest.Options{}); !errors.As(err, &refused) ||
		refused.Option != "SwapSize" {
		t.Errorf("SwapSize -1: %v", err)
	}
	for _, f := range []float64{math.NaN(), 5, -0.1} {
		var wrong *evenkeel.OptionError
		if _, err := aiotest.NewWatcher(aio.Options{}, aiotest.Options{Faults: f}); !errors.As(err, &wrong) ||
			wrong.Option != "Faults" {
			t.Errorf("%v: %v", f, err)
		}
	}
}

// TestListen: a multishot accept brings what dials, one after the other and at once, until the
// listener is closed.
func TestListen(t *testing.T) {
	for name, o := range map[string]aiotest.Options{"io_uring": {}, "epoll": {Readiness: true}} {
		t.Run(name, func(t *testing.T) {
			w, err := aiotest.NewWatcher(aio.Options{}, o)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			ln := aiotest.Listen(64)
			l, err := w.AttachListener(ln)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.AcceptMultishot("all"); err != nil {
				t.Fatal(err)
			}
			for _, burst := range []int{1, 70} {
				for range burst {
					peer, err := ln.Dial()
					if err != nil {
						t.Fatal(err)
					}
					defer peer.Close()
				}
				for n := 0; n < burst; {
					results, err := w.WaitIO()
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range results {
						if r.Op != aio.OpAccept || r.Tag != "all" || !r.More || r.Conn == nil || r.Error != nil {
							t.Errorf("%+v, want a connection", r)
						}
					}
					n += len(results)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			results, err := w.WaitIO()
			if err != nil || len(results) != 1 || results[0].More || results[0].Error != aio.ErrClosed {
				t.Errorf("%+v, %v; want the end", results, err)
			}
			if _, err := ln.Dial(); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%v, want ECONNREFUSED", err)
			}
		})
	}
}

// TestDeadlineInThePast: whichever moment of the past it is, 1970 among them.
func TestDeadlineInThePast(t *testing.T) {
	a, b := aiotest.Pair(16)
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(1, 0), time.Unix(-1, 0)} {
		if err := a.SetReadDeadline(at); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(10*time.Second, func() { b.Close() })
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a deadline of %v: %v", at, err)
		}
		late.Stop()
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// TestPair: as net.Conn, before a Watcher has them.
func TestPair(t *testing.T) {
	a, b := aiotest.Pair(16)
	var _ net.Conn = a
	if _, err := io.WriteString(a, "half"); err != nil {
		t.Fatal(err)
	}
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(b); string(got) != "half" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
