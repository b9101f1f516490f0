package gaio_test

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/gaio"
)

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
