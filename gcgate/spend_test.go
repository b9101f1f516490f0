package gcgate

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

func TestSpend(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	const none = math.MaxInt64
	for _, c := range []struct {
		name                  string
		most                  int64  // MaxTriggerBytes, MiB
		live, roots, overhead uint64 // MiB
		limit                 int64  // MiB; none
		available             uint64 // MiB
		rate                  float64
		goal                  uint64 // MiB; 0: nothing to spend
		percent               int
	}{
		{"five times the live heap", 0, 100, 0, 0, 4000, 0, 0, 500, 400},
		{"0.7 of the limit", 0, 300, 0, 0, 1500, 0, 0, 1050, 250},
		{"of what it leaves to the heap", 0, 300, 0, 100, 1600, 0, 0, 1050, 250},
		{"too little to be worth it", 0, 300, 0, 0, 900, 0, 0, 0, 0},
		{"the live heap is at the limit", 0, 890, 0, 0, 900, 0, 0, 0, 0},
		{"beyond the limit", 0, 950, 0, 0, 900, 0, 0, 0, 0},
		{"the rest takes all", 0, 100, 0, 900, 900, 0, 0, 0, 0},
		{"two seconds of allocation", 0, 1, 0, 0, 4000, 0, 500, 1001, 25_025},
		{"no limit: a share of what is available", 0, 50, 0, 0, none, 8000, 0, 250, 400},
		{"roots count as live", 0, 50, 25, 0, none, 8000, 0, 250, 266},
		{"hardly anything lives", 0, 6, 2, 0, none, 16 << 10, 1000, 512, 6325},
		{"no limit, large", 0, 300, 0, 0, none, 8000, 0, 0, 0},
		{"nothing is known", 0, 10, 0, 0, none, 0, 0, 0, 0},
		{"MaxTriggerBytes", 250, 100, 0, 0, 4000, 0, 0, 250, 150},
		{"MaxTriggerBytes beyond the limit", 9000, 300, 0, 0, 1500, 0, 0, 1050, 250},
		{"MaxTriggerBytes only", 400, 100, 0, 0, none, 0, 0, 400, 300},
	} {
		limit := c.limit
		if limit != none {
			limit *= mib
		}
		o.MaxTriggerBytes = c.most * mib
		goal, percent := memoryGoal(&o, allowance{limit: limit, available: c.available * mib}, c.live*mib, c.roots*mib,
			c.overhead*mib, c.rate*mib)
		if goal/mib != c.goal || percent != c.percent {
			t.Errorf("%s: goal %d MiB by GOGC=%d, want %d by %d", c.name, goal/mib, percent, c.goal, c.percent)
		}
	}
}

// TestMemoryPolicy spends what there is, never comes near the limit, and gives it back.
func TestMemoryPolicy(t *testing.T) {
	inTime(t, Options{Policy: PolicyMemory, MemoryLimitBytes: 1000 * mib}, func(t *testing.T, r *rig) {
		r.traffic()
		percent := func() (p int) {
			r.heap.Do(func() { p = r.heap.Percent })
			return p
		}
		run := func(live uint64) (most uint64, cycles uint64) {
			r.heap.Do(func() { r.heap.Live, cycles = live*mib, r.heap.Automatic })
			for range 60_000 {
				time.Sleep(time.Millisecond)
				most = max(most, r.Stats().Heap)
			}
			r.heap.Do(func() { cycles = r.heap.Automatic - cycles })
			return most / mib, cycles
		}
		if most, cycles := run(100); percent() != 400 || most > 520 || cycles < 12 || cycles > 17 {
			t.Errorf("100 MiB live: GOGC %d, up to %d MiB, %d cycles a minute; want 400, 500, 15 where GOGC=100 has 60",
				percent(), most, cycles)
		}
		if most, _ := run(250); percent() < 170 || most > 720 {
			t.Errorf("250 MiB live: GOGC %d, up to %d MiB; want 180 and 700", percent(), most)
		}
		if _, _ = run(400); percent() != 100 {
			t.Errorf("400 MiB live: GOGC %d, want what it was", percent())
		}
		if run(20); percent() < 400 {
			t.Errorf("20 MiB live: GOGC %d", percent())
		}
		if s := r.Stats(); s.Escaped != 0 || len(r.states()) != 0 || s.Policy != PolicyMemory {
			t.Errorf("it took charge: %+v", s)
		}
		if most, _ := run(300); most > 900 {
			t.Errorf("the live heap grew from 20 to 300 MiB: up to %d MiB, where the limit is 1000", most)
		}
	})
}

