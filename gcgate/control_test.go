package gcgate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// wakeUps counts the gate's wake-ups while f runs, and how often it set the memory limit.
func (r *rig) wakeUps(f func()) (looks, limits int) {
	count := func(sign int) {
		r.heap.Do(func() { looks, limits = looks+sign*r.heap.reads, limits+sign*r.heap.limitsSet })
	}
	count(-1)
	f()
	count(1)
	return looks, limits
}

// since returns the events from the n-th on.
func (r *rig) since(n int) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events[n:])
}

// TestStockRuntimeKeepsItsLimit: SetMemoryLimit stops the world, and what the control group
// allows is not the gate's business before it is in charge.
func TestStockRuntimeKeepsItsLimit(t *testing.T) {
	for _, group := range []int64{math.MaxInt64, 300 * mib} {
		inTime(t, Options{}, func(t *testing.T, r *rig) {
			r.traffic()
			r.heap.Do(func() { r.heap.Group = group })
			var cycles uint64
			_, limits := r.wakeUps(func() {
				time.Sleep(time.Minute)
				r.heap.Do(func() { cycles = r.heap.Automatic })
			})
			if cycles < 30 || limits != 0 {
				t.Errorf("group %d: in %d cycles the memory limit was set %d times", group, cycles, limits)
			}
		})
	}
}

// TestTriggerFollowsTheAllocation at steady rates: what it comes to, and how far apart
// collections are.
func TestTriggerFollowsTheAllocation(t *testing.T) {
	const gib = 1 << 10 // in MiB, as all figures here
	for _, c := range []struct {
		name             string
		o                Options
		group, available uint64
		live, rate       uint64
		trigger, hard    uint64
		apart            time.Duration
	}{
		{
			name: "hello on 24 GiB", available: 24 * gib, live: 1, rate: 1500, trigger: 512, hard: 895,
			apart: 300 * time.Millisecond,
		},
		{
			name: "two seconds", available: 24 * gib, live: 1, rate: 50, trigger: 101, hard: 895,
			apart: 1900 * time.Millisecond,
		},
		{
			name: "hardly any allocation", available: 24 * gib, live: 1, rate: 1, trigger: 32, hard: 895,
			apart: 30 * time.Second,
		},
		{
			name: "twice the live heap is more", available: 24 * gib, live: 300, rate: 50, trigger: 600, hard: 825,
			apart: 5 * time.Second,
		},
		{
			name: "little available", available: 2 * gib, live: 1, rate: 500, trigger: 64, hard: 111,
			apart: 100 * time.Millisecond,
		},
		{
			name: "half of a limit", o: Options{MemoryLimitBytes: 2 * gib * mib},
			available: 24 * gib, live: 1, rate: 1500,
			trigger: gib, hard: 1257, apart: 600 * time.Millisecond,
		},
		{
			name: "two seconds in a control group", group: 8 * gib, available: 64 * gib, live: 1,
			rate: 500, trigger: 1001,
			hard: 4525, apart: 1900 * time.Millisecond,
		},
		{
			name: "half of a control group", group: gib, available: 64 * gib, live: 1, rate: 1500,
			trigger: 460, hard: 566,
			apart: 250 * time.Millisecond,
		},
		{
			name: "the limit is below the group's", o: Options{MemoryLimitBytes: gib * mib},
			group: 2 * gib, live: 1, rate: 1500,
			trigger: 512, hard: 628, apart: 300 * time.Millisecond,
		},
		{name: "nothing is known", live: 1, rate: 200, trigger: 32, hard: 55, apart: 100 * time.Millisecond},
		{
			name: "MinTriggerBytes", o: Options{MinTriggerBytes: 700 * mib}, available: 24 * gib, live: 1,
			rate: 50, trigger: 700,
			hard: 1224, apart: 10 * time.Second,
		},
		{
			name: "MaxTriggerBytes", o: Options{MaxTriggerBytes: 3 * gib * mib}, live: 1, rate: 1000,
			trigger: 2001, hard: 5375,
			apart: 1900 * time.Millisecond,
		},
		{
			name: "fixed", o: Options{MinTriggerBytes: 64 * mib, MaxTriggerBytes: 64 * mib},
			available: 24 * gib, live: 1,
			rate: 500, trigger: 64, hard: 111, apart: 100 * time.Millisecond,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Policy, c.o.Jitter = PolicyThrough, -1
			h := func() *gcgatetest.Heap {
				h := gcgatetest.NewHeap()
				h.Rate, h.Live, h.Mark, h.Available = 0, c.live*mib, time.Millisecond, c.available*mib
				if c.group > 0 {
					h.Group = int64(c.group * mib)
				}
				return h
			}
			inTimeOver(t, c.o, h, func(t *testing.T, r *rig) {
				time.Sleep(time.Minute)
				r.Enter().Exit()
				r.heap.Do(func() { r.heap.Rate = float64(c.rate * mib) })
				time.Sleep(20 * time.Second)
				from := len(r.since(0))
				_, limits := r.wakeUps(func() { time.Sleep(time.Minute) })
				s := r.Stats()
				if d := max(s.Trigger/mib, c.trigger) - min(s.Trigger/mib, c.trigger); d > c.trigger/50 ||
					s.Hard/mib != c.hard {
					t.Errorf("trigger %d, hard %d, want %d and %d", s.Trigger/mib, s.Hard/mib, c.trigger, c.hard)
				}
				if s.Collections[ReasonHard] > 0 || s.Escaped > 0 {
					t.Errorf("stats %+v", s)
				}
				var last time.Time
				for _, e := range r.since(from) {
					if e.State != StateCollecting {
						continue
					}
					if d := e.Time.Sub(last); d < c.apart {
						t.Fatalf("collections %v apart, want at least %v", d, c.apart)
					}
					last = e.Time
					if e.Heap/mib > c.trigger+c.trigger/8+c.rate/100 {
						t.Fatalf("collected at %d MiB", e.Heap/mib)
					}
				}
				if limits > 0 {
					t.Errorf("the memory limit was set %d times at a steady rate: each stops the world", limits)
				}
				if !strings.Contains(r.logged.String(), "highest_is=") {
					t.Errorf("the log does not tell the rule:\n%s", r.logged.String())
				}
			})
		})
	}
}

