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
		goal, percent := spend(&o, allowance{limit: limit, available: c.available * mib}, c.live*mib, c.roots*mib,
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
				most = max(most, r.Heap())
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

// TestAdvice says what another replica would give, with figures, and not if there is one.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string // none: no advice
	}{
		{"single", Options{}, []string{
			"% of the requests overlapped a collection, each of which marked for 50ms, one in 1.",
			"second replica", "such as 715 MiB",
		}},
		{
			"single, little memory",
			Options{MemoryLimitBytes: 300 * mib},
			[]string{"memory limit of 715 MiB, and not 300"},
		},
		{
			"single, with memory to spend",
			Options{Policy: PolicyMemory, MemoryLimitBytes: 1000 * mib},
			[]string{"1.2% of the requests", "one in 4."},
		},
		{
			"single, what auto chose",
			Options{MemoryLimitBytes: 1000 * mib},
			[]string{"1.2% of the requests", "one in 4."},
		},
		{"with a peer", Options{Signals: []Signal{&fakeSignal{}}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, c.o, func(t *testing.T, r *rig) {
				r.traffic()
				time.Sleep(90 * time.Second)
				s, log := r.Stats(), r.logged.String()
				if first := strings.Split(log, "gcgate: advice: "); len(first) > 1 && len(c.want) > 0 &&
					!strings.Contains(first[1], c.want[0]) {
					t.Errorf("the log does not say %q of what was chosen:\n%s", c.want[0], log)
				}
				if n := strings.Count(log, "gcgate: advice"); (n == 1) != (c.want != nil) ||
					(s.Advice != "") != (c.want != nil) {
					t.Errorf("%d lines of advice, and %q", n, s.Advice)
				}
				for _, want := range c.want {
					if !strings.Contains(s.Advice, want) {
						t.Errorf("it does not say %q: %s", want, s.Advice)
					}
				}
			})
		})
	}
}