// TestAutoSpendsSoon: whether there is memory to spend shows with the first collection that
// overlaps requests.
func TestAutoSpendsSoon(t *testing.T) {
	inTime(t, Options{MemoryLimitBytes: 1000 * mib}, func(t *testing.T, r *rig) {
		var before, cycles uint64
		r.traffic()
		r.heap.Do(func() { before = r.heap.Automatic })
		for cycles = before; cycles == before; r.heap.Do(func() { cycles = r.heap.Automatic }) {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(sampleRest) // until it is seen
		if p := r.Stats().Policy; p != PolicyMemory || cycles != before+1 {
			t.Errorf("%v after %d collections, want memory after the first", p, cycles-before)
		}
	})
}

// TestMemoryPolicyKeepsALargerGOGC that the program runs under anyway.
func TestMemoryPolicyKeepsALargerGOGC(t *testing.T) {
	inTime(t, Options{MemoryLimitBytes: 1000 * mib}, func(t *testing.T, r *rig) {
		r.traffic()
		r.heap.Do(func() { r.heap.Percent = 500 })
		time.Sleep(5 * time.Minute)
		r.heap.Do(func() {
			if r.heap.Percent != 500 {
				t.Errorf("GOGC %d, it was 500", r.heap.Percent)
			}
			r.heap.Percent = 100 // as inTime wants it
		})
		if n := strings.Count(r.logged.String(), "policy=memory"); n > 1 {
			t.Errorf("it was chosen %d times, and can win nothing:\n%s", n, r.logged.String())
		}
	})
}

// TestMemoryPolicyKeepsWhatIsMore than it would set: no cycle comes earlier than without a gate,
// also at the start.
func TestMemoryPolicyKeepsWhatIsMore(t *testing.T) {
	for _, percent := range []int{-1, 800} {
		for _, o := range []Options{{Policy: PolicyMemory}, {}} {
			synctest.Test(t, func(t *testing.T) {
				h := gcgatetest.NewHeap()
				h.Percent, h.Limit, h.Rate = percent, 4<<30, 20*mib
				r := startRig(t, o, h)
				r.traffic()
				for range 5 * 60 * 100 {
					if h.GOGC() != percent {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				h.Do(func() {
					if h.Percent != percent || h.Limit != 4<<30 {
						t.Errorf("%v: GOGC is %d, it was %d; the limit is %d MiB", o.Policy,
							h.Percent, percent, h.Limit/mib)
					}
				})
				if said := strings.Contains(r.logged.String(), "GOGC is off"); said != (percent < 0) {
					t.Errorf("%v, GOGC %d: the log says of it: %v\n%s", o.Policy, percent, said, r.logged.String())
				}
				r.Stop()
				time.Sleep(time.Second) // the traffic ends
				if h.GOGC() != percent {
					t.Errorf("%v: after Stop GOGC is %d, it was %d", o.Policy, h.GOGC(), percent)
				}
			})
		}
	}
}

// TestPercentSetWhileTheRuntimeIsInCharge: GOGC is the program's while the limit leaves the gate no
// room, and what it sets then is what Stop restores.
func TestPercentSetWhileTheRuntimeIsInCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := gcgatetest.NewHeap()
		r := startRig(t, Options{Policy: PolicyThrough, MemoryLimitBytes: 120 * mib}, h)
		await := func(live uint64, percent int) {
			t.Helper()
			h.Do(func() { h.Live = live })
			for range 60_000 {
				now := 0
				if h.Do(func() { now = h.Percent }); now == percent {
					return
				}
				time.Sleep(time.Millisecond)
			}
			t.Fatalf("GOGC is %d, want %d", h.Percent, percent)
		}
		await(100*mib, 100)
		await(20*mib, -1)
		await(100*mib, 100)
		h.Do(func() { h.Percent = 70 }) // debug.SetGCPercent
		await(20*mib, -1)
		await(100*mib, 70)
		await(20*mib, -1)
		r.Stop()
		h.Do(func() {
			if h.Percent != 70 {
				t.Errorf("after Stop GOGC is %d, want 70", h.Percent)
			}
		})
		time.Sleep(time.Second) // a collection that runs ends
	})
}

// TestPercentSetWhileTheGateIsInCharge: the gate stays in charge, says why the runtime has
// collected, and Stop leaves the program's newest.
func TestPercentSetWhileTheGateIsInCharge(t *testing.T) {
	for _, c := range []struct {
		o        Options
		set, own int // GOGC of the program and of the gate
		lines    int
	}{
		{Options{Policy: PolicyThrough}, 70, -1, 1},
		{Options{Policy: PolicyThrough}, 300, -1, 1}, // the trigger comes first
		{Options{Policy: PolicyMemory, MemoryLimitBytes: 1000 * mib}, 70, 400, 1},
		{Options{Policy: PolicyMemory, MemoryLimitBytes: 1000 * mib}, 700, 700, 1},
		{Options{Policy: PolicyMemory, MemoryLimitBytes: 300 * mib}, 70, 70, 0}, // nothing to spend
	} {
		synctest.Test(t, func(t *testing.T) {
			h := gcgatetest.NewHeap()
			r := startRig(t, c.o, h)
			time.Sleep(5 * time.Second)
			h.Do(func() { h.Percent = c.set }) // debug.SetGCPercent
			time.Sleep(20 * time.Second)
			if got := h.GOGC(); got != c.own {
				t.Errorf("GOGC %d set under %v: it is %d, want %d", c.set, c.o.Policy, got, c.own)
			}
			escaped := r.Stats().Escaped
			time.Sleep(20 * time.Second)
			if s := r.Stats(); s.Escaped != escaped || escaped > 1 {
				t.Errorf("GOGC %d set under %v: the runtime goes on collecting: %d, then %d", c.set,
					c.o.Policy, escaped, s.Escaped)
			}
			log := r.logged.String()
			if n := strings.Count(log, "SetGCPercent"); n != c.lines ||
				strings.Contains(log, "memory outside the heap") {
				t.Errorf("GOGC %d set under %v: logged %d times, want %d:\n%s", c.set, c.o.Policy, n, c.lines, log)
			}
			want := c.set
			if c.set == 300 { // once more, which the gate has not seen
				want = 60
				h.Do(func() { h.Percent = want })
			}
			r.Stop()
			if got := h.GOGC(); got != want {
				t.Errorf("after Stop under %v GOGC is %d, want %d", c.o.Policy, got, want)
			}
			time.Sleep(time.Second) // a collection that runs ends
		})
	}
}

