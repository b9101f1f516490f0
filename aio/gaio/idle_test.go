package gaio_test

import (
	"net"
	"runtime"
	"testing"

	"evenkeel.dev/aio"
)

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
