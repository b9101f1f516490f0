package gcgate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// TestIdleGateRests: five minutes without a request cost a handful of wake-ups a second, and
// the burst after them is noticed before the heap is at the hard threshold.
func TestIdleGateRests(t *testing.T) {
	signals := []Signal{&fakeSignal{}}
	for _, c := range []struct {
		name string
		o    Options
		heap func() *gcgatetest.Heap
		most int // wake-ups a second
	}{
		{"auto", Options{}, gcgatetest.NewHeap, 5},
		{"auto with a signal", Options{Signals: signals}, gcgatetest.NewHeap, 8},
		{"drain", Options{Policy: PolicyDrain, Signals: signals, Turns: &fakeTurns{}}, gcgatetest.NewHeap, 8},
		{"through", Options{Policy: PolicyThrough}, gcgatetest.NewHeap, 8},
		{"shed", Options{Policy: PolicyShed}, gcgatetest.NewHeap, 8},
		{"memory", Options{Policy: PolicyMemory, MemoryLimitBytes: 1000 * mib}, gcgatetest.NewHeap, 5},
		{"auto, which spends memory", Options{MemoryLimitBytes: 1000 * mib}, gcgatetest.NewHeap, 5},
		{"no room", Options{Policy: PolicyThrough, MemoryLimitBytes: 41 * mib}, gcgatetest.NewHeap, 5},
		{"drain, a large machine", Options{Policy: PolicyDrain, Signals: signals, Turns: &fakeTurns{}}, roomy, 5},
		{"through, a large machine", Options{Policy: PolicyThrough}, roomy, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTimeOver(t, c.o, c.heap, func(t *testing.T, r *rig) {
				live := uint64(mib)
				if c.name == "no room" {
					live = 40 * mib
				}
				r.fewRequests(live)
				if n, _ := r.wakeUps(func() { time.Sleep(5 * time.Minute) }); n > 300*c.most {
					t.Errorf("%d wake-ups in five minutes, want at most %d a second", n, c.most)
				}
				if off := func() (yes bool) { r.heap.Do(func() { yes = r.heap.Percent < 0 }); return yes }; !off() {
					return // the runtime is in charge
				}
				for i := range times(4, 10) { // at any time between two looks
					time.Sleep(5*time.Second + time.Duration(i)*37*time.Millisecond)
					from := len(r.since(0))
					ticket := r.Enter()
					r.heap.Do(func() { r.heap.Rate = 800 * mib })
					r.until(t, StateCollecting)
					r.heap.Do(func() { r.heap.Rate = 0 })
					ticket.Exit()
					s := r.Stats()
					if heap := r.since(from)[0].Heap; heap >= s.Hard || s.Escaped > 0 {
						t.Errorf("burst %d was noticed at %d MiB, the hard threshold is %d: %+v", i,
							heap/mib, s.Hard/mib, s)
					}
					r.until(t, StateServing)
				}
			})
		})
	}
}

// fewRequests sends 18 requests that allocate 9 MiB in all, and then none.
func (r *rig) fewRequests(live uint64) {
	r.heap.Do(func() { r.heap.Rate, r.heap.Live, r.heap.Mark = 10*mib, live, time.Millisecond })
	for range 18 {
		r.Enter().Exit()
		time.Sleep(50 * time.Millisecond)
	}
	r.heap.Do(func() { r.heap.Rate = 0 })
}

