package gcgate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/gcgate/gcgatetest"
)

func TestRoundGoesThroughAllStates(t *testing.T) {
	s, turns := &fakeSignal{takes: 3 * time.Millisecond}, &fakeTurns{}
	inTime(t, Options{Signals: []Signal{s}, Turns: turns, Jitter: -1}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateCollecting)
		if !s.isDrained() || turns.holders() != 1 {
			t.Errorf("while it collects the peer has it drained=%v, turns held %d", s.isDrained(), turns.holders())
		}
		if left := r.Remaining(); left <= 0 || left > time.Second {
			t.Errorf("remaining %v", left)
		}
		r.until(t, StateServing)
		want := []State{StateWanting, StateAnnouncing, StateDraining, StateCollecting, StateReadying, StateServing}
		if d := cmp.Diff(want, r.states()); d != "" {
			t.Errorf("states (-want +got):\n%s", d)
		}
		if s.isDrained() || turns.holders() != 0 || r.Remaining() != 0 {
			t.Errorf("back, and the peer has it drained=%v, turns held %d, remaining %v", s.isDrained(),
				turns.holders(), r.Remaining())
		}
		got := r.Stats()
		if got.Collections[ReasonTrigger] != 1 || got.Escaped != 0 || got.WithoutTurn != 0 ||
			got.Policy != PolicyDrain {
			t.Errorf("stats %+v", got)
		}
		if p := got.Phases[StateCollecting]; p.Count != 1 || p.Total < 50*time.Millisecond ||
			p.Total > 55*time.Millisecond {
			t.Errorf("collecting %+v, the heap marks for 50 ms", p)
		}
		if got.Live != 100*mib || got.Trigger != 200*mib || got.Hard != 275*mib {
			t.Errorf("live %d, trigger %d, hard %d", got.Live/mib, got.Trigger/mib, got.Hard/mib)
		}
		if !offByGate(r.heap.Heap) {
			t.Error("GOGC is not off while the gate is in charge")
		}
	})
}

func offByGate(h *gcgatetest.Heap) (yes bool) {
	h.Do(func() { yes = h.Percent == -1 && h.Limit > 275*mib && h.Limit < 1000*mib })
	return yes
}

func TestDrainWaitsForRequests(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, DrainTimeout: time.Second}, func(t *testing.T, r *rig) {
		ticket := r.Enter()
		r.until(t, StateDraining)
		time.Sleep(300 * time.Millisecond)
		if r.State() != StateDraining {
			t.Errorf("with a request in flight: %v", r.State())
		}
		ticket.Exit()
		time.Sleep(quietMax + 5*time.Millisecond)
		if r.State() != StateCollecting {
			t.Errorf("55 ms after the last request: %v", r.State())
		}
	})
}

func TestDrainIsBoundedByStuckRequest(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}}, func(t *testing.T, r *rig) {
		defer r.Enter().Exit()
		r.until(t, StateDraining)
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if p := r.Stats().Phases[StateDraining]; p.Total > 105*time.Millisecond || p.Total < 100*time.Millisecond {
			t.Errorf("drained for %v, the bound is 100 ms", p.Total)
		}
	})
}

func TestStragglersAreServedAndCounted(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&fakeSignal{takes: 20 * time.Millisecond}}}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateAnnouncing)
		r.Enter().Exit() // these are awaited, and meet no collection
		r.until(t, StateDraining)
		r.Enter().Exit()
		r.until(t, StateCollecting)
		if r.Refusing() {
			t.Error("policy Drain refuses requests")
		}
		r.Enter().Exit()
		r.until(t, StateServing)
		if n := r.Stats().Stragglers; n != 1 {
			t.Errorf("%d stragglers, want 1", n)
		}
	})
}

func TestBrokenPeerDoesNotHoldUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal *fakeSignal
	}{
		{"it fails", &fakeSignal{err: errPeer}},
		{"it hangs", &fakeSignal{takes: time.Hour}},
	} {
		t.Run(c.name, func(t *testing.T) {
			good := &fakeSignal{}
			inTime(t, Options{Signals: []Signal{c.signal, good}}, func(t *testing.T, r *rig) {
				r.until(t, StateCollecting)
				if !good.isDrained() {
					t.Error("the other peer was not asked")
				}
				r.until(t, StateServing)
				p := r.Stats().Phases
				if p[StateAnnouncing].Total > 105*time.Millisecond || p[StateReadying].Total > 50*time.Millisecond {
					t.Errorf("announcing took %v, readying %v", p[StateAnnouncing].Total, p[StateReadying].Total)
				}
				if c.signal.takes == 0 && strings.Count(r.logged.String(), errPeer.Error()) != 1 {
					t.Errorf("the log must name the failure once:\n%s", r.logged.String())
				}
				if c.signal.most > 1 {
					t.Errorf("%d calls of one signal at once", c.signal.most)
				}
			})
		})
	}
}

