package netconn_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/aiosuite"
	"evenkeel.dev/aio/netconn"
)

// wantOp checks that err is package net's: of that operation, with that cause.
func wantOp(t *testing.T, err error, op string, cause error) {
	t.Helper()
	var wrapped *net.OpError
	if !errors.As(err, &wrapped) || wrapped.Op != op || wrapped.Net == "" || wrapped.Addr == nil ||
		!errors.Is(err, cause) {
		t.Errorf("%#v (%v); want a *net.OpError of %s, with its network and address, for %v", err, err, op, cause)
	}
}

// blocked waits until w has that many operations that are not over.
func blocked(t *testing.T, w *aio.Watcher, n int) {
	t.Helper()
	aiosuite.Eventually(t, "operations are pending", func() bool { return w.Stats().Pending == n })
}

// TestErrors: an error is what package net would say.
func TestErrors(t *testing.T) {
	onEach(t, func(t *testing.T, sys system) {
		c, peer := pair(t, sys)
		if n, err := c.Read(nil); n != 0 || err != nil {
			t.Errorf("Read(nil): %d, %v", n, err)
		}
		must(t, c.SetDeadline(time.Unix(1, 0)))
		_, err := c.Read(make([]byte, 1))
		wantOp(t, err, "read", os.ErrDeadlineExceeded)
		if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
			t.Errorf("%v is no timeout", err)
		}
		_, err = c.Write(make([]byte, 1))
		wantOp(t, err, "write", os.ErrDeadlineExceeded)

		must(t, c.SetDeadline(time.Time{}))
		_, err = io.WriteString(peer, "usable again")
		must(t, err)
		got := make([]byte, 12)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "usable again" {
			t.Errorf("%q, %v", got, err)
		}
		must(t, peer.(interface{ CloseWrite() error }).CloseWrite())
		if n, err := c.Read(got); n != 0 || err != io.EOF {
			t.Errorf("the peer's end: %d, %v; want io.EOF, bare", n, err)
		}
		must(t, c.Close())
		wantOp(t, c.Close(), "close", net.ErrClosed)
		_, err = c.Read(got)
		wantOp(t, err, "read", net.ErrClosed)
		_, err = c.Read(nil)
		wantOp(t, err, "read", net.ErrClosed)
		_, err = c.Write(got)
		wantOp(t, err, "write", net.ErrClosed)
		wantOp(t, c.SetDeadline(time.Now()), "set", net.ErrClosed)
	})
}

// TestReset: the peer's reset is named as the system call's.
func TestReset(t *testing.T) {
	aiosuite.OnEach(t, func(t *testing.T, b aio.Backend) {
		c, peer := pair(t, overKernel(b, "tcp"))
		must(t, peer.(*net.TCPConn).SetLinger(0))
		must(t, peer.Close())
		_, err := c.Read(make([]byte, 1))
		wantOp(t, err, "read", syscall.ECONNRESET)
		var call *os.SyscallError
		if !errors.As(err, &call) || call.Syscall != "read" {
			t.Errorf("%v; want an *os.SyscallError of read", err)
		}
	})
}

// TestMovedDeadline: setting a deadline moves that of a Read that waits, to an earlier and to a later
// time, and away.
func TestMovedDeadline(t *testing.T) {
	for _, m := range []aiosuite.Mode{aiosuite.Completion, aiosuite.Readiness} {
		t.Run(m.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := pair(t, inMemory(aiosuite.Options{Mode: m}))
				begin := time.Now()
				for _, move := range []struct{ first, second, third, want time.Duration }{
					{10, 5, 5, 5},
					{10, 20, 20, 20},
					{10, 20, 8, 8},
					{0, 3, 3, 3},
					{10, 0, 40, 40},
				} {
					begin = time.Now()
					at := func(d time.Duration) time.Time {
						if d == 0 {
							return time.Time{}
						}
						return begin.Add(d * time.Second)
					}
					must(t, c.SetReadDeadline(at(move.first)))
					ended := make(chan error, 1)
					go func() {
						_, err := c.Read(make([]byte, 1))
						ended <- err
					}()
					time.Sleep(time.Second)
					must(t, c.SetReadDeadline(at(move.second)))
					time.Sleep(time.Second)
					must(t, c.SetReadDeadline(at(move.third)))
					err := <-ended
					wantOp(t, err, "read", os.ErrDeadlineExceeded)
					if took := time.Since(begin); took != move.want*time.Second {
						t.Errorf("%v: it took %v", move, took)
					}
				}
			})
		})
	}
}

