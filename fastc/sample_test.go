package fastc

import (
	"testing"
	"time"
)

// TestCountdowns holds that new countdowns differ, and that their mean is what an estimate of
// calls needs.
func TestCountdowns(t *testing.T) {
	var c countdowns
	seen, sum, n, pending := map[int32]bool{}, 0, 0, 0
	for range 1000 {
		if calls := c.restart(sampleOneIn); int(calls) != pending {
			t.Fatalf("%d calls were over, want %d", calls, pending)
		}
		pending = 0
		for i := range c {
			left := c[i].left.Load()
			if left < 1 || left >= 2*sampleOneIn {
				t.Fatalf("a countdown from %d", left)
			}
			seen[left], sum, n = true, sum+int(left), n+1
			pending += int(left)
			c[i].left.Store(-int32(i))
		}
	}
	if mean := float64(sum) / float64(n); mean < sampleOneIn-4 || mean > sampleOneIn+4 || len(seen) < 200 {
		t.Errorf("mean %.1f of %d values", mean, len(seen))
	}
	c[3].left.Store(7)
	c.restart(sampleOneIn)
	if left := c[3].left.Load(); left != 7 {
		t.Errorf("a countdown that was not over went from 7 to %d", left)
	}
}

// TestPace holds that timing takes its share of the time: one call in 128 where they come quickly,
// each where they come slowly or where a few are so long that most of the time is theirs.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		name     string
		calls    []time.Duration // from one to the next, again and again
		from, to int32
	}{
		{"quick", []time.Duration{10}, sampleOneIn, sampleOneIn},
		{"a microsecond", []time.Duration{time.Microsecond}, 5, 7},
		{"slow", []time.Duration{10 * time.Microsecond}, 1, 1},
		{"one in 1,000 takes 5 ms", append(make([]time.Duration, 999), 5*time.Millisecond), 1, 2},
	} {
		var p pace
		now, got := time.Duration(0), int32(0)
		for i := range 200_000 {
			now += c.calls[i%len(c.calls)]
			got = p.oneIn(now, costOfTiming)
			p.add(1)
		}
		if got < c.from || got > c.to {
			t.Errorf("%s: one call in %d is timed, want %d to %d", c.name, got, c.from, c.to)
		}
	}
}