func TestCrowdedHeapStaysWithTheRuntime(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough, MemoryLimitBytes: 120 * mib}, func(t *testing.T, r *rig) {
		time.Sleep(20 * time.Second)
		if !strings.Contains(r.logged.String(), "no room") {
			t.Errorf("no warning:\n%s", r.logged.String())
		}
		var percent int
		var limit int64
		r.heap.Do(func() { percent, limit = r.heap.Percent, r.heap.Limit })
		if percent != 100 || limit != 120*mib {
			t.Errorf("GOGC %d, limit %d MiB", percent, limit/mib)
		}
		r.heap.Do(func() { r.heap.Live = 20 * mib }) // it shrinks: the gate takes over
		time.Sleep(20 * time.Second)
		r.heap.Do(func() { percent = r.heap.Percent })
		if percent != -1 {
			t.Error("the gate did not take over")
		}
	})
}

func TestAuto(t *testing.T) {
	busy := func(r *rig, on, off time.Duration) {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(off) {
			ticket := r.Enter()
			time.Sleep(on)
			ticket.Exit()
		}
	}
	for _, c := range []struct {
		want    Policy
		on, off time.Duration
		limit   int64
		signals []Signal
		stays   bool // GOGC, as it was
	}{
		{want: PolicyDrain, on: time.Second, signals: []Signal{&fakeSignal{}}},
		// gaps change nothing
		{want: PolicyMemory, on: 300 * time.Millisecond, off: 400 * time.Millisecond, stays: true},
		{want: PolicyMemory, on: 300 * time.Millisecond, off: 400 * time.Millisecond, limit: 1000 * mib},
		{want: PolicyMemory, on: 5 * time.Millisecond, off: time.Millisecond, limit: 1000 * mib},
		{want: PolicyMemory, on: 5 * time.Millisecond, off: time.Millisecond, limit: 300 * mib, stays: true},
		{want: PolicyMemory, on: 5 * time.Millisecond, off: time.Millisecond, stays: true},
	} {
		t.Run(c.want.String(), func(t *testing.T) {
			inTime(t, Options{Signals: c.signals, MemoryLimitBytes: c.limit}, func(t *testing.T, r *rig) {
				busy(r, c.on, c.off)
				if p := r.Stats().Policy; p != c.want {
					t.Errorf("chose %v\n%s", p, r.logged.String())
				}
				var percent int
				r.heap.Do(func() { percent = r.heap.Percent })
				if raised := percent > 100; c.want == PolicyMemory && raised == c.stays {
					t.Errorf("GOGC is %d\n%s", percent, r.logged.String())
				}
				if !strings.Contains(r.logged.String(), "policy="+c.want.String()) {
					t.Errorf("it does not explain itself:\n%s", r.logged.String())
				}
			})
		})
	}
}

// TestMemoryPolicyDoesNotFlip: a live heap beside the threshold sets GOGC seldom, because each call
// stops the world.
func TestMemoryPolicyDoesNotFlip(t *testing.T) {
	inTime(t, Options{MemoryLimitBytes: 322 * mib}, func(t *testing.T, r *rig) {
		r.traffic()
		changes, last := 0, 100
		for i := range 600 {
			time.Sleep(100 * time.Millisecond)
			r.heap.Do(func() {
				r.heap.Live = uint64(97+6*(i/11%2)) * mib
				if p := r.heap.Percent; p != last {
					changes, last = changes+1, p
				}
			})
		}
		if changes > 4 {
			t.Errorf("GOGC changed %d times in a minute\n%s", changes, r.logged.String())
		}
	})
}

// TestAutoWithoutRequests: handlers that are not wrapped are warned of once, and a process that
// idles after its requests has none.
func TestAutoWithoutRequests(t *testing.T) {
	for entered, want := range []int{1, 0} {
		inTime(t, Options{}, func(t *testing.T, r *rig) {
			for range entered {
				r.Enter().Exit()
			}
			time.Sleep(2 * time.Minute)
			if n := strings.Count(r.logged.String(), "no request was counted"); n != want {
				t.Errorf("after %d requests it is logged %d times, want %d:\n%s", entered, n, want, r.logged.String())
			}
		})
	}
}