// TestCloseUnblocks: Close has Reads and Writes return that wait for the peer, and those that wait for
// their turn.
func TestCloseUnblocks(t *testing.T) {
	onEach(t, func(t *testing.T, sys system) {
		for name, end := range map[string]func(*aio.Watcher, *netconn.Conn) error{
			"Conn":    func(_ *aio.Watcher, c *netconn.Conn) error { return c.Close() },
			"handle":  func(_ *aio.Watcher, c *netconn.Conn) error { return c.Handle().Close() },
			"Watcher": func(w *aio.Watcher, _ *netconn.Conn) error { return w.Close() },
		} {
			t.Run(name, func(t *testing.T) {
				w := drive(t, sys)
				c, _ := pairOn(t, sys, w)
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						_, err := c.Read(make([]byte, 1))
						wantOp(t, err, "read", net.ErrClosed)
					})
					wg.Go(func() {
						large := make([]byte, 16<<20) // more than a connection buffers
						n, err := c.Write(large)
						wantOp(t, err, "write", net.ErrClosed)
						if n == len(large) {
							t.Error("all was written, says a Write that failed")
						}
					})
				}
				blocked(t, w, 2)
				must(t, end(w, c))
				wg.Wait()
			})
		}
	})
}

// TestLimits: what other connections have queued, and what else is under way on its own, does not
// have a Write fail. The program's own writes, which do not wait, are refused beyond the limits.
func TestLimits(t *testing.T) {
	onEach(t, func(t *testing.T, sys system) {
		w := driveWith(t, sys, aio.Options{MaxQueued: 1, MaxWatcherBytes: 1 << 20})
		stuck, _ := pairOn(t, sys, w)
		own, _ := pairOn(t, sys, w)
		c, peer := pairOn(t, sys, w)
		var calls sync.WaitGroup
		defer func() {
			must(t, stuck.SetWriteDeadline(time.Now()))
			must(t, c.Close())
			calls.Wait()
		}()
		calls.Go(func() {
			large := make([]byte, 8<<20) // more than a connection buffers
			n, err := stuck.Write(large)
			wantOp(t, err, "write", os.ErrDeadlineExceeded)
			if n == len(large) {
				t.Error("all was written, says a Write that failed")
			}
		})
		blocked(t, w, 1)
		calls.Go(func() {
			_, err := c.Read(make([]byte, 1))
			wantOp(t, err, "read", net.ErrClosed)
		})
		blocked(t, w, 2)
		message := bytes.Repeat([]byte{'m'}, 1<<10)
		if n, err := c.Write(message); n != len(message) || err != nil {
			t.Fatalf("a Write beside: %d, %v", n, err)
		}
		must(t, c.CloseWrite())
		if got, err := io.ReadAll(peer); !bytes.Equal(got, message) || err != nil {
			t.Errorf("the peer got %d bytes, %v", len(got), err)
		}
		must(t, own.Handle().Write("mine", []byte("x"), aio.NoDeadline)) // beyond MaxWatcherBytes: refused
		for w.Stats().Refused == 0 {
			time.Sleep(time.Millisecond)
		}
	})
}

// TestCloseWrite: it stands behind a Write that is under way, and reads go on.
func TestCloseWrite(t *testing.T) {
	onEach(t, func(t *testing.T, sys system) {
		w := drive(t, sys)
		c, peer := pairOn(t, sys, w)
		large := bytes.Repeat([]byte{'w'}, 2<<20) // more than a connection buffers
		var writing sync.WaitGroup
		writing.Go(func() {
			if n, err := c.Write(large); n != len(large) || err != nil {
				t.Errorf("the Write: %d, %v", n, err)
			}
		})
		blocked(t, w, 1)
		must(t, c.SetWriteDeadline(time.Now().Add(aiosuite.Patience)))
		ended := make(chan error, 1)
		go func() { ended <- c.CloseWrite() }()
		got, err := io.ReadAll(peer)
		if !bytes.Equal(got, large) || err != nil {
			t.Errorf("the peer got %d bytes of %d, %v", len(got), len(large), err)
		}
		must(t, <-ended)
		writing.Wait()
		_, err = c.Write([]byte("more"))
		wantOp(t, err, "write", syscall.EPIPE)
		_, err = io.WriteString(peer, "an answer")
		must(t, err)
		answer := make([]byte, 9)
		if _, err := io.ReadFull(c, answer); err != nil || string(answer) != "an answer" {
			t.Errorf("%q, %v", answer, err)
		}
		must(t, c.Close())
		wantOp(t, c.CloseWrite(), "close", net.ErrClosed)
	})
}