// TestTriggerMovesWithoutStoppingTheWorld: traffic comes and goes, the runtime's limit stays.
func TestTriggerMovesWithoutStoppingTheWorld(t *testing.T) {
	inTimeOver(t, Options{Policy: PolicyThrough}, roomy, func(t *testing.T, r *rig) {
		_, limits := r.wakeUps(func() {
			for i := range 200 {
				r.heap.Do(func() { r.heap.Rate = float64((i * 37 % 400) * mib) })
				time.Sleep(700 * time.Millisecond)
			}
		})
		if limits > 0 {
			t.Errorf("the memory limit was set %d times", limits)
		}
		if s := r.Stats(); s.Escaped > 0 || s.Collections[ReasonHard] > 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestTriggerSinksAfterABurst: the garbage of a burst does not stay; but that is no reason to
// collect without the turn.
func TestTriggerSinksAfterABurst(t *testing.T) {
	turns := &fakeTurns{}
	inTimeOver(t, Options{Signals: []Signal{&fakeSignal{}}, Turns: turns, Jitter: -1}, roomy,
		func(t *testing.T, r *rig) {
			defer r.Enter().Exit() // no gap
			r.heap.Do(func() { r.heap.Rate = 150 * mib })
			time.Sleep(1500 * time.Millisecond)
			if s := r.Stats(); s.Heap < 150*mib || s.Collections[ReasonTrigger] > 0 {
				t.Fatalf("within a second and a half: %+v", s)
			}
			other, _ := turns.TryAcquire(t.Context())
			r.heap.Do(func() { r.heap.Rate = 0 })
			time.Sleep(30 * time.Second)
			if s := r.Stats(); s.State != StateWanting || s.WithoutTurn > 0 {
				t.Errorf("30 s after the burst, the turn is held: %+v", s)
			}
			other.Release(t.Context())
			r.until(t, StateServing)
			if s := r.Stats(); s.Collections[ReasonTrigger] != 1 || s.Heap > 2*mib {
				t.Errorf("with the turn: %+v", s)
			}
		})
}

// roomy is a small heap on a large machine.
func roomy() *gcgatetest.Heap {
	h := gcgatetest.NewHeap()
	h.Rate, h.Live, h.Mark, h.Available = 0, mib, time.Millisecond, 24<<10*mib
	return h
}

// TestMemoryIsLookedAtAgain: a container may get another limit while it runs.
func TestMemoryIsLookedAtAgain(t *testing.T) {
	inTimeOver(t, Options{Policy: PolicyThrough}, roomy, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate, r.heap.Group = 500*mib, 400*mib })
		time.Sleep(30 * time.Second)
		if s := r.Stats(); s.Limit != 360*mib || s.Trigger > 180*mib || s.Escaped > 0 {
			t.Errorf("in a control group of 400 MiB: %+v", s)
		}
	})
}

