package aio_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// The tests in this file have WaitIO wait for something that began, or was cancelled, after the
// kernel was asked last: it must get to the kernel before WaitIO waits.

// TestDeadlineWhileNothingElseHappens: the deadline's cancellation is all that happens.
func TestDeadlineWhileNothingElseHappens(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for name, read := range map[string]func(c *aio.Conn, deadline time.Time) error{
			"buffer":      func(c *aio.Conn, d time.Time) error { return c.Read(nil, make([]byte, 1), d) },
			"swap buffer": func(c *aio.Conn, d time.Time) error { return c.Read(nil, nil, d) },
		} {
			t.Run(name, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				c, _ := attached(t, w)
				must(t, read(c, time.Now().Add(20*time.Millisecond)))
				start := time.Now()
				r := only(t, w)
				if took := time.Since(start); r.Error != aio.ErrDeadline || took > patience/2 {
					t.Errorf("%v after %v, want %v", r.Error, took, aio.ErrDeadline)
				}
			})
		}
	})
}

// TestReadFullInPieces: each piece leaves a rest to be read, and nothing else to do.
func TestReadFullInPieces(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, there := attached(t, w)
		buf := make([]byte, 4)
		must(t, here.ReadFull(nil, buf, none))
		go func() {
			waits := uint64(0)
			for _, piece := range []string{"a", "b", "c", "d"} {
				for w.Stats().Waits == waits { // nothing else to do
					time.Sleep(time.Millisecond)
				}
				waits = w.Stats().Waits
				_, _ = there.Write([]byte(piece))
			}
		}()
		if r := only(t, w); string(buf) != "abcd" || r.Size != 4 || r.Error != nil {
			t.Errorf("%q, size %d, %v", buf, r.Size, r.Error)
		}
	})
}

// TestShutdownWhileWaiting: the reads are cancelled from another goroutine than that in WaitIO.
func TestShutdownWhileWaiting(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, _ := attached(t, w)
		got := make(chan error, 2)
		pump(t, w, func(r aio.Result) { got <- r.Error })
		must(t, here.Read(nil, make([]byte, 1), none))
		eventually(t, "WaitIO waits", func() bool { s := w.Stats(); return s.Operations == 1 && s.Waits > 0 })
		ctx, cancel := context.WithTimeout(t.Context(), patience/2)
		defer cancel()
		must(t, w.Shutdown(ctx))
		if err := <-got; err != aio.ErrWatcherClosed {
			t.Errorf("%v, want %v", err, aio.ErrWatcherClosed)
		}
	})
}

// TestManySubmitTogether: of goroutines that become runnable together, the first one's submission
// wakes WaitIO, and those of the others go with it. (With the race detector the scheduler chooses
// at random, so that most would in any case.)
func TestManySubmitTogether(t *testing.T) {
	const conns, rounds = 64, 16
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		var mine []*aio.Conn
		for range conns {
			here, _ := attached(t, w)
			mine = append(mine, here)
		}
		written := make(chan error, conns)
		pump(t, w, func(r aio.Result) { written <- r.Error })
		before := w.Stats().Waits
		for range rounds {
			start := make(chan struct{})
			for _, c := range mine {
				go func() {
					<-start
					if err := c.Write(nil, []byte("x"), none); err != nil {
						written <- err
					}
				}()
			}
			runtime.Gosched() // they wait
			close(start)
			for range conns {
				must(t, <-written)
			}
		}
		if waits := w.Stats().Waits - before; waits > conns*rounds/8 {
			t.Errorf("WaitIO waited %d times for %d writes", waits, conns*rounds)
		}
	})
}

// TestSubmittersDoNotKeepTheLoop: of goroutines that each wake the next one, submit and compute,
// most are still to run when the first one's operation is over. Each computes for longer than
// WaitIO lets others go first, however late the clock is. The chain's goroutines have one time
// slice in all, at whose end the runtime takes the P from whoever has it. Where that is WaitIO's,
// it stands in the queue of all Ps, and the rest of the chain runs before it, as it does if
// runtime.Gosched lets others go first. So each chain has a goroutine that does just that, before
// WaitIO is woken: WaitIO, in that queue behind it, cannot be far ahead of it. The chains go on
// until some have shown that it is.
func TestSubmittersDoNotKeepTheLoop(t *testing.T) {
	const chain, ahead, enough = 40, 10, 3
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		here, _ := attached(t, w)
		var begun, before atomic.Int32 // before: when the first write was over
		results := make(chan error, chain)
		pump(t, w, func(r aio.Result) {
			before.CompareAndSwap(0, begun.Load())
			results <- r.Error
		})
		waits, shown := uint64(0), 0
		eventually(t, "a write is over long before it is the turn of who has given way by Gosched", func() bool {
			eventually(t, "WaitIO waits", func() bool { return w.Stats().Waits > waits })
			begun.Store(0)
			before.Store(0)
			var wake [chain + 1]chan struct{}
			for i := range wake {
				wake[i] = make(chan struct{}, 1)
			}
			for i := range chain {
				go func() {
					<-wake[i]
					begun.Add(1)
					wake[i+1] <- struct{}{}
					if err := here.Write(nil, []byte("x"), none); err != nil {
						results <- err
					}
					for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
					}
				}()
			}
			waits = w.Stats().Waits
			begin, gave := make(chan struct{}, 1), make(chan int32, 1)
			go func() {
				<-begin
				wake[0] <- struct{}{}
				runtime.Gosched()
				gave <- begun.Load()
			}()
			runtime.Gosched() // they wait
			begin <- struct{}{}
			for range chain {
				must(t, <-results)
			}
			if first := before.Load(); first < <-gave-ahead && first <= chain/2 {
				shown++
			}
			return shown == enough
		})
	})
}