// TestWholeWrites: what several goroutines write at once is not mixed.
func TestWholeWrites(t *testing.T) {
	const writers, rounds, size = 8, 10, 100_000
	onEach(t, func(t *testing.T, sys system) {
		c, peer := pair(t, sys)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				for range rounds {
					if n, err := c.Write(bytes.Repeat([]byte{byte('a' + i)}, size)); n != size || err != nil {
						t.Errorf("%d of %d bytes, %v", n, size, err)
					}
				}
			})
		}
		got := make([]byte, size)
		for range writers * rounds {
			if _, err := io.ReadFull(peer, got); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(got, got[:1]) != size {
				t.Fatal("another write stands in the middle of one")
			}
		}
		wg.Wait()
	})
}

// TestDeliver: a loop of the program's own has operations of its own, and delivers the others.
func TestDeliver(t *testing.T) {
	onEach(t, func(t *testing.T, sys system) {
		w := sys.New(t, aio.Options{})
		own, other := sys.Pair(t)
		defer func() { _ = other.Close() }()
		handle, err := w.Attach(own)
		must(t, err)
		must(t, handle.Read("mine", nil, aio.NoDeadline))
		var mine []string
		var loop sync.WaitGroup
		loop.Go(func() {
			for {
				results, err := w.WaitIO()
				if err != nil {
					return
				}
				for _, r := range results {
					if !netconn.Deliver(r) {
						mine = append(mine, string(r.Buffer[:r.Size]))
						_ = w.Close()
					}
				}
			}
		})
		c, peer := pairOn(t, sys, w)
		for range 100 {
			aiosuite.Answered(t, c, echo(t, peer, "to a Conn"))
		}
		_, err = io.WriteString(other, "to the loop")
		must(t, err)
		loop.Wait()
		if len(mine) != 1 || mine[0] != "to the loop" {
			t.Errorf("%q", mine)
		}
	})
}

// echo has peer send back a text once, and returns the text.
func echo(t *testing.T, peer net.Conn, text string) string {
	go func() {
		buf := make([]byte, len(text))
		if _, err := io.ReadFull(peer, buf); err != nil {
			t.Error(err)
		}
		_, _ = peer.Write(buf)
	}()
	return text
}

// TestDriveAlone: one goroutine drives a Watcher, and another that tries is told.
func TestDriveAlone(t *testing.T) {
	w := inMemory(aiosuite.Options{}).New(t, aio.Options{})
	driven := make(chan error)
	for range 2 {
		go func() { driven <- netconn.Drive(w) }()
	}
	if err := <-driven; err != aio.ErrWaiting {
		t.Errorf("the one of two Drives: %v, want %v", err, aio.ErrWaiting)
	}
	must(t, w.Close())
	if err := <-driven; err != nil {
		t.Errorf("the other: %v", err)
	}
}

// refusing is a backend whose Wait the system refuses.
type refusing struct{ *aiosuite.Backend }

func (refusing) Wait(time.Duration) error { return syscall.EBADF }

// TestDriveFails: where the system refuses to be waited for, Drive says so, and nobody stays blocked.
func TestDriveFails(t *testing.T) {
	w, err := aiosuite.NewWatcher(aio.Options{}, refusing{aiosuite.NewBackend(aiosuite.Options{})})
	must(t, err)
	own, peer := aiosuite.Pair(1)
	defer func() { _ = peer.Close() }()
	c := over(t, w, own)
	driven := make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		_, err := c.Read(make([]byte, 1))
		wantOp(t, err, "read", net.ErrClosed)
	})
	blocked(t, w, 1)
	go func() { driven <- netconn.Drive(w) }()
	if err := <-driven; err != syscall.EBADF {
		t.Errorf("Drive: %v, want %v", err, syscall.EBADF)
	}
	reading.Wait()
}