func TestPeerThatForgotIsAskedAgain(t *testing.T) {
	s := &fakeSignal{}
	inTime(t, Options{Signals: []Signal{s}}, func(t *testing.T, r *rig) {
		r.traffic()
		r.heap.Do(func() { r.heap.Mark = time.Second })
		r.until(t, StateCollecting)
		s.set(func() { s.drained = false }) // reloaded
		time.Sleep(150 * time.Millisecond)
		if !s.isDrained() {
			t.Error("150 ms later the peer was not asked again")
		}
		s.set(func() { s.err = errPeer })
		r.until(t, StateServing)
		s.set(func() { s.err = nil })
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(2 * time.Second)
		if s.isDrained() {
			t.Error("Ready failed, and was not tried again")
		}
	})
}

func TestHeldTurnIsAwaited(t *testing.T) {
	turns := &fakeTurns{}
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Turns: turns, Jitter: -1}, func(t *testing.T, r *rig) {
		r.traffic()
		other, _ := turns.TryAcquire(t.Context())
		r.until(t, StateWanting)
		time.Sleep(300 * time.Millisecond)
		if r.State() != StateWanting {
			t.Fatalf("the turn is held, and it is %v", r.State())
		}
		other.Release(t.Context())
		r.until(t, StateCollecting)
		if r.Stats().WithoutTurn != 0 {
			t.Error("it did not wait for the turn")
		}
	})
}

func TestHardThresholdDoesNotWaitForTurn(t *testing.T) {
	for _, c := range []struct {
		name  string
		turns *fakeTurns
		log   string
	}{
		{"held", &fakeTurns{k: 1}, "another replica holds the turn"},
		{"store fails", &fakeTurns{err: errors.New("no etcd")}, "no etcd"},
		{"store hangs", &fakeTurns{takes: time.Hour}, "the turn cannot be taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			blind, sighted := &fakeSignal{}, &safeSignal{}
			turns := c.turns
			inTime(t, Options{Signals: []Signal{blind, sighted}, Turns: turns, Jitter: -1},
				func(t *testing.T, r *rig) {
					r.traffic()
					short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					defer cancel()
					turns.TryAcquire(short)
					r.until(t, StateWanting)
					r.until(t, StateCollecting)
					if heap := r.Stats().Heap / mib; heap < 274 || heap > 300 {
						t.Errorf("it collected at %d MiB, the hard threshold is 275", heap)
					}
					if blind.isDrained() || !sighted.isDrained() {
						t.Error("without a turn only the signal that is safe so must announce")
					}
					r.until(t, StateServing)
					if s := r.Stats(); s.WithoutTurn != 1 || s.Collections[ReasonHard] != 1 || s.Escaped != 0 {
						t.Errorf("stats %+v", s)
					}
					if !strings.Contains(r.logged.String(), c.log) {
						t.Errorf("the log does not say %q:\n%s", c.log, r.logged.String())
					}
					turns.lose()
				})
		})
	}
}

type safeSignal struct{ fakeSignal }

func (*safeSignal) Describe() Description { return Description{SafeWithoutTurn: true} }

func TestLostTurnEndsTheRound(t *testing.T) {
	turns := &fakeTurns{}
	slow := &fakeSignal{takes: 80 * time.Millisecond}
	inTime(t, Options{Signals: []Signal{slow}, Turns: turns}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateAnnouncing)
		turns.lose()
		r.until(t, StateServing)
		if s := r.states(); slices.Contains(s, StateCollecting) {
			t.Errorf("it collected after the turn was lost: %v", s)
		}
		if !strings.Contains(r.logged.String(), "turn was lost") || r.Stats().LostTurns != 1 {
			t.Error("the log does not say so")
		}
		r.until(t, StateCollecting) // the next time
	})
}

