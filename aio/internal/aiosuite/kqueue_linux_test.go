package aiosuite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/netconn"
	"evenkeel.dev/internal/testutil"
)

// kqueueSystem is the kqueue backend over a fake kernel.
func kqueueSystem(network string) System {
	return Over(network, func(t *testing.T, o aio.Options) *aio.Watcher { return newKqueue(t, o, false) })
}

// kqueueNetworks are those of the tests below: TCP is make check's, as the backends of this system have it in each run.
func kqueueNetworks() []string {
	if testutil.Checking() {
		return []string{"unix", "tcp"}
	}
	return []string{"unix"}
}

// TestConformanceKqueue runs the suite over it.
func TestConformanceKqueue(t *testing.T) {
	for _, network := range kqueueNetworks() {
		t.Run(network, func(t *testing.T) { runSuite(t, kqueueSystem(network)) })
	}
}

// TestProgramsKqueue plays random programs over it.
func TestProgramsKqueue(t *testing.T) {
	for seed := range seeds(t, *seedFlag, 30) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			play(t, kqueueSystem([]string{"tcp", "unix"}[seed%2]), program(seed))
		})
	}
}

// dialBuffer is less than what is sent, and more than a segment of the loopback interface: less
// has the kernel wait for timers.
const dialBuffer = 128 << 10

// dial returns n connections over loopback, accepted and dialed ends.
func dial(t *testing.T, n int) (conns, peers []net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for range n {
		peer, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = peer.Close(), conn.Close() })
		_ = peer.(*net.TCPConn).SetReadBuffer(dialBuffer)
		_ = conn.(*net.TCPConn).SetWriteBuffer(dialBuffer)
		conns, peers = append(conns, conn), append(peers, peer)
	}
	return conns, peers
}

func attach(t *testing.T, w *aio.Watcher, c net.Conn) *aio.Conn {
	t.Helper()
	conn, err := w.Attach(c)
	Must(t, err)
	return conn
}

// kqueueEcho answers what comes, until the watcher closes.
func kqueueEcho(t *testing.T, w *aio.Watcher, ended chan<- error) {
	for {
		results, err := w.WaitIO()
		if err != nil {
			ended <- err
			return
		}
		for _, r := range results {
			switch {
			case r.Error != nil:
				_ = r.Conn.Close()
			case r.Op == aio.OpRead:
				err = r.Conn.Write(nil, bytes.Clone(r.Buffer[:r.Size]), aio.NoDeadline)
			default:
				err = r.Conn.Read(nil, nil, aio.NoDeadline)
			}
			if err != nil && err != aio.ErrWatcherClosed {
				t.Error(err)
			}
		}
	}
}

// TestKqueueEcho has connections echoed by the kqueue backend: many at once and one after
// the other, with slow readers, submitted while WaitIO waits, and with no buffers.
func TestKqueueEcho(t *testing.T) {
	for name, noBuffer := range map[string]bool{"plain": false, "ENOBUFS": true} {
		t.Run(name, func(t *testing.T) {
			w := newKqueue(t, aio.Options{}, noBuffer)
			ended := make(chan error)
			go kqueueEcho(t, w, ended)
			conns, peers := dial(t, 16)
			failed := make(chan error)
			data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20/16)
			for i, conn := range conns {
				Must(t, attach(t, w, conn).Read(nil, nil, aio.NoDeadline))
				go func() { failed <- exchange(peers[i], data) }()
			}
			for range conns {
				if err := <-failed; err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err != aio.ErrWatcherClosed {
				t.Error(err)
			}
			if s := w.Stats(); s.Conns != 0 || s.Backend != "kqueue" || s.Pending != 0 {
				t.Errorf("at the end: %+v", s)
			}
		})
	}
}

// exchange writes data, ends its direction, and reads them back, slowly at first.
func exchange(peer net.Conn, data []byte) error {
	_ = peer.SetDeadline(time.Now().Add(Patience))
	sent := make(chan error, 1)
	go func() {
		_, err := peer.Write(data)
		sent <- err
	}()
	time.Sleep(20 * time.Millisecond) // has the socket be full, most often
	got := make([]byte, len(data))
	if n, err := io.ReadFull(peer, got); err != nil {
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	if err := <-sent; err != nil {
		return err
	}
	if !bytes.Equal(got, data) {
		at := 0
		for got[at] == data[at] {
			at++
		}
		return fmt.Errorf("byte %d differs: %q", at, got[at:min(at+40, len(got))])
	}
	if err := peer.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	if n, err := peer.Read(got); n != 0 || err != io.EOF {
		return err // the watcher frees the connection
	}
	return nil
}

// TestNetconnKqueue holds connections that block to what any net.Conn has to do, over the kqueue backend and a
// fake kernel. Package netconn has the other backends.
func TestNetconnKqueue(t *testing.T) {
	for _, network := range kqueueNetworks() {
		t.Run(network, func(t *testing.T) {
			w := newKqueue(t, aio.Options{}, false)
			driven := make(chan error, 1)
			go func() { driven <- netconn.Drive(w) }()
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				a, b := Sockets(t, network)
				x, y := attach(t, w, a), attach(t, w, b)
				c1, c2 = netconn.New(x), netconn.New(y)
				return c1, c2, func() { _, _ = c1.Close(), c2.Close() }, nil
			})
			Must(t, errors.Join(w.Close(), <-driven))
		})
	}
}