// silent has conn read without a buffer, with that tag, when something was read of it before and
// WaitIO has begun the read: the peer has said nothing since.
func silent(t *testing.T, w *aio.Watcher, conn *aio.Conn, there net.Conn, tag any) {
	t.Helper()
	must(t, conn.Read(tag, nil, none))
	_, err := there.Write([]byte{1})
	must(t, err)
	if r := only(t, w); r.Size != 1 {
		t.Fatalf("%+v", r)
	}
	must(t, conn.Read(tag, nil, none))
	must(t, w.Post(nil))
	if r := only(t, w); r.Op != aio.OpPost {
		t.Fatalf("%+v", r)
	}
}

// TestSilentReads: a read that has waited for long is found, ended and carried out as any other, whatever its tag.
func TestSilentReads(t *testing.T) {
	type cause struct {
		does func(t *testing.T, w *aio.Watcher, c *aio.Conn, there net.Conn, tag any)
		want error
		size int
	}
	causes := map[string]cause{
		"a byte": {func(t *testing.T, _ *aio.Watcher, _ *aio.Conn, there net.Conn, _ any) {
			_, err := there.Write([]byte{2})
			must(t, err)
		}, nil, 1},
		"the end": {
			func(t *testing.T, _ *aio.Watcher, _ *aio.Conn, there net.Conn, _ any) { must(t, there.Close()) },
			io.EOF, 0,
		},
		"Cancel": {func(t *testing.T, _ *aio.Watcher, c *aio.Conn, _ net.Conn, tag any) {
			if n := c.Cancel(tag); n != 1 {
				t.Errorf("%d operations found", n)
			}
		}, aio.ErrCancelled, 0},
		"SetDeadline": {func(t *testing.T, _ *aio.Watcher, c *aio.Conn, _ net.Conn, tag any) {
			if n := c.SetDeadline(tag, time.Now()); n != 1 {
				t.Errorf("%d operations found", n)
			}
		}, aio.ErrDeadline, 0},
		"Close": {
			func(t *testing.T, _ *aio.Watcher, c *aio.Conn, _ net.Conn, _ any) { must(t, c.Close()) },
			aio.ErrClosed, 0,
		},
		"Watcher.Close": {
			func(t *testing.T, w *aio.Watcher, _ *aio.Conn, _ net.Conn, _ any) { must(t, w.Close()) },
			aio.ErrWatcherClosed, 0,
		},
		"drain": {func(_ *testing.T, w *aio.Watcher, _ *aio.Conn, _ net.Conn, _ any) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = w.Shutdown(ctx)
		}, aio.ErrWatcherClosed, 0},
	}
	onEach(t, func(t *testing.T, b aio.Backend) {
		for name, by := range causes {
			for _, tag := range []any{nil, new(int), "tag"} {
				w := open(t, aio.Options{Backend: b})
				conn, there := attached(t, w)
				silent(t, w, conn, there, tag)
				if n := w.Stats().Pending; n != 1 {
					t.Errorf("%s: %d operations are pending", name, n)
				}
				if _, err := conn.Detach(); err != aio.ErrPending {
					t.Errorf("%s: Detach: %v", name, err)
				}
				by.does(t, w, conn, there, tag)
				if r := only(t, w); r.Op != aio.OpRead || r.Tag != tag || r.Conn != conn || r.Error != by.want ||
					r.Size != by.size {
					t.Errorf("%s: %+v", name, r)
				}
				if n := w.Stats().Pending; n != 0 {
					t.Errorf("%s: %d operations are pending", name, n)
				}
			}
		}
	})
}

// TestSilentOrder: a read that is submitted behind one that has waited for long comes behind it.
func TestSilentOrder(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		conn, there := attached(t, w)
		silent(t, w, conn, there, "first")
		must(t, conn.Read("second", make([]byte, 1), none))
		for _, want := range []string{"first", "second"} {
			_, err := there.Write([]byte{1})
			must(t, err)
			if r := only(t, w); r.Tag != want || r.Size != 1 || r.Error != nil {
				t.Errorf("%+v, want the %s", r, want)
			}
		}
	})
}

// TestSilentBytes: of many connections that wait for their peers no read keeps an operation, which
// has more than 100 bytes.
func TestSilentBytes(t *testing.T) {
	const conns, most = 400, 32
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		var all [conns]*aio.Conn
		var there [conns]net.Conn
		for i := range all {
			all[i], there[i] = attached(t, w)
			silent(t, w, all[i], there[i], nil)
			if all[i].Cancel(nil) != 1 || only(t, w).Error != aio.ErrCancelled {
				t.Fatal("the read is not found")
			}
		}
		before := live()
		for _, c := range all {
			must(t, c.Read(nil, nil, none))
			must(t, w.Post(nil))
			only(t, w)
		}
		each := float64(live()-before) / conns
		t.Logf("%.1f bytes a read", each)
		if each > most {
			t.Errorf("%.1f bytes a read, want %d at the most", each, most)
		}
		runtime.KeepAlive(there)
	})
}

// live returns the bytes of the heap that are in use.
func live() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
