package gaio_test

import (
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
	"evenkeel.dev/aio/internal/aiosuite"
)

// TestNoAllocations: in the steady state an operation allocates nothing here either, whether it
// brings a buffer or none, or a deadline.
func TestNoAllocations(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		for _, way := range []string{"buffer", "swap buffer", "deadline"} {
			t.Run(way, func(t *testing.T) {
				w := open(t, aio.Options{Backend: b})
				here, there := pair(t)
				deadline := time.Now().Add(time.Hour)
				read := func(buf []byte) error {
					switch way {
					case "swap buffer":
						return w.Read(nil, here, nil)
					case "deadline":
						return w.ReadFull(nil, here, buf, deadline)
					default:
						return w.Read(nil, here, buf)
					}
				}
				wait := func() ([]byte, error) {
					results, err := w.WaitIO()
					if err != nil || len(results) != 1 {
						t.Fatalf("%v, %v", results, err)
					}
					return results[0].Buffer[:results[0].Size], results[0].Error
				}
				write := func(buf []byte) error { return w.Write(nil, here, buf) }
				if n := aiosuite.EchoAllocates(t, there, read, write, wait); n != 0 {
					t.Errorf("%v allocations an echo, want 0", n)
				}
			})
		}
	})
}

// TestConventionSeveralWatchers: connections are given to one of several Watchers, by whatever
// strategy; each serves its own, and one connection has one Watcher.
func TestConventionSeveralWatchers(t *testing.T) {
	const watchers, conns = 3, 30
	onEach(t, func(t *testing.T, b aio.Backend) {
		var all []*gaio.Watcher
		for range watchers {
			w := open(t, aio.Options{Backend: b})
			pump(t, w, func(r gaio.OpResult) { echo(w, r) })
			all = append(all, w)
		}
		var next atomic.Int32
		addr := accept(t, func(c net.Conn) { // round robin
			_ = all[int(next.Add(1))%watchers].Read(nil, c, make([]byte, 64))
		})
		for i := range conns {
			c, err := net.Dial("tcp", addr.String())
			must(t, err)
			defer c.Close()
			answered(t, c, fmt.Sprint("message ", i))
		}
		for i, w := range all {
			if n := w.Stats().Conns; n != conns/watchers {
				t.Errorf("watcher %d has %d connections, want %d", i, n, conns/watchers)
			}
		}

		mine := open(t, aio.Options{Backend: b})
		other := open(t, aio.Options{Backend: b})
		here, _ := pair(t)
		must(t, mine.Write(nil, here, []byte("x")))
		must(t, other.Write(nil, here, []byte("x")))
		if r := only(t, other); r.Error != gaio.ErrConnClosed {
			t.Errorf("another watcher's connection: %v, want %v", r.Error, gaio.ErrConnClosed)
		}
	})
}

// TestIdleConnectionIsSmall counts what an idle connection with a pending read takes of the heap,
// beside its net.Conn: the handle, the operation, and what finds the one by the other.
func TestIdleConnectionIsSmall(t *testing.T) {
	const conns = 500
	for _, tt := range []struct {
		ctx  any
		most int // bytes
	}{
		{nil, 385},
		{new(int), 430},
	} {
		w := open(t, aio.Options{Backend: aio.BackendEpoll})
		ln, err := net.Listen("tcp", "127.0.0.1:0") // one, as servers have
		must(t, err)
		var socks, peers [conns]net.Conn
		for i := range socks {
			peers[i], err = net.Dial("tcp", ln.Addr().String())
			must(t, err)
			socks[i], err = ln.Accept()
			must(t, err)
		}
		before := live()
		for _, c := range socks {
			must(t, w.Read(tt.ctx, c, nil))
		}
		took := (live() - before) / conns
		t.Logf("context %v: %d bytes a connection", tt.ctx, took)
		if took > tt.most {
			t.Errorf("want %d at most", tt.most)
		}
		runtime.KeepAlive(socks)
		must(t, ln.Close())
		for _, c := range peers {
			must(t, c.Close())
		}
	}
}

// live returns the bytes of the heap that are in use.
func live() int {
	for range 3 { // clean-ups and finalizers keep what they were for until the next
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
