//go:build linux

package uring

import (
	"testing"

	"evenkeel.dev/internal/proactor"
)

// TestStaleCompletion: a completion of a slot's former use, or of no slot, is nobody's.
func TestStaleCompletion(t *testing.T) {
	b := &Backend{slots: make([]slot, 1), inFlight: 3}
	use := func() uint64 {
		b.slots[0].op = &proactor.Op{Desc: new(proactor.Desc), Buf: make([]byte, 9)}
		return b.userData(0)
	}
	first := use()
	if done := b.complete(nil, cqe{userData: first, res: 1}); len(done) != 1 || done[0].Size != 1 {
		t.Fatalf("a completion: %v", done)
	}
	if done := b.complete(nil, cqe{userData: first, res: 1}); len(done) != 0 {
		t.Errorf("a completion came twice, and was taken twice: %v", done)
	}
	second := use()
	for _, stale := range []uint64{first, first + 1, second | ofCancel, second + 1<<32} {
		if done := b.complete(nil, cqe{userData: stale, res: 1}); len(done) != 0 {
			t.Errorf("user data %#x was taken for %#x", stale, second)
		}
	}
	if done := b.complete(nil, cqe{userData: second, res: 2}); len(done) != 1 || done[0].Size != 2 {
		t.Errorf("its own completion: %v", done)
	}
	b.slots[0].uses = 0x7fffffff
	last := use()
	b.complete(nil, cqe{userData: last, res: 1})
	if last&ofCancel != 0 || b.userData(0)&ofCancel != 0 {
		t.Error("a slot's user data is that of a cancellation")
	}
}
