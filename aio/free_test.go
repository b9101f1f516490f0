package aio_test

import (
	"net"
	"testing"
	"time"

	"evenkeel.dev/aio"
)

// TestCloseDoesNotLinger: with a linger time, and a peer that does not read, a close blocks for that
// time, even in non-blocking mode. Conn.Close does not, nor does anything after it.
func TestCloseDoesNotLinger(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		pump(t, w, func(r aio.Result) {
			if r.Op == aio.OpRead {
				echo(r)
			}
		})
		accepted := make(chan net.Conn, 2)
		addr := accept(t, func(c net.Conn) { accepted <- c })
		stuck, err := net.Dial("tcp", addr.String())
		must(t, err)
		defer stuck.Close()
		full := <-accepted
		must(t, full.(*net.TCPConn).SetLinger(int(2*patience/time.Second)))
		must(t, full.(*net.TCPConn).SetWriteBuffer(16<<10)) // so it is full at once
		handle := attach(t, w, full)
		must(t, handle.Write(nil, make([]byte, 16<<20), none))
		eventually(t, "the write waits", func() bool { s := w.Stats(); return s.Operations == 1 && s.Waits > 0 })

		other, err := net.Dial("tcp", addr.String())
		must(t, err)
		defer other.Close()
		must(t, attach(t, w, <-accepted).Read(nil, make([]byte, 8), none))
		must(t, other.SetDeadline(time.Now().Add(patience))) // Close and the echo: before the linger time
		must(t, handle.Close())
		_, err = other.Write([]byte("alive"))
		must(t, err)
		if n, err := other.Read(make([]byte, 8)); n != 5 || err != nil {
			t.Errorf("an echo beside it: %d bytes, %v", n, err)
		}
	})
}

// asking asks its Watcher when it is closed, which takes the Watcher's lock.
type asking struct {
	*net.TCPConn
	w *aio.Watcher
}

func (c *asking) Close() error {
	_ = c.w.Stats()
	return c.TCPConn.Close()
}

// TestCloseOfTheUsersOwn: the user's Close may use the Watcher.
func TestCloseOfTheUsersOwn(t *testing.T) {
	onEach(t, func(t *testing.T, b aio.Backend) {
		w := open(t, aio.Options{Backend: b})
		addr := accept(t, func(c net.Conn) { c.Close() })
		c, err := net.Dial("tcp", addr.String())
		must(t, err)
		attach(t, w, &asking{c.(*net.TCPConn), w})
	})
}
