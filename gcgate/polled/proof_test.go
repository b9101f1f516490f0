package polled

import (
	"testing"
	"time"
)

// TestProof: what is taken for a proof follows the requests that came while the peer had this
// process out, in the recent drains.
func TestProof(t *testing.T) {
	g := new(counter)
	s, now := proof{counter: g}, time.Now()
	drains := func(n, past int) {
		for range n {
			s.out(now)
			for range past {
				g.enter()
			}
			s.out(now) // said again
			now = now.Add(10 * time.Millisecond)
			s.back(now)
			g.enter() // when it is over
			s.back(now.Add(time.Second))
		}
	}
	want := func(n uint32, d time.Duration, want bool) {
		t.Helper()
		if s.proves(n, d) != want {
			t.Errorf("%d requests in %v: proof %v, want %v (seen %.1f in %.3f s)", n, d, !want, want, s.past, s.looked)
		}
	}
	want(1000, time.Millisecond, false) // nothing is known
	drains(1, 0)
	want(7, time.Millisecond, false)
	want(8, 19*time.Millisecond, true)
	want(8, 21*time.Millisecond, false)
	drains(300, 0) // 32 of them count
	want(8, 630*time.Millisecond, true)
	want(8, 650*time.Millisecond, false)
	drains(300, 1) // 100 a second
	want(300, time.Second, false)
	want(500, time.Second, true)
	drains(300, 0)
	want(8, 600*time.Millisecond, true)
}
