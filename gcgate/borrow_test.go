package gcgate

import (
	"errors"
	"testing"
	"time"
)

// TestBorrowTurn takes the turn for another purpose than to collect.
func TestBorrowTurn(t *testing.T) {
	s, turns := &fakeSignal{}, &fakeTurns{}
	inTime(t, Options{Signals: []Signal{s}, Turns: turns, Jitter: -1}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		end, err := r.BorrowTurn(t.Context())
		if err != nil || turns.holders() != 1 || r.Stats().Turn.Holding != 1 {
			t.Fatalf("%v, held: %d, %+v", err, turns.holders(), r.Stats().Turn)
		}
		go r.Collect(t.Context())
		time.Sleep(time.Second)
		if state := r.State(); state != StateWanting {
			t.Errorf("it collects without the turn: %v", state)
		}
		if end(); turns.holders() != 0 {
			t.Error("the turn is not released")
		}
		r.until(t, StateServing)
		other, err := turns.TryAcquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.BorrowTurn(t.Context()); !errors.Is(err, ErrHeld) {
			t.Errorf("another replica has it: %v", err)
		}
		other.Release(t.Context())
		go r.Collect(t.Context())
		r.until(t, StateCollecting)
		if end, err = r.BorrowTurn(t.Context()); err != nil || turns.holders() != 1 {
			t.Fatalf("while it collects: %v, held: %d", err, turns.holders())
		}
		if end(); turns.holders() != 1 {
			t.Error("its own turn is released")
		}
		fail := func(err error) {
			turns.mu.Lock()
			defer turns.mu.Unlock()
			turns.err = err
		}
		fail(errPeer)
		r.until(t, StateServing)
		if _, err := r.BorrowTurn(t.Context()); !errors.Is(err, errPeer) {
			t.Errorf("the holder is not known: %v", err)
		}
		fail(nil)
	})
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		if end, err := r.BorrowTurn(t.Context()); err != nil {
			t.Errorf("without Turns: %v", err)
		} else {
			end()
		}
	})
}
