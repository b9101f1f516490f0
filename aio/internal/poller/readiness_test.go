package poller

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// accepting is a kernel in which a connection waits always. It counts what is registered.
type accepting struct {
	oneNumber
	added  int
	refuse error
}

func (k *accepting) Accept(int) (int, proactor.Addr, error) { return 8, proactor.Addr{}, nil }

func (k *accepting) add(*proactor.Desc) error {
	k.added++
	return k.refuse
}

// TestRegisteredWhenItWaits: a connection that was accepted costs no system call until something has to wait on it, and
// then one.
func TestRegisteredWhenItWaits(t *testing.T) {
	k := &accepting{}
	p := &Poller{kernel: k, most: batch, woken: make(chan struct{}, 1), held: &proactor.Held{}}
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

// oneNumber is a kernel that gives out the same number again as soon as it can.
type oneNumber struct {
	sockets // nothing is accepted

	events []event
	calls  []string
}

func (k *oneNumber) Name() string                     { return "test" }
func (k *oneNumber) Dup(any) (int, bool, error)       { return 7, true, nil }
func (k *oneNumber) Unlinger(int)                     {}
func (k *oneNumber) CloseFd(int)                      { k.calls = append(k.calls, "close") }
func (k *oneNumber) Recv(int, []byte) (int, error)    { return 0, syscall.EAGAIN }
func (k *oneNumber) Send(int, []byte) (int, error)    { return 0, syscall.EAGAIN }
func (k *oneNumber) Sendv(int, [][]byte) (int, error) { return 0, syscall.EAGAIN }
func (k *oneNumber) ShutWrite(int) error              { return nil }
func (k *oneNumber) add(*proactor.Desc) error         { return nil }
func (k *oneNumber) remove(*proactor.Desc, bool)      { k.calls = append(k.calls, "remove") }
func (k *oneNumber) poll(events []event) (int, error) { return copy(events, k.events), nil }
func (k *oneNumber) wait(time.Duration) error         { return nil }
func (k *oneNumber) Yield()                           {}
func (k *oneNumber) wake()                            {}
func (k *oneNumber) close()                           {}

// TestStaleEvent: an event that was fetched before its descriptor was closed is neither the
// closed one's, nor the one's that has its number by now.
func TestStaleEvent(t *testing.T) {
	k := &oneNumber{}
	p := &Poller{kernel: k, most: batch, woken: make(chan struct{}, 1), held: &proactor.Held{}}
	var first, second proactor.Desc
	if err := p.Open(nil, &first); err != nil {
		t.Fatal(err)
	}
	first.Ready = 0
	k.events = []event{{num: first.Num, gen: first.Gen, ready: proactor.CanRead | proactor.Hup}}
	if p.n, _ = p.poll(p.room()); p.n == 0 {
		t.Fatal("no event was fetched")
	}
	p.Release(&first)
	if want := []string{"remove", "close"}; !slices.Equal(k.calls, want) {
		t.Errorf("Close calls %v, want %v: the number may be another's after close", k.calls, want)
	}
	if _, err := p.Poll(nil); err != nil || first.Ready != 0 {
		t.Errorf("after Close an event came to the closed descriptor: %v, %v", first.Ready, err)
	}

	if err := p.Open(nil, &second); err != nil {
		t.Fatal(err)
	}
	if second.Num != first.Num || second.Gen == first.Gen {
		t.Fatalf("descriptors %d/%d and %d/%d: want one number, two generations", first.Num, first.Gen, second.Num,
			second.Gen)
	}
	second.Ready = 0
	if p.n, _ = p.poll(p.room()); p.n == 0 {
		t.Fatal("no event was fetched")
	}
	if _, err := p.Poll(nil); err != nil || second.Ready != 0 {
		t.Errorf("another descriptor's event came to the one that has its number: %v, %v", second.Ready, err)
	}
}
