package fastc

import "testing"

// TestCountdowns holds that new countdowns differ, and that their mean is what an estimate of
// calls needs.
func TestCountdowns(t *testing.T) {
	var c countdowns
	seen, sum, n := map[int32]bool{}, 0, 0
	for range 1000 {
		c.restart()
		for i := range c {
			left := c[i].left.Load()
			if left < 1 || left >= 2*sampleOneIn {
				t.Fatalf("a countdown from %d", left)
			}
			seen[left], sum, n = true, sum+int(left), n+1
			c[i].left.Store(-int32(i))
		}
	}
	if mean := float64(sum) / float64(n); mean < sampleOneIn-4 || mean > sampleOneIn+4 || len(seen) < 200 {
		t.Errorf("mean %.1f of %d values", mean, len(seen))
	}
	c[3].left.Store(7)
	c.restart()
	if left := c[3].left.Load(); left != 7 {
		t.Errorf("a countdown that was not over went from 7 to %d", left)
	}
}
