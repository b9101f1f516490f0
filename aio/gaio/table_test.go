package gaio

import (
	"net"
	"sync"
	"testing"
	"weak"

	"evenkeel.dev/aio"
)

// TestAddressUsedAnew: a connection at the address of one that was collected is not taken for it.
// The collector gives addresses out again before it runs clean-ups, so both can be there.
func TestAddressUsedAnew(t *testing.T) {
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var ends [3]net.Conn
	for i := range ends[:2] {
		if ends[i], err = net.Dial("tcp", ln.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer ends[i].Close()
	}
	at, _ := identity(ends[1])
	other, _ := identity(ends[0])
	c, err := w.t.watcher.Attach(ends[0])
	if err != nil {
		t.Fatal(err)
	}
	before := &entry{key: addr(at), ident: weak.Make(other), conn: c} // of whatever was at ends[1]
	w.t.conns[before.key] = before

	if err := w.Read("mine", ends[1], make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	e := w.t.conns[addr(at)]
	if e == before || e == nil {
		t.Errorf("the operation went to the connection before: %+v", before)
	}
	if _, err := c.Detach(); err != aio.ErrClosed {
		t.Errorf("the connection before is still open: %v", err)
	}
	if found, closed := w.GetGC(); found != 1 || closed != 1 {
		t.Errorf("GetGC: %d, %d; want 1, 1", found, closed)
	}
}

// TestFirstOperationsAtOnce: of several goroutines that submit the first operation on a connection,
// one delegates it, and all of their operations are carried out.
func TestFirstOperationsAtOnce(t *testing.T) {
	const conns, writers = 50, 4
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for range conns {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				if err := w.Write(nil, c, []byte("x")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for n := 0; n < writers; {
			results, err := w.WaitIO()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if n++; r.Error != nil || r.Conn != c {
					t.Errorf("%+v", r)
				}
			}
		}
		if err := w.Free(c); err != nil {
			t.Error(err)
		}
	}
	if s := w.Stats(); s.Conns != 0 || s.Operations != conns*writers {
		t.Errorf("%+v", s)
	}
}