// TestLimitIsKeptTo also where what there was before, or the last one, is little higher; but what
// is the gate's own safety limit moves by much or not at all.
func TestLimitIsKeptTo(t *testing.T) {
	for _, p := range []Policy{PolicyThrough, PolicyAuto} {
		synctest.Test(t, func(t *testing.T) {
			h := gcgatetest.NewHeap()
			h.Rate, h.Live, h.Limit = 0, 700*mib, 1000*mib
			r := startRig(t, Options{Policy: p, MemoryLimitBytes: 950 * mib}, h)
			h.Do(func() {
				if h.Limit != 950*mib {
					t.Errorf("%v: the runtime's limit is %d MiB, want 950", p, h.Limit/mib)
				}
			})
			r.Stop()
			h.Do(func() {
				if h.Limit != 1000*mib {
					t.Errorf("%v: after Stop it is %d MiB, want 1000", p, h.Limit/mib)
				}
			})
		})
	}
	small := func() *gcgatetest.Heap {
		h := gcgatetest.NewHeap()
		h.Live, h.Rate, h.Group = 200*mib, 100*mib, 500*mib
		return h
	}
	inTimeOver(t, Options{Policy: PolicyThrough}, small, func(t *testing.T, r *rig) {
		for _, c := range []struct {
			group, limit int64
			sets         int
		}{
			{500, 450, 0},
			{490, 441, 1}, // it is lower: at once
			{500, 441, 0}, // it is hardly higher: not worth stopping the world
			{600, 540, 1},
		} {
			r.heap.Do(func() { r.heap.Group = c.group * mib })
			_, sets := r.wakeUps(func() { time.Sleep(30 * time.Second) })
			r.heap.Do(func() {
				if r.heap.Limit != c.limit*mib || sets != c.sets {
					t.Errorf("in a control group of %d MiB the limit is %d MiB, set %d times; want %d and %d", c.group,
						r.heap.Limit/mib, sets, c.limit, c.sets)
				}
			})
		}
	})
}

// TestSmallControlGroupIsNoError: the user did not ask for a trigger that does not fit.
func TestSmallControlGroupIsNoError(t *testing.T) {
	h := func() *gcgatetest.Heap {
		h := roomy()
		h.Group = 32 * mib
		return h
	}
	inTimeOver(t, Options{Policy: PolicyThrough}, h, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 10 * mib })
		time.Sleep(time.Minute)
		if s := r.Stats(); s.Collections[ReasonTrigger] < 10 || s.Hard > 26*mib || s.Escaped > 0 {
			t.Errorf("%+v\n%s", s, r.logged.String())
		}
	})
}

// TestLimitAboveTheControlGroup is logged.
func TestLimitAboveTheControlGroup(t *testing.T) {
	h := func() *gcgatetest.Heap {
		h := roomy()
		h.Group = 1000 * mib
		return h
	}
	for limit, want := range map[int64]uint64{
		2000 * mib: 900 * mib, 950 * mib: 950 * mib,
		math.MaxInt64: math.MaxInt64,
	} {
		inTimeOver(t, Options{Policy: PolicyThrough, MemoryLimitBytes: limit}, h, func(t *testing.T, r *rig) {
			if s := r.Stats(); s.Limit != want ||
				strings.Contains(r.logged.String(), "lower one holds") != (limit == 2000*mib) {
				t.Errorf("limit %d: %d, want %d\n%s", limit, s.Limit, want, r.logged.String())
			}
		})
	}
}

// TestNextCollectionDoesNotWaitForTheSweep: under load runtime.GC may sweep for seconds after
// marking, and the heap grows in that time.
func TestNextCollectionDoesNotWaitForTheSweep(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate, r.heap.Sweep = 400*mib, 10*time.Second })
		time.Sleep(10 * time.Second)
		s := r.Stats()
		if s.Escaped > 0 || s.Collections[ReasonTrigger] < 20 {
			t.Errorf("stats %+v\n%s", s, r.logged.String())
		}
		if strings.Contains(r.logged.String(), "program collected") {
			t.Errorf("it takes its own collections for the program's:\n%s", r.logged.String())
		}
	})
}