// TestIdleGateRestsWithoutTheTurn: neither a turn that is not available nor a request that hangs
// keeps an idle process awake; and the load that comes then is noticed, with requests and
// without, before the runtime collects by itself.
func TestIdleGateRestsWithoutTheTurn(t *testing.T) {
	signals := []Signal{&fakeSignal{}}
	for _, c := range []struct {
		name  string
		o     Options
		turns Turns
		hangs bool // a request
	}{
		{"held, drain", Options{Policy: PolicyDrain, Signals: signals}, &fakeTurns{err: ErrHeld}, false},
		{"held, shed", Options{Policy: PolicyShed}, &fakeTurns{err: ErrHeld}, false},
		{"held, through", Options{Policy: PolicyThrough}, &fakeTurns{err: ErrHeld}, false},
		{"failing", Options{Policy: PolicyDrain, Signals: signals}, &fakeTurns{err: errPeer}, false},
		{"failing, through", Options{Policy: PolicyThrough}, &fakeTurns{err: errPeer}, false},
		{"silent", Options{Policy: PolicyDrain, Signals: signals}, &fakeTurns{takes: time.Hour}, false},
		{"silent, through", Options{Policy: PolicyThrough}, &fakeTurns{takes: time.Hour}, false},
		{"held, a request hangs", Options{Policy: PolicyDrain, Signals: signals}, &fakeTurns{err: ErrHeld}, true},
		{"a request hangs", Options{Policy: PolicyDrain, Signals: signals}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Turns = c.turns
			small := func() *gcgatetest.Heap {
				h := roomy()
				h.Available = 0
				return h
			}
			inTimeOver(t, c.o, small, func(t *testing.T, r *rig) {
				if c.hangs {
					defer r.Enter().Exit()
				}
				r.fewRequests(mib)
				time.Sleep(5 * time.Second)                                                 // it calms down
				for _, phase := range []time.Duration{100 * time.Second, 5 * time.Minute} { // Period falls between them
					n, _ := r.wakeUps(func() { time.Sleep(phase) })
					if n > int(phase/time.Second)*15 {
						t.Errorf("%d wake-ups in %v, want at most 15 a second", n, phase)
					}
				}
				if c.turns == nil {
					return
				}
				if s := r.Stats(); s.State != StateWanting || s.WithoutTurn > 0 {
					t.Errorf("after Period: %+v", s)
				}
				for i := range times(4, 10) { // at any time between two looks
					was := r.Stats().WithoutTurn
					if i%2 == 0 {
						r.Enter().Exit()
					}
					r.heap.Do(func() { r.heap.Rate = 700 * mib })
					for n := 0; r.Stats().WithoutTurn == was && n < 10_000; n++ {
						time.Sleep(time.Millisecond)
					}
					r.heap.Do(func() { r.heap.Rate = 0 })
					if s := r.Stats(); s.WithoutTurn != was+1 || s.Escaped > 0 {
						t.Errorf("burst %d: %+v", i, s)
					}
					// Period: it wants the turn again
					time.Sleep(130*time.Second + time.Duration(i)*37*time.Millisecond)
				}
			})
		})
	}
}

// TestIdleGateRestsWhileItHoldsTheTurn for a peer that does not take it back.
func TestIdleGateRestsWhileItHoldsTheTurn(t *testing.T) {
	s := &fakeSignal{}
	inTimeOver(t, Options{Policy: PolicyDrain, Signals: []Signal{s}, Turns: &fakeTurns{}}, roomy,
		func(t *testing.T, r *rig) {
			go r.Collect(t.Context())
			r.until(t, StateDraining)
			s.set(func() { s.err = ErrNotBack })
			r.until(t, StateServing)
			go r.Collect(t.Context())
			r.until(t, StateWanting)
			n, _ := r.wakeUps(func() { time.Sleep(50 * time.Second) })
			if r.State() != StateWanting || n > 50*10 {
				t.Errorf("%v: %d wake-ups in 50 s, want at most 10 a second", r.State(), n)
			}
			time.Sleep(returnTimeout - time.Minute)
			r.until(t, StateServing)
			// the second one, which asks no peer, is short
			if mean := r.control.heap.turns.held(0); mean > time.Minute {
				t.Errorf("the turn that was given up counts: the mean is %v", mean)
			}
			if s := r.Stats(); s.Collections[ReasonRequested] != 2 || s.WithoutTurn > 0 {
				t.Errorf("%+v", s)
			}
		})
}

// TestTurnIsTakenPromptlyUnderLoad: the turn is asked for seldom by a process that has time, and
// each 10 ms by one that has not, also by one that had it a moment ago.
func TestTurnIsTakenPromptlyUnderLoad(t *testing.T) {
	turns := &fakeTurns{}
	inTime(t, Options{Policy: PolicyThrough, Turns: turns}, func(t *testing.T, r *rig) {
		other, _ := turns.TryAcquire(t.Context())
		r.heap.Do(func() { r.heap.Rate, r.heap.Live = 0, 10*mib })
		time.Sleep(3 * time.Minute)
		if s := r.State(); s != StateWanting {
			t.Fatalf("after Period: %v", s)
		}
		r.heap.Do(func() { r.heap.Rate = 10 * mib })
		time.Sleep(time.Second)
		for range 5 {
			other.Release(t.Context())
			free := time.Now()
			r.until(t, StateCollecting)
			if took := time.Since(free); took > turnPause+2*time.Millisecond {
				t.Errorf("the turn was free for %v", took)
			}
			for r.State() != StateServing || turns.holders() > 0 {
				time.Sleep(time.Millisecond)
			}
			other, _ = turns.TryAcquire(t.Context())
			r.until(t, StateWanting)
			time.Sleep(500 * time.Millisecond)
		}
	})
}

