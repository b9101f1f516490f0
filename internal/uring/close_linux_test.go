package uring

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"weak"

	"evenkeel.dev/internal/proactor"
)

// opened returns a backend with two reads that the kernel has, one of them without a buffer of its
// own, and a weak pointer to the other's buffer.
func opened(t *testing.T) (b *Backend, ops []*proactor.Op, buffer weak.Pointer[byte]) {
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
		op.Desc.Ready = 0 // so that the kernel does not try first
		b.Start(op)
		ops = append(ops, op)
	}
	if done, err := b.Poll(nil); len(done) != 0 || err != nil {
		t.Fatalf("Poll with nothing to read: %v, %v", done, err)
	}
	return b, ops, weak.Make(&ops[0].Buf[0])
}

// TestCloseKeepsMemory: memory that the kernel was not seen to be done with is given to nobody, and
// not freed, be it the user's or the ring's.
func TestCloseKeepsMemory(t *testing.T) {
	for name, lose := range map[string]func(*Backend){
		"no completion comes": func(b *Backend) {
			b.ring.cqHead, b.ring.cqTail = new(uint32), new(uint32) // the kernel's are elsewhere
			b.closeLooks = 3
		},
		"the ring fails": func(b *Backend) {
			ring := b.ring.fd
			t.Cleanup(func() { _ = syscall.Close(ring) })
			var err error
			if b.ring.fd, err = syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, ops, buffer := opened(t)
			var swap weak.Pointer[byte]
			if b.buffers != nil { // Linux 6.12
				swap = weak.Make(&b.buffers.memory[0][0])
			}
			lose(b)
			for _, op := range ops {
				b.Release(op.Desc)
			}
			done := b.Close(nil)
			if len(done) != len(ops) || !slices.Contains(done, ops[0]) || !slices.Contains(done, ops[1]) {
				t.Fatalf("Close returned %v, want both operations", done)
			}
			for i, op := range done {
				if op.InFlight || !op.Leaked || op.Buf != nil || op.Size != 0 || op.Err != syscall.ECANCELED {
					t.Errorf("operation %d: leaked: %t, with a buffer of %d bytes and size %d, %v; want it leaked, without its buffer", i, op.Leaked, len(op.Buf), op.Size, op.Err)
				}
			}
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
		})
	}
}

// TestCloseReturnsMemory: of what came back, all is the user's.
func TestCloseReturnsMemory(t *testing.T) {
	b, ops, _ := opened(t)
	for _, op := range ops {
		b.Release(op.Desc)
	}
	done := b.Close(nil)
	for _, op := range done {
		if op.InFlight || op.Leaked || op.Err != syscall.ECANCELED {
			t.Errorf("leaked: %t, %v", op.Leaked, op.Err)
		}
	}
	if len(done) != 2 || len(ops[0].Buf) != 4096 || ops[0].Size != 10 {
		t.Errorf("%d operations, the buffer has %d bytes, %d of them read; want 2, 4096 and 10", len(done), len(ops[0].Buf), ops[0].Size)
	}
}
