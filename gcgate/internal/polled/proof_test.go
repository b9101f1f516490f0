package polled

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProof: what is taken for a proof follows the requests that came while the peer had this
// process out, in the recent drains.
func TestProof(t *testing.T) {
	g := new(counter)
	s, now := proof{counter: g}, time.Now()
	drains := func(n, past int) {
		for range n {
			s.allActed(now)
			for range past {
				g.enter()
			}
			s.allActed(now) // said again
			now = now.Add(10 * time.Millisecond)
			s.endWindow(now)
			g.enter() // when it is over
			s.endWindow(now.Add(time.Second))
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
			s.drainStarts(now)
			s.allActed(now)
			for n := 1; n <= 1200; n++ {
				now = now.Add(ms)
				out := time.Duration(n) * ms
				if out%c.every == 0 && (out < late || c.past && n%10 == 0) {
					g.enter()
				}
				if n%10 == 0 {
					s.checkCeased(now)
				}
			}
			s.endWindow(now)
			s.serve(now)
		}
		if s.proves(c.least, 40*ms) != c.proves {
			t.Errorf("%s: %d requests in 40 ms: proof %v, want %v (seen %.1f in %.3f s, %d drains proved nothing)",
				c.name,
				c.least, !c.proves, c.proves, s.past, s.looked, s.blind)
		}
	}
}

// TestReadyWantsAProof: Rise may be wrong, so a number of answers proves nothing, and
// requests do only where they must have come by the peer.
func TestReadyWantsAProof(t *testing.T) {
	const ms = time.Millisecond
	one, two := []string{"10.0.0.1"}, []string{"10.0.0.1", "10.0.0.2"}
	for _, c := range []struct {
		name   string
		addrs  []string
		each   int
		past   time.Duration // between two requests, all the time; 0: none
		by     time.Duration // between two more, up to the drain and from 300 ms after Ready on; 0: none
		proven bool
	}{
		{"requests", one, 1, 0, ms, true},
		{"none", one, 1, 0, 0, false},
		{"fewer than it takes", one, 1, 0, 2 * time.Second, false},
		{"too slow for a proof", one, 1, 0, 900 * ms, false},
		{"a few past the peer, too", one, 1, 50 * ms, ms, true},
		{"past the peer only", one, 1, ms, 0, false},
		{"as many past the peer", one, 1, ms, ms, false},
		{"two peers", two, 1, 0, ms, false},
		{"two at one address", one, 2, 0, ms, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := new(counter)
				requests := func(ctx context.Context, after, every time.Duration) {
					for every > 0 && wait(ctx, after) {
						g.enter()
						after = every
					}
				}
				serving, drained := context.WithCancel(ctx)
				d := Demand{Answers: 1, Pollers: c.each}
				var p Peers
				p.Attach(g)
				for _, addr := range c.addrs {
					go poll(ctx, &p, addr, 10*ms)
				}
				go requests(ctx, 0, c.past)
				go requests(serving, 0, c.by)
				time.Sleep(time.Second)
				drained()
				if err := p.Drain(ctx, d); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				start := time.Now()
				go requests(ctx, 300*ms, c.by)
				if err := p.Ready(ctx, d); err != nil {
					t.Fatal(err)
				}
				least, most := 300*ms, 320*ms
				if !c.proven {
					least, most = ProofTimeout, ProofTimeout+100*ms
				}
				if took := time.Since(start); took < least || took > most || p.Unproven() == c.proven {
					t.Errorf("took %v, unproven %v; want %v to %v, proven %v", took, p.Unproven(),
						least, most, c.proven)
				}
			})
		})
	}
}

