package gcgate

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// loneSignal has a bound of its own for collections without the turn.
type loneSignal struct {
	fakeSignal
	refuse error // guarded by mu
	asked  int   // guarded by mu
}

func (s *loneSignal) CanDrainAlone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.refuse
}

// TestLoneDrainerDecidesForEachCollection that has no turn, and for none that has one.
func TestLoneDrainerDecidesForEachCollection(t *testing.T) {
	s, turns := &loneSignal{}, &fakeTurns{err: ErrHeld}
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{s}, Turns: turns, DisableJitter: true}, func(t *testing.T, r *rig) {
		r.traffic()
		collect := func(away bool, asked int) {
			t.Helper()
			r.until(t, StateCollecting)
			if s.isAway() != away || s.asked != asked {
				t.Errorf("announced %v after %d questions, want %v and %d", s.isAway(), s.asked, away, asked)
			}
			r.until(t, StateServing)
			if synctest.Wait(); s.isAway() {
				t.Error("it serves, and its peer does not know")
			}
		}
		collect(true, 1)
		s.set(func() { s.refuse = errors.New("two of three must stay") })
		collect(false, 2)
		s.set(func() { s.refuse = nil })
		collect(true, 3)
		turns.mu.Lock()
		turns.err = nil
		turns.mu.Unlock()
		collect(true, 3)
		if n := r.Stats().WithoutTurn; n != 3 {
			t.Errorf("%d collections without the turn, want 3", n)
		}
	})
}

// observingSignal observes from Attach on.
type observingSignal struct {
	fakeSignal
	seen atomic.Int64
}

func (s *observingSignal) Attach(g *Gate) { g.Observe(func(Event) { s.seen.Add(1) }) }

// TestObservers: as many as want to hear each event, in the order in which they came, until they stop.
func TestObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &observingSignal{}
		r := startRig(t, Options{Signals: []Signal{s}}, gcgatetest.NewHeap())
		defer r.Stop()
		var order []int // the gate's goroutine adds to it, and the test reads it while that sleeps
		stopFirst := r.Observe(func(Event) { order = append(order, 1) })
		var stopSecond func()
		stopSecond = r.Observe(func(Event) {
			order = append(order, 2)
			stopSecond()
		})
		r.heap.Do(func() { r.heap.Rate = 0 })
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		n := len(r.states())
		if int(s.seen.Load()) != n || len(order) != n+1 || order[0] != 1 || order[1] != 2 || order[2] != 1 {
			t.Errorf("of %d events the signal saw %d, the observers %v: want all, and one of the second", n, s.seen.Load(), order)
		}
		stopFirst()
		stopFirst()
		stopSecond()
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(order) != n+1 || len(r.states()) != 2*n {
			t.Errorf("after stop %d calls came, of %d events in all", len(order)-n-1, len(r.states()))
		}
		time.Sleep(time.Second)
	})
}
