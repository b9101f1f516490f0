package aio_test

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// answered has c say something and checks that it is echoed.
func answered(t *testing.T, c net.Conn, text string) {
	t.Helper()
	must(t, c.SetDeadline(time.Now().Add(patience)))
	_, err := io.WriteString(c, text)
	must(t, err)
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Errorf("%q, %v; want %q", got, err, text)
	}
}

// TestConventionSeveralWatchers: connections are given to one of several Watchers, by whatever
// strategy; each serves its own, and one connection has one Watcher.
func TestConventionSeveralWatchers(t *testing.T) {
	const watchers, conns = 3, 30
	onEach(t, func(t *testing.T, b aio.Backend) {
		var all []*aio.Watcher
		for range watchers {
			w := open(t, aio.Options{Backend: b})
			pump(t, w, func(r aio.OpResult) { echo(w, r) })
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
		c, err := mine.Attach(here)
		must(t, err)
		if err := other.Write(nil, c, []byte("x")); err != aio.ErrUnsupported {
			t.Errorf("another watcher's handle: %v, want %v", err, aio.ErrUnsupported)
		}
		must(t, other.Write(nil, here, []byte("x")))
		if r := only(t, other); r.Error != aio.ErrConnClosed {
			t.Errorf("another watcher's connection: %v, want %v", r.Error, aio.ErrConnClosed)
		}
	})
}
