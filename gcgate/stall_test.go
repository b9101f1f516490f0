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

// stalling is a heap that the process can stall over.
type stalling struct {
	*gcgatetest.Heap
	still atomic.Int64 // for so many nanoseconds when it is read the next time
}

func (s *stalling) Read() (cycles, automatic, allocated, live uint64) {
	time.Sleep(time.Duration(s.still.Swap(0)))
	return s.Heap.Read()
}

// TestStopWhileMarking: for a process that was stopped for twenty seconds, its collection is not
// one that does not end, nor are the next ones expected to take that long.
func TestStopWhileMarking(t *testing.T) {
	h := new(stalling)
	heap := func() *gcgatetest.Heap {
		h.Heap = gcgatetest.NewHeap()
		return h.Heap
	}
	inTimeOver(t, Options{Policy: PolicyThrough, Collector: h}, heap, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Mark = 21 * time.Second })
		r.until(t, StateCollecting)
		time.Sleep(10 * time.Millisecond)
		h.still.Store(int64(20 * time.Second))
		r.until(t, StateServing)
		if s, log := r.Stats(), r.logged.String(); s.Phases[StateCollecting].Total < 21*time.Second ||
			strings.Contains(log, "does not end") {
			t.Errorf("it collected for %v; the log:\n%s", s.Phases[StateCollecting].Total, log)
		}
		if e := r.Stats().Expected; e > 3*time.Second {
			t.Errorf("the next one is expected to take %v", e)
		}
	})
}

// TestOneTurnAtATime: a replica that wants to collect again while its last turn is still to be
// released takes no other one.
func TestOneTurnAtATime(t *testing.T) {
	turns := &fakeTurns{k: 2}
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Turns: turns, Jitter: -1, HoldTurn: 3 * time.Second},
		func(t *testing.T, r *rig) {
			most := 0
			r.onEvent(func(Event) { most = max(most, turns.holders()) })
			time.Sleep(time.Minute)
			r.onEvent(nil)
			if n := r.Stats().Turn.Held.Count; most != 1 || n < 5 {
				t.Errorf("of %d turns it held %d at once", n, most)
			}
		})
}

// TestTurnHeldForLong, as a balancer was down, is not what the next is taken for.
func TestTurnHeldForLong(t *testing.T) {
	var l turnLoad
	for range 20 {
		l.learn(100*time.Millisecond, true)
	}
	if l.learn(time.Minute, true); l.held(0) > time.Second || l.total.Max != time.Minute {
		t.Errorf("the mean is %v after one of a minute, the longest %v", l.held(0), l.total.Max)
	}
	l = turnLoad{}
	if l.learn(5*time.Minute, false); l.held(time.Second) != time.Second || l.total.Count != 1 {
		t.Errorf("the mean is %v after one of %d that was given up", l.held(time.Second), l.total.Count)
	}
	for range 20 {
		l.learn(time.Minute, true)
	}
	if l.held(0) < 50*time.Second {
		t.Errorf("the mean is %v where each is held for a minute", l.held(0))
	}
}

// TestMessagesHideNoIgnoredDrain: requests that keep coming show by their own rate, however
// many messages come beside them.
func TestMessagesHideNoIgnoredDrain(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&ineffectiveSignal{}}, Jitter: -1}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 20 * mib })
		r.send(10*time.Millisecond, func(time.Duration) bool { return true })
		go func() {
			for !r.stopping.Load() {
				r.EnterKept().Exit()
				time.Sleep(500 * time.Microsecond)
			}
		}()
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if s := r.Stats(); s.IgnoredDrains != 1 || s.Phases[StateDraining].Total < time.Second {
			t.Errorf("%d without effect, drained for %v", s.IgnoredDrains, s.Phases[StateDraining].Total)
		}
	})
}

// slowSignal has a peer that takes long to have this process back.
type slowSignal struct{ fakeSignal }

func (s *slowSignal) Ready(ctx context.Context) error {
	time.Sleep(900 * time.Millisecond)
	return s.fakeSignal.Ready(ctx)
}

// TestHeapIsWatchedWhileReadying: requests come again before all peers have said so.
func TestHeapIsWatchedWhileReadying(t *testing.T) {
	heap := func() *gcgatetest.Heap {
		h := gcgatetest.NewHeap()
		h.Group, h.Rate = 512*mib, 400*mib
		return h
	}
	inTimeOver(t, Options{Signals: []Signal{&slowSignal{}}, Jitter: -1}, heap, func(t *testing.T, r *rig) {
		time.Sleep(10 * time.Second)
		if s := r.Stats(); s.Escaped > 0 || s.Collections[ReasonHard]+s.Collections[ReasonTrigger] < 5 {
			t.Errorf("the runtime collected %d times by itself, the gate %v\n%s", s.Escaped,
				s.Collections, r.logged.String())
		}
	})
}

// peerless never finds its peer.
type peerless struct{ fakeSignal }

func (*peerless) Check(context.Context) error { return errors.New("no other server is up") }

// TestFirstReadyWithoutACheck: a peer that does not pass its check hears all the same that this
// process is ready, which the one before may have left drained.
func TestFirstReadyWithoutACheck(t *testing.T) {
	s := new(peerless)
	inTime(t, Options{Signals: []Signal{s}}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(2 * checkFor)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.readys != 1 {
			t.Errorf("it heard %d times that it is ready, want once", s.readys)
		}
	})
}