// TestCyclesOfOthersAreExplained: what was hit, and what to do.
func TestCyclesOfOthersAreExplained(t *testing.T) {
	slow := &fakeSignal{}
	for _, c := range []struct {
		name    string
		o       Options
		do      func(r *rig)
		escaped uint64
		want    string
		not     string
	}{
		{
			"the limit",
			Options{MemoryLimitBytes: 300 * mib},
			func(r *rig) { r.heap.Do(func() { r.heap.Beside = 160 * mib }) },
			1, "the memory limit is near; raise it", "own net",
		},
		{
			"the limit's origin",
			Options{MemoryLimitBytes: 300 * mib},
			func(r *rig) { r.heap.Do(func() { r.heap.Beside = 160 * mib }) },
			1, "from=Options.MemoryLimitBytes", "give the process",
		},
		{
			"memory outside the heap",
			Options{},
			func(r *rig) { r.heap.Do(func() { r.heap.Beside = 400 * mib }) },
			1, "memory outside the heap", "limit is near;",
		},
		{
			"the gate was late",
			Options{Signals: []Signal{slow}, AnnounceTimeout: time.Second},
			func(r *rig) {
				slow.set(func() { slow.takes = time.Hour })
				r.heap.Do(func() { r.heap.Rate = 2000 * mib })
			},
			1, "no memory limit is near; raise HardRatio", "raise it",
		},
		{
			"runtime.GC",
			Options{},
			func(r *rig) { r.heap.Do(func() { r.heap.EndCycle() }) },
			0, "call Gate.Collect instead", "limit is near",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Signals == nil {
				c.o.Policy = PolicyThrough
			}
			c.o.Jitter = -1
			inTime(t, c.o, func(t *testing.T, r *rig) {
				defer r.Enter().Exit()
				r.until(t, StateCollecting)
				r.until(t, StateServing)
				time.Sleep(500 * time.Millisecond)
				c.do(r)
				time.Sleep(1500 * time.Millisecond)
				r.heap.Do(func() { r.heap.Rate, r.heap.Beside = 10*mib, 0 })
				log := r.logged.String()
				if n := r.Stats().Escaped; (n > 0) != (c.escaped > 0) || !strings.Contains(log, c.want) ||
					strings.Contains(log, c.not) {
					t.Errorf("escaped %d, want %q and not %q in\n%s", n, c.want, c.not, log)
				}
			})
		})
	}
}

// TestCollectionMeetsARunningCycle: runtime.GC waits for it and then runs its own. Requests are
// out of rotation until that one has ended, too, and the log has the first.
func TestCollectionMeetsARunningCycle(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		const mark = 200 * time.Millisecond
		r.heap.Do(func() { r.heap.Rate, r.heap.Mark = 0, mark })
		for range 20 { // the gate learns how long it takes
			if err := r.Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.traffic()
		before := r.Stats()
		var limit int64
		r.heap.Do(func() { limit, r.heap.Limit, r.heap.Rate = r.heap.Limit, 0, mib })
		time.Sleep(mark / 2)
		r.heap.Do(func() { r.heap.Limit = limit }) // the runtime has begun
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * mark) // another cycle would end
		s := r.Stats()
		collecting := s.Phases[StateCollecting].Total - before.Phases[StateCollecting].Total
		if s.Escaped != 1 || s.Collections[ReasonRequested] != 21 || s.OverlappedOther != before.OverlappedOther ||
			collecting < mark*5/4 {
			t.Errorf("collecting for %v, %+v\n%s", collecting, s, r.logged.String())
		}
		if s.Expected > before.Expected*11/10 {
			t.Errorf("the next collection is expected to take %v, before it was %v", s.Expected, before.Expected)
		}
	})
}

// TestOwnCycleBehindAnother: the second cycle of a collection is not the program's.
func TestOwnCycleBehindAnother(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Mark = 200 * time.Millisecond })
		r.until(t, StateCollecting)
		r.heap.Do(func() { r.heap.EndCycle(); r.heap.Automatic++ })
		r.until(t, StateServing)
		time.Sleep(500 * time.Millisecond)
		if strings.Contains(r.logged.String(), "program collected") {
			t.Errorf("%s", r.logged.String())
		}
	})
}

// TestCycleOfBeforeIsNotTheGates: one that ran when the gate took charge has not escaped it.
func TestCycleOfBeforeIsNotTheGates(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.EndCycle(); r.heap.Automatic++ })
		time.Sleep(200 * time.Millisecond)
		if s := r.Stats(); s.Escaped > 0 || strings.Contains(r.logged.String(), "by itself") {
			t.Errorf("%+v\n%s", s, r.logged.String())
		}
	})
}

func TestMaxTriggerBelowMin(t *testing.T) {
	_, err := Options{MaxTriggerBytes: 16 * mib}.withDefaults()
	if want := fmt.Sprint("which is ", 32*mib, ": use at least that"); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