func TestCollectionThatDoesNotEnd(t *testing.T) {
	s := &fakeSignal{}
	inTime(t, Options{Signals: []Signal{s}}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Hang = make(chan struct{}) })
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if s.isDrained() {
			t.Error("it serves, and the peer was not asked")
		}
		if !strings.Contains(r.logged.String(), "does not end") {
			t.Errorf("the log does not say so:\n%s", r.logged.String())
		}
		time.Sleep(5 * time.Second)
		if n := r.heap.running; n != 1 {
			t.Errorf("%d collections run at once", n)
		}
		close(r.heap.Hang)
		r.until(t, StateCollecting)
	})
}

func TestReopensBeforeALongSweep(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Sweep = time.Minute })
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if p := r.Stats().Phases[StateCollecting].Total; p > 110*time.Millisecond {
			t.Errorf("out of rotation for %v: marking takes 50 ms, and the sweep gets as much", p)
		}
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(time.Hour) // the fake's goroutine must end inside the bubble
	})
}

// TestReturnsWithAWholeQuota: a drained process waits for a period of its CPU quota, if marking, which takes
// 50 ms, took more than half of what that allows.
func TestReturnsWithAWholeQuota(t *testing.T) {
	drained := Options{Signals: []Signal{&fakeSignal{}}}
	for _, c := range []struct {
		name          string
		o             Options
		allowed, want time.Duration
	}{
		{"used up", drained, 30 * time.Millisecond, 150 * time.Millisecond},
		{"more than half of it", drained, 99 * time.Millisecond, 150 * time.Millisecond},
		{"half of it", drained, 100 * time.Millisecond, 50 * time.Millisecond},
		{"serving", Options{Policy: PolicyThrough}, 30 * time.Millisecond, 50 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, c.o, func(t *testing.T, r *rig) {
				r.heap.Do(func() { r.heap.Allowed, r.heap.Period = c.allowed, 100*time.Millisecond })
				r.until(t, StateCollecting)
				r.until(t, StateServing)
				if p := r.Stats().Phases[StateCollecting].Total; p < c.want || p > c.want+5*time.Millisecond {
					t.Errorf("out for %v, want %v", p, c.want)
				}
			})
		})
	}
}

// TestServingCollectionDoesNotWaitForTheSweep: no replica is drained, so nothing is gained by it,
// and what is allocated in that time counts.
func TestServingCollectionDoesNotWaitForTheSweep(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Sweep = 500 * time.Millisecond })
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if p := r.Stats().Phases[StateCollecting].Total; p > 55*time.Millisecond {
			t.Errorf("collecting for %v, marking takes 50 ms", p)
		}
		time.Sleep(400 * time.Millisecond)
		if heap := r.Stats().Heap / mib; heap < 130 || heap > 142 {
			t.Errorf("heap %d MiB 400 ms after marking: 100 are live, and 100 a second come", heap)
		}
		time.Sleep(time.Second)
	})
}

func TestCollectWaitsForACollection(t *testing.T) {
	turns := &fakeTurns{}
	slow := &fakeSignal{takes: 80 * time.Millisecond}
	inTime(t, Options{Signals: []Signal{slow}, Turns: turns}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- r.Collect(ctx) }()
		r.until(t, StateAnnouncing)
		turns.lose() // this round collects nothing
		if err := <-ended; err != nil {
			t.Fatalf("Collect: %v\n%+v", err, r.Stats())
		}
		if s := r.Stats(); s.LostTurns != 1 || s.Collections[ReasonRequested] != 1 {
			t.Errorf("Collect returned after %d rounds without the turn and %d collections, want 1 of each",
				s.LostTurns,
				s.Collections[ReasonRequested])
		}
	})
}

func TestStopInEachState(t *testing.T) {
	for _, state := range []State{
		StateServing, StateWanting, StateAnnouncing, StateDraining,
		StateCollecting, StateReadying,
	} {
		t.Run(state.String(), func(t *testing.T) {
			s, turns := &fakeSignal{takes: 20 * time.Millisecond}, &fakeTurns{}
			inTime(t, Options{Signals: []Signal{s}, Turns: turns, Jitter: -1}, func(t *testing.T, r *rig) {
				r.traffic()
				var other Lease
				if state == StateWanting {
					other, _ = turns.TryAcquire(t.Context())
				}
				r.until(t, state)
				stopped := time.Now()
				r.Stop()
				if took := time.Since(stopped); took > 200*time.Millisecond {
					t.Errorf("Stop took %v", took)
				}
				if other != nil {
					other.Release(t.Context())
				}
				if s.isDrained() || turns.holders() != 0 || r.Remaining() != 0 {
					t.Errorf("after Stop the peer has it drained=%v, turns held %d", s.isDrained(), turns.holders())
				}
				if state != StateServing && state != StateWanting && s.drains == 0 && s.readys == 0 {
					t.Error("the peer was never called")
				}
				r.Enter().Exit()
				time.Sleep(time.Second) // a collection that runs ends
			})
		})
	}
}

