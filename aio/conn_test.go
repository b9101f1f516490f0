package aio

import (
	"net"
	"testing"
	"weak"

	"evenkeel.dev/internal/proactor"
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
	before := &proactor.Desc{Key: addr(at), Ident: weak.Make(other)} // of whatever was at ends[1]
	if err := w.l.backend.Open(ends[0], before); err != nil {
		t.Fatal(err)
	}
	w.l.conns[before.Key] = before
	w.l.live++

	if err := w.Read("mine", ends[1], make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	d := w.l.conns[addr(at)]
	if d == before || d == nil || before.Gone != proactor.Freed || before.Queues[proactor.In].Head != nil {
		t.Errorf("the operation went to the connection before: %+v", before)
	}
	if found, closed := w.GetGC(); found != 1 || closed != 1 {
		t.Errorf("GetGC: %d, %d; want 1, 1", found, closed)
	}
}
