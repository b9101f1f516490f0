package poller

import (
	"slices"
	"syscall"
	"testing"

	"evenkeel.dev/aio/internal/proactor"
)

// accepting is a kernel in which a connection waits always. It counts what is registered.
type accepting struct {
	oneNumber
	added  int
	refuse error
}

func (k *accepting) Accept(int) (int, proactor.Addr, syscall.Errno) { return 8, proactor.Addr{}, 0 }

func (k *accepting) add(*proactor.Desc) error {
	k.added++
	return k.refuse
}

// TestRegisteredWhenItWaits: a connection that was accepted costs no system call until something has to wait on it, and
// then one.
func TestRegisteredWhenItWaits(t *testing.T) {
	k := &accepting{}
	p := &Poller{kernel: k, woken: make(chan struct{}, 1), held: &proactor.Held{}}
	var listener, conn proactor.Desc
	if err := p.Open(nil, &listener); err != nil || k.added != 1 {
		t.Fatalf("Open of a listener: %v, %d registrations, want one", err, k.added)
	}
	if _, err := p.Accept(&listener, &conn); err != nil || k.added != 1 {
		t.Fatalf("Accept: %v, %d registrations more, want none", err, k.added-1)
	}
	p.Release(&conn)
	if want := []string{"close"}; !slices.Equal(k.calls, want) {
		t.Errorf("Release of one that never waited calls %v, want %v", k.calls, want)
	}
	if _, err := p.Accept(&listener, &conn); err != nil {
		t.Fatal(err)
	}
	read, write := proactor.Op{Desc: &conn, Buf: make([]byte, 1)}, proactor.Op{
		Desc: &conn, Kind: proactor.Send,
		Buf: make([]byte, 1),
	}
	k.refuse = syscall.ENOSPC
	for range 2 {
		if read.Err = nil; !p.Start(&read) || read.Err != syscall.ENOSPC {
			t.Errorf("a read that cannot wait: in flight: %t, %v; want ENOSPC", read.InFlight, read.Err)
		}
	}
	k.refuse, k.added, read.Err = nil, 0, nil
	if p.Start(&read) || p.Start(&write) || k.added != 1 {
		t.Errorf("a read and a write that wait: %v, %v; %d registrations, want one", read.Err, write.Err, k.added)
	}
	k.calls = nil
	p.Release(&conn)
	if want := []string{"remove", "close"}; !slices.Equal(k.calls, want) {
		t.Errorf("Release of one that waited calls %v, want %v", k.calls, want)
	}
}
