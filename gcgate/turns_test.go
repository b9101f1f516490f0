package gcgate

import (
	"context"
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
