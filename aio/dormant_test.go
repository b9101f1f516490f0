package aio_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

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
