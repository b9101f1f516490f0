package gcgate

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// lateTurns answer when they are let, whatever their context says.
type lateTurns struct {
	fakeTurns
	calls  atomic.Int32
	answer chan struct{}
}

func (t *lateTurns) TryAcquire(context.Context) (Lease, error) {
	t.calls.Add(1)
	<-t.answer
	return t.fakeTurns.TryAcquire(context.Background())
}

// TestLateTurnGoesBack: Turns that do not answer are not asked again, and the log names them; the
// turn that comes after all is released, and the next collection has one.
func TestLateTurnGoesBack(t *testing.T) {
	turns := &lateTurns{}
	heap := func() *gcgatetest.Heap {
		turns.answer = make(chan struct{}) // of the bubble
		return gcgatetest.NewHeap()
	}
	inTimeOver(t, Options{Policy: PolicyThrough, Turns: turns}, heap, func(t *testing.T, r *rig) {
		for n := 0; r.Stats().WithoutTurn < 3 && n < 10_000; n++ {
			time.Sleep(10 * time.Millisecond)
		}
		r.until(t, StateServing)
		if n, log := turns.calls.Load(), r.logged.String(); n != 1 ||
			!strings.Contains(log, "the turn cannot be taken") ||
			!strings.Contains(log, errNoAnswer.Error()) || strings.Contains(log, "error=<nil>") {
			t.Errorf("asked %d times, want once; the log must say why there is no turn:\n%s", n, log)
		}
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(5 * time.Second) // no turn is wanted
		close(turns.answer)
		time.Sleep(time.Second)
		if n := turns.holders(); n != 0 {
			t.Errorf("%d turns are held by no replica", n)
		}
		before := r.Stats().WithoutTurn
		if err := r.Collect(t.Context()); err != nil || r.Stats().WithoutTurn != before || turns.calls.Load() != 2 {
			t.Errorf("the next collection: %v, %+v", err, r.Stats())
		}
	})
}

// TestReasonIsGone: what another has collected while the turn was waited for is not collected
// again, and the turn goes to the next.
func TestReasonIsGone(t *testing.T) {
	for name, turns := range map[string]Turns{"asked again": &fakeTurns{}, "queue": &fakeQueue{k: 1}} {
		t.Run(name, func(t *testing.T) {
			signal := &fakeSignal{}
			inTime(t, Options{Signals: []Signal{signal}, Turns: turns, Jitter: -1},
				func(t *testing.T, r *rig) {
					r.traffic()
					other, err := turns.TryAcquire(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					r.until(t, StateWanting)
					r.heap.Do(r.heap.EndCycle) // as by runtime.GC
					time.Sleep(100 * time.Millisecond)
					if err := other.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
					r.until(t, StateServing)
					if n := r.Stats().Collections[ReasonTrigger]; n != 0 || signal.drains != 0 {
						t.Errorf("%d collections and %d announcements of a heap that was collected", n, signal.drains)
					}
					next, err := turns.TryAcquire(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if err := next.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
					r.until(t, StateCollecting) // the next time
				})
		})
	}
}

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