func TestCollectsInGaps(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Jitter: -1}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		for range 40 {
			r.heap.Do(func() { r.heap.Rate = 400 * mib })
			for range 200 { // 100 ms on
				ticket := r.Enter()
				time.Sleep(500 * time.Microsecond)
				ticket.Exit()
			}
			r.heap.Do(func() { r.heap.Rate = 0 })
			time.Sleep(600 * time.Millisecond)
		}
		s := r.Stats()
		if s.Collections[ReasonIdleGap] < 30 || s.Collections[ReasonTrigger] > 2 || s.Stragglers > 0 {
			t.Errorf("collections %v, stragglers %d: want about 40 in gaps", s.Collections, s.Stragglers)
		}
	})
}

func TestDrainDoesNotTakeEachPauseForGap(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Jitter: -1}, func(t *testing.T, r *rig) {
		for range 2000 { // a request each 10 ms: mostly idle
			r.Enter().Exit()
			time.Sleep(10 * time.Millisecond)
		}
		if s := r.Stats(); s.Collections[ReasonIdleGap] > 0 || s.Collections[ReasonTrigger] == 0 {
			t.Errorf("collections %v: want them at the trigger", s.Collections)
		}
	})
}

func TestThroughSaysNothing(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		defer r.Enter().Exit()
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if d := cmp.Diff([]State{StateWanting, StateCollecting, StateServing}, r.states()); d != "" {
			t.Error(d)
		}
	})
}

func TestShedRefusesWhileDrained(t *testing.T) {
	inTime(t, Options{Policy: PolicyShed}, func(t *testing.T, r *rig) {
		r.traffic()
		draining := 0
		for range 10_000 {
			time.Sleep(time.Millisecond)
			if r.State() == StateDraining {
				draining++
			}
			out := slices.Contains([]State{StateAnnouncing, StateDraining, StateCollecting}, r.State())
			if r.Refusing() != out {
				t.Fatalf("refusing=%v while %v", r.Refusing(), r.State())
			}
		}
		switch n := int(r.Stats().Collections[ReasonTrigger]); {
		case n == 0:
			t.Error("no collection")
		case draining > 5*n:
			t.Errorf("it refused for %d ms before it collected %d times: who lets none in need not wait for silence",
				draining,
				n)
		}
	})
}

func TestShedHoldsTheTurnUntilPeersCameBack(t *testing.T) {
	turns := &fakeTurns{}
	inTime(t, Options{Policy: PolicyShed, Turns: turns}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(2990 * time.Millisecond)
		if turns.holders() != 1 {
			t.Error("the turn was released before nginx comes back")
		}
		time.Sleep(20 * time.Millisecond)
		if turns.holders() != 0 {
			t.Error("the turn is held for too long")
		}
		r.heap.Do(func() { r.heap.Rate = 100 * mib })
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if r.Stop(); turns.holders() != 0 {
			t.Error("the turn outlives the gate")
		}
	})
}

func TestPeriodicCollectionOfAnIdleProcess(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(5 * time.Minute)
		if n := r.Stats().Collections[ReasonPeriodic]; n != 2 {
			t.Errorf("%d collections in 5 minutes, want one each 2", n)
		}
	})
}

func TestEscapedCycleIsLoggedAndCounted(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		r.heap.Do(func() { r.heap.Rate, r.heap.Limit = 10*mib, 120*mib })
		time.Sleep(5 * time.Second)
		if r.Stats().Escaped == 0 || !strings.Contains(r.logged.String(), "collected by itself") {
			t.Errorf("stats %+v\n%s", r.Stats(), r.logged.String())
		}
		r.heap.Do(func() { r.heap.Limit = math.MaxInt64 })
	})
}

func TestCollectOnRequest(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.Stats().Collections[ReasonRequested] != 1 {
			t.Errorf("stats %+v", r.Stats())
		}
	})
}

func TestNothingLeaksFromManyGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			r := startRig(t, Options{Signals: []Signal{&fakeSignal{takes: time.Hour}}}, gcgatetest.NewHeap())
			time.Sleep(700 * time.Millisecond)
			r.Stop()
			time.Sleep(time.Second)
		}
	})
}
