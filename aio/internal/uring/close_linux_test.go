package uring

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"weak"

	"evenkeel.dev/aio/internal/proactor"
)

// opened returns a backend with two reads that wait, one of them without a buffer of its own.
func opened(t *testing.T) (b *Backend, ops []*proactor.Op) {
	t.Helper()
	b, err := New(64 << 10)
	if missing := (*proactor.MissingError)(nil); errors.As(err, &missing) {
		t.Skip("needs io_uring:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, op := range []*proactor.Op{
		{Kind: proactor.Recv, Buf: make([]byte, 4096), Size: 10}, // of a ReadFull: it has some
		{Kind: proactor.Readable},
	} {
		connect(t, b, l, op)
		ops = append(ops, op)
	}
	if done, err := b.Poll(nil); len(done) != 0 || err != nil {
		t.Fatalf("Poll with nothing to read: %v, %v", done, err)
	}
	return b, ops
}

// connect begins op on a connection of its own, and returns the other end.
func connect(t *testing.T, b *Backend, l net.Listener, op *proactor.Op) (peer net.Conn) {
	t.Helper()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	op.Desc = new(proactor.Desc)
	if err := b.Open(conn, op.Desc); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	op.Desc.Queues[proactor.In].Push(op)
	b.Start(op)
	return peer
}

// queue has ops be tried by the next Poll, as if epoll had said that they need not wait.
func queue(b *Backend, ops []*proactor.Op) {
	for _, op := range ops {
		op.Desc.Ready |= proactor.CanRead
		b.Start(op)
	}
}

// released ends what is in flight, as a watcher does before it closes the backend. It returns what
// came back so.
func released(b *Backend, ops []*proactor.Op) (back []*proactor.Op) {
	for _, op := range ops {
		if b.Cancel(op) {
			back = append(back, op)
		}
		b.Release(op.Desc)
	}
	return back
}

// TestNothingInKernel: what waits is not the kernel's. Its cancellation is at once, and it is nobody's
// who asks later.
func TestNothingInKernel(t *testing.T) {
	b, ops := opened(t)
	if sent, taken := *b.ring.sqTail, *b.ring.cqHead; sent == 0 || sent != taken || *b.ring.cqTail != taken {
		t.Errorf("after a Poll: %d entries, %d completions, %d of them taken; want one for each", sent, *b.ring.cqTail,
			taken)
	}
	queue(b, ops)
	if back := released(b, ops); len(back) != 2 || len(ops[0].Buf) != 4096 || ops[0].Size != 10 {
		t.Errorf("%d operations came back, the buffer has %d bytes, %d of them read; want 2, 4096 and 10", len(back),
			len(ops[0].Buf), ops[0].Size)
	}
	if done, err := b.Poll(nil); len(done) != 0 || err != nil {
		t.Errorf("Poll of what was cancelled: %v, %v", done, err)
	}
	if done := b.Close(nil); len(done) != 0 {
		t.Errorf("Close returned %v", done)
	}
}

// TestCancelQueued: of what is queued and was not given to the kernel, the one that is cancelled is not
// tried, and the others are.
func TestCancelQueued(t *testing.T) {
	b, ops := opened(t)
	d := ops[0].Desc
	sends := make([]*proactor.Op, 300) // more than the ring has entries
	for i := range sends {
		sends[i] = &proactor.Op{Kind: proactor.Send, Desc: d, Buf: []byte{byte(i)}}
		b.Start(sends[i])
	}
	if !b.Cancel(sends[1]) || sends[1].InFlight {
		t.Error("what is queued was not cancelled at once")
	}
	done, err := b.Poll(nil)
	if len(done) != len(sends)-1 || err != nil || slices.Contains(done, sends[1]) {
		t.Errorf("Poll returned %d operations, %v; want all but the one that was cancelled", len(done), err)
	}
	for _, op := range done {
		if op.InFlight || op.Size != 1 || op.Err != nil {
			t.Fatalf("a send: in flight: %t, %d bytes, %v", op.InFlight, op.Size, op.Err)
		}
	}
	released(b, ops)
	b.Close(nil)
}

// TestRefused: what the kernel did not take comes back by its cancellation, whole.
func TestRefused(t *testing.T) {
	b, ops := opened(t)
	ring := b.ring.fd
	t.Cleanup(func() { _ = syscall.Close(ring) })
	var err error
	if b.ring.fd, err = syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	queue(b, ops)
	for range 2 {
		if done, err := b.Poll(nil); len(done) != 0 || err == nil || err == syscall.EAGAIN {
			t.Fatalf("Poll of a ring that is none: %v, %v", done, err)
		}
	}
	if back, done := released(b, ops), b.Close(nil); len(back) != 2 || len(done) != 0 || len(ops[0].Buf) != 4096 {
		t.Errorf("%d operations came back, and %d at the end; want 2 and 0", len(back), len(done))
	}
}

// TestCloseKeepsMemory: memory that the kernel was not seen to be done with is given to nobody, and
// not freed, be it the user's or the ring's.
func TestCloseKeepsMemory(t *testing.T) {
	b, ops := opened(t)
	buffer := weak.Make(&ops[0].Buf[0])
	var swap weak.Pointer[byte]
	if b.buffers != nil { // Linux 6.12
		swap = weak.Make(&b.buffers.memory[0][0])
	}
	b.ring.cqHead, b.ring.cqTail = new(uint32), new(uint32) // the kernel's are elsewhere
	want := len(ops)
	if b.buffers == nil {
		want = 1 // the other is no transfer of the ring's
	}
	queue(b, ops)
	done, err := b.Poll(nil)
	if len(done) != want || err != errKept {
		t.Fatalf("Poll without completions: %v, %v; want %d operations", done, err, want)
	}
	for i, op := range done {
		if op.InFlight || op.Buf != nil || op.Size != 0 || op.Err != errKept {
			t.Errorf("operation %d: a buffer of %d bytes and size %d, %v; want none, and why", i, len(op.Buf), op.Size,
				op.Err)
		}
	}
	if done, err := b.Poll(nil); len(done) != 0 || err != errKept {
		t.Errorf("Poll after that: %v, %v", done, err)
	}
	for _, op := range done {
		b.Release(op.Desc)
	}
	released(b, ops[len(done):])
	b.Close(nil)
	hasSwap := swap != (weak.Pointer[byte]{})
	clear(ops)
	clear(done)
	b = nil
	runtime.GC()
	runtime.GC()
	if buffer.Value() == nil {
		t.Error("the user's buffer was freed, and the kernel may write into it")
	}
	if hasSwap && swap.Value() == nil {
		t.Error("the ring's buffers were freed, and the kernel may write into them")
	}
}
