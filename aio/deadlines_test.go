package aio

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/aio/internal/proactor"
)

// TestDeadlinesInAnyOrder: each deadline costs a number of comparisons that grows as the number of levels does, in
// whatever order they come and go.
func TestDeadlinesInAnyOrder(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(1, 11))
	for name, at := range map[string]func(i int) int{
		"in order": func(i int) int { return i },
		"reverse":  func(i int) int { return n - i },
		"random":   func(int) int { return rng.IntN(n) },
		"at once":  func(int) int { return 1 },
	} {
		t.Run(name, func(t *testing.T) {
			var d deadlines
			ops := make([]proactor.Op, n)
			var want []time.Duration
			for i := range ops {
				ops[i].Deadline = time.Duration(at(i))
				d.add(&ops[i])
			}
			for i := range ops { // a third is over before its deadline
				if rng.IntN(3) == 0 {
					d.remove(&ops[i])
					d.remove(&ops[i]) // it is not there any more
				} else {
					want = append(want, ops[i].Deadline)
				}
			}
			slices.Sort(want)
			for i, at := range want {
				if op := d.late(at - 1); op != nil {
					t.Fatalf("deadline %d of %d is %v, and was taken for late at %v", i, len(want), op.Deadline, at-1)
				}
				op := d.late(at)
				if op == nil || op.Deadline != at {
					t.Fatalf("deadline %d of %d: %+v, want one at %v", i, len(want), op, at)
				}
				d.remove(op)
			}
			if _, any := d.first(); any {
				t.Error("a deadline is left")
			}
			levels := bits.Len(n)/2 + 1
			each := d.compared / n
			t.Logf("%d comparisons an operation, %d levels", each, levels)
			if most := 2 * (branches + 1) * levels; each > most {
				t.Errorf("%d comparisons an operation, want %d at most", each, most)
			}
		})
	}
}

// TestDeadlineAfterStepOfTheClock: a deadline is as far away as it is when it is submitted,
// whatever the wall clock says about the time that has gone since the watcher's start.
func TestDeadlineAfterStepOfTheClock(t *testing.T) {
	now := time.Now()
	for _, elapsed := range []time.Duration{time.Second, time.Hour, 24 * time.Hour} { // the monotonic clock's
		for _, in := range []time.Duration{time.Second, time.Hour} {
			for name, by := range map[string]time.Time{
				"monotonic": now.Add(in),
				"Unix":      time.Unix(0, now.Add(in).UnixNano()),
				"Round":     now.Add(in).Round(0),
			} {
				if got := due(by, now, elapsed); got != elapsed+in {
					t.Errorf("%s: after %v a deadline in %v is in %v", name, elapsed, in, got-elapsed)
				}
			}
		}
		if at := due(time.Unix(1<<40, 0), now, elapsed); at != elapsed+1<<62 {
			t.Errorf("a deadline in 35,000 years is in %v", at-elapsed)
		}
		if at := due(time.Unix(0, 0), now, elapsed); at < 1 || at > elapsed {
			t.Errorf("a deadline of 1970 is in %v", at-elapsed)
		}
	}
}

// BenchmarkDeadlines adds and expires deadlines in random order, and counts what is compared.
func BenchmarkDeadlines(b *testing.B) {
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 12))
	ops := make([]proactor.Op, n)
	var d deadlines
	for range b.N {
		for i := range ops {
			ops[i].Deadline = time.Duration(rng.IntN(n))
			d.add(&ops[i])
		}
		for op := d.late(n); op != nil; op = d.late(n) {
			d.remove(op)
		}
	}
	b.ReportMetric(float64(d.compared)/float64(b.N*n), "comparisons/deadline")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/deadline")
}