// TestAssumedAnswers: one that polls slowly while it has this process out may want more answers
// than anybody has said.
func TestAssumedAnswers(t *testing.T) {
	for _, assumed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := Demand{Answers: 2, Assumed: assumed}
			var p Peers
			p.Attach(new(counter))
			go poll(ctx, &p, "10.0.0.1", time.Second)
			time.Sleep(1500 * time.Millisecond)
			if err := p.Drain(ctx, d); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if err := p.Ready(ctx, d); err != nil || !p.Unproven() {
				t.Fatalf("%v, unproven %v", err, p.Unproven())
			}
			want := 2*time.Second + ProofTimeout
			if assumed {
				want = proofAnswers * time.Second
			}
			if took := time.Since(begin); took < want || took > want+2*time.Second {
				t.Errorf("assumed %v: took %v, want %v", assumed, took, want)
			}
		})
	}
}

// TestUnprovenIsOfAllPeers: that one peer was taken for back without a proof is not forgotten
// when another is back, later, but with the next drain.
func TestUnprovenIsOfAllPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := Demand{Answers: 1, Pollers: 1}
		var p Peers
		p.Attach(new(counter))
		silent, stop := context.WithCancel(ctx)
		go poll(silent, &p, "10.0.0.1", 10*time.Millisecond)
		other := netip.MustParseAddr("10.0.0.2")
		says := func(state Says) { p.Answered(other, p.Begin(other, state)) }
		says(SaysUp)
		time.Sleep(time.Second)
		says(SaysUp)
		drained := time.AfterFunc(time.Second, func() { says(SaysDown) })
		defer drained.Stop()
		if err := p.Drain(ctx, d); err != nil {
			t.Fatal(err)
		}
		short, end := context.WithTimeout(ctx, ProofTimeout+time.Second)
		defer end()
		if err := p.Ready(short, d); err == nil || !strings.Contains(err.Error(), "10.0.0.2 has polled") {
			t.Errorf("got %v, want the one that is down", err)
		}
		says(SaysUp)
		if err := p.Ready(ctx, d); err != nil || !p.Unproven() {
			t.Errorf("got %v, unproven %v; one of two gave no proof", err, p.Unproven())
		}
		stop()
		synctest.Wait()
		time.Sleep(expireAfter + time.Second) // the silent one has expired
		says(SaysUp)
		p.set(true, Demand{})
		says(SaysDown)
		p.set(false, Demand{})
		says(SaysUp)
		if err := p.Ready(ctx, d); err != nil || p.Unproven() {
			t.Errorf("got %v, unproven %v; the one that was asked has said it", err, p.Unproven())
		}
	})
}

// TestLookEndsWithItsDrain: what comes after a drain of a peer that has expired was not seen while
// anybody had this process out.
func TestLookEndsWithItsDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Demand{Answers: 1, Pollers: 1}
		var p Peers
		p.Attach(new(counter))
		for _, expired := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			early, end := context.WithTimeout(ctx, time.Second)
			defer end()
			if err := p.Drain(early, d); !errors.Is(err, ErrNoPolls) {
				t.Fatal(err)
			}
			go poll(ctx, &p, "10.0.0.1", 10*time.Millisecond)
			if err := p.Drain(ctx, d); err != nil {
				t.Fatal(err)
			}
			if expired {
				cancel()
				synctest.Wait()
			}
			if err := p.Ready(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if looked := p.proof.looked; looked <= 0 || looked > 1 {
			t.Errorf("looked for %.3f s, and one drain of far less than a second was seen to its end", looked)
		}
	})
}

// TestProofIsOfOneGate: another gate counts from zero.
func TestProofIsOfOneGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := Demand{Answers: 1, Pollers: 1}
		old := new(counter)
		for range 1000 {
			old.enter()
		}
		var p Peers
		p.Attach(old)
		go poll(ctx, &p, "10.0.0.1", 10*time.Millisecond)
		time.Sleep(time.Second)
		if err := p.Drain(ctx, d); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		stopped, end := context.WithTimeout(ctx, time.Second)
		defer end()
		if err := p.Ready(stopped, d); err == nil {
			t.Fatal("back without a proof")
		}
		p.Attach(new(counter))
		if err := p.Ready(ctx, d); err != nil || !p.Unproven() {
			t.Errorf("got %v, unproven %v; the new gate counted no request", err, p.Unproven())
		}
	})
}