// TestBurstWithoutRequests: what is allocated beside requests does not wake a gate that rests.
// The hard threshold holds up to nearly burstRate on a large machine, and up to less on a small
// one; then there is the safety limit.
func TestBurstWithoutRequests(t *testing.T) {
	for _, c := range []struct {
		available, rate uint64 // MiB
		hard            bool   // may be passed, but not the safety limit
	}{
		{24 << 10, 3300, false},
		{24 << 10, 4600, true},
		{2 << 10, 630, false},
		{2 << 10, 1250, true},
		{0, 310, false},
		{0, 780, true},
	} {
		t.Run(fmt.Sprintf("%d MiB each second of %d", c.rate, c.available), func(t *testing.T) {
			h := func() *gcgatetest.Heap {
				h := roomy()
				h.Available = c.available * mib
				return h
			}
			inTimeOver(t, Options{Policy: PolicyThrough}, h, func(t *testing.T, r *rig) {
				for i := range times(10, 40) {
					time.Sleep(10*time.Second + time.Duration(i)*17*time.Millisecond)
					from := len(r.since(0))
					r.heap.Do(func() { r.heap.Rate = float64(c.rate * mib) })
					for n := 0; len(r.since(from)) == 0 && r.Stats().Escaped == 0 && n < 10_000; n++ {
						time.Sleep(time.Millisecond)
					}
					r.heap.Do(func() { r.heap.Rate = 0 })
					first := r.since(from)
					if s := r.Stats(); s.Escaped > 0 || len(first) == 0 || first[0].Reason == ReasonHard && !c.hard {
						t.Errorf("burst %d: %+v, %+v", i, first, s)
						return
					}
				}
			})
		})
	}
}

// TestAutoLooksSeldom: watching the runtime under a steady load is cheap, with memory to spend and
// without.
func TestAutoLooksSeldom(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		limit int64
	}{{0, 0}, {100 * mib, 0}, {100 * mib, 1000 * mib}} {
		inTime(t, Options{MemoryLimitBytes: c.limit}, func(t *testing.T, r *rig) {
			rate := c.rate
			r.heap.Do(func() { r.heap.Rate, r.heap.Mark = rate, 5*time.Millisecond })
			n, _ := r.wakeUps(func() {
				for range 250 * 60 {
					r.Enter().Exit()
					time.Sleep(4 * time.Millisecond)
				}
			})
			if n > 60*15 {
				t.Errorf("allocating %g MiB/s: %d wake-ups in a minute at 250 requests/s, want at most 15 a second",
					rate/mib, n)
			}
			if n := strings.Count(r.logged.String(), "policy=memory"); n != 1 {
				t.Errorf("its choice is logged %d times, want once:\n%s", n, r.logged.String())
			}
		})
	}
}

// TestRequestsThatAreNotCounted: where no request has ever entered, silence is no gap to a gate
// that tells peers, and the log says once what to do, unless a peer sends requests here all the
// same. The first request that ends makes silence one.
func TestRequestsThatAreNotCounted(t *testing.T) {
	for _, c := range []struct {
		name        string
		o           Options
		least, most uint64 // collections in a minute
		lines       int
	}{
		// a trigger at twice the live heap: 20
		{"auto with a signal", Options{Signals: []Signal{&fakeSignal{}}}, 18, 24, 1},
		{"shed", Options{Policy: PolicyShed, Turns: &fakeTurns{}, HoldTurn: -1}, 18, 24, 1},
		{"a follower of a quorum", Options{Signals: []Signal{&keepingSignal{}}}, 18, 24, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, c.o, func(t *testing.T, r *rig) {
				r.heap.Do(func() { r.heap.Live = 300 * mib })
				collections := func() (n uint64, s Stats) {
					time.Sleep(time.Minute)
					s = r.Stats()
					for _, of := range s.Collections {
						n += of
					}
					return n, s
				}
				n, s := collections()
				if n < c.least || n > c.most || s.Escaped > 0 || s.WithoutTurn > 0 {
					t.Errorf("%d collections in a minute, want %d to %d: %+v", n, c.least, c.most, s)
				}
				if lines := strings.Count(r.logged.String(), "no request was counted"); lines != c.lines {
					t.Errorf("the log says so %d times:\n%s", lines, r.logged.String())
				}
				r.Enter().Exit()
				if more, s := collections(); more-n < 50 || s.Collections[ReasonIdleGap] < 50 {
					t.Errorf("after a request %d collections in a minute: %+v", more-n, s)
				}
			})
		})
	}
}

// TestIdleFromTheStart: a process that never had a request collects by the trigger or each two
// minutes, and keeps to its bounds.
func TestIdleFromTheStart(t *testing.T) {
	for _, rate := range []float64{0, mib / 10, 10 * mib, 1000 * mib} {
		inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Turns: &fakeTurns{}}, func(t *testing.T, r *rig) {
			r.heap.Do(func() { r.heap.Rate = rate })
			highest := uint64(0)
			for range 4000 {
				time.Sleep(61 * time.Millisecond)
				highest = max(highest, r.Stats().Heap)
			}
			s := r.Stats()
			if periodic := s.Collections[ReasonPeriodic]; highest > s.Hard || s.Escaped > 0 || s.WithoutTurn > 0 ||
				s.Collections[ReasonIdleGap] > 0 ||
				(rate < mib) != (periodic > 0) || rate > mib && s.Collections[ReasonTrigger] < 20 {
				t.Errorf("%g MiB a second: up to %d MiB, %+v", rate/mib, highest/mib, s)
			}
		})
	}
}
