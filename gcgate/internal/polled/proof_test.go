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

// TestProofOfPeerThatActsLate: what a peer sends that says that it has this process out, and acts a
// second later, did not come past it; and requests that never cease tell nothing.
func TestProofOfPeerThatActsLate(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		late   []time.Duration // drain by drain, until requests cease; a drain is 1.2 s
		every  time.Duration   // between two requests
		past   bool            // a tenth as many come all the same
		least  uint32          // requests within 40 ms that are a proof
		proves bool
	}{
		{"at once", []time.Duration{0}, ms, false, 8, true},
		{"late", []time.Duration{1000 * ms}, ms, false, 8, true},
		{"late, few, and back soon", []time.Duration{1149 * ms}, 4 * ms, false, 8, true},
		{"late, and others past it", []time.Duration{1000 * ms}, ms, true, 19, true},
		{"late, and others past it, too few", []time.Duration{1000 * ms}, ms, true, 15, false},
		{"a drain has no effect", []time.Duration{0, time.Minute}, ms, false, 8, true},
		{"two drains are not", []time.Duration{0, time.Minute, time.Minute}, ms, false, 1000, false},
		{"and then one is", []time.Duration{0, time.Minute, time.Minute, 500 * ms}, ms, false, 8, true},
	} {
		g := new(counter)
		now := time.Now()
		var s proof
		s.attach(g, now)
		for _, late := range c.late {
			for range 1000 {
				g.enter()
				now = now.Add(c.every)
			}
			s.leave(now)
			s.out(now)
			for n := 1; n <= 1200; n++ {
				now = now.Add(ms)
				out := time.Duration(n) * ms
				if out%c.every == 0 && (out < late || c.past && n%10 == 0) {
					g.enter()
				}
				if n%10 == 0 {
					s.look(now)
				}
			}
			s.back(now)
			s.serve(now)
		}
		if s.proves(c.least, 40*ms) != c.proves {
			t.Errorf("%s: %d requests in 40 ms: proof %v, want %v (seen %.1f in %.3f s, %d drains proved nothing)",
				c.name,
				c.least, !c.proves, c.proves, s.past, s.looked, s.blind)
		}
	}
}
