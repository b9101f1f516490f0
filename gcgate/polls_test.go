package gcgate

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// poll polls p from addr every interval, as a balancer does, until ctx ends.
func poll(ctx context.Context, p *polls, addr string, interval time.Duration) {
	from := netip.MustParseAddr(addr)
	for ctx.Err() == nil {
		p.told(from, p.begin(from, peerSilent, time.Now()))
		select {
		case <-time.After(interval):
		case <-ctx.Done():
		}
	}
}

// announce is drain or ready.
func (p *polls) announce(ctx context.Context, draining bool, d demand) error {
	if draining {
		return p.drain(ctx, d)
	}
	return p.ready(ctx, d)
}

var once = demand{rounds: 1, each: 1} // one answer makes the peer act

func TestAnnounceReturnsWhenEachPollerHasActed(t *testing.T) {
	tests := []struct {
		name        string
		pollers     map[string]time.Duration // interval by address
		d           demand
		least, most time.Duration // the wait
	}{
		{"one", map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond}, once, 10 * time.Millisecond, 20 * time.Millisecond},
		{"slowest of two", map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond, "10.0.0.1": time.Second}, once, time.Second, 2 * time.Second},
		{"ten seconds", map[string]time.Duration{"127.0.0.1": 10 * time.Second}, once, 10 * time.Second, 20 * time.Second},
		{"fall 3", map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond}, demand{rounds: 3, each: 1}, 30 * time.Millisecond, 40 * time.Millisecond},
		{"two at one address", map[string]time.Duration{"127.0.0.1": 5 * time.Millisecond}, demand{rounds: 1, each: 2}, 15 * time.Millisecond, 20 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var p polls
				for addr, interval := range tt.pollers {
					go poll(ctx, &p, addr, interval)
				}
				for _, draining := range []bool{true, false} {
					time.Sleep(12*time.Second + 3*time.Millisecond)
					start := time.Now()
					if err := p.announce(ctx, draining, tt.d); err != nil {
						t.Fatal(err)
					}
					if d := time.Since(start); d < tt.least || d > tt.most {
						t.Errorf("draining %v took %v, want %v to %v", draining, d, tt.least, tt.most)
					}
					start = time.Now()
					if err := p.announce(ctx, draining, tt.d); err != nil || time.Since(start) != 0 {
						t.Errorf("announcing %v again: %v after %v, want nil at once", draining, err, time.Since(start))
					}
				}
			})
		})
	}
}

func TestDrainDoesNotWaitForTheSilentNorForPassers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var p polls
		gone, stop := context.WithCancel(ctx)
		go poll(gone, &p, "10.0.0.1", 10*time.Millisecond)
		go poll(ctx, &p, "127.0.0.1", 10*time.Millisecond)
		time.Sleep(time.Second + 3*time.Millisecond) // between two polls
		passer := netip.MustParseAddr("10.0.0.2")
		p.told(passer, p.begin(passer, peerSilent, time.Now()))
		stop()
		synctest.Wait() // or it might poll once more, and be told
		start := time.Now()
		if err := p.drain(ctx, once); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < pollGone-20*time.Millisecond || d > pollGone+pollTick {
			t.Errorf("waited %v for a peer that went silent, want about %v", d, pollGone)
		}
	})
}

// TestReadyWaitsForWhomItTold: a peer that was told to drain is waited for until it has this
// process back, however seldom it polls by then, and no longer than it takes to be gone.
func TestReadyWaitsForWhomItTold(t *testing.T) {
	for _, c := range []struct {
		name        string
		again       time.Duration // when it polls next; 0: never
		least, most time.Duration
	}{
		{"downinter", 20 * time.Second, 20 * time.Second, 20*time.Second + 20*time.Millisecond},
		{"gone", 0, pollForget, pollForget + 2*pollTick},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var p polls
				fast, slow := context.WithCancel(ctx)
				go poll(fast, &p, "10.0.0.1", 10*time.Millisecond)
				time.Sleep(time.Second)
				start := time.Now()
				if err := p.ready(ctx, once); err != nil || time.Since(start) != 0 {
					t.Fatalf("nobody was told to drain: %v after %v", err, time.Since(start))
				}
				if err := p.drain(ctx, once); err != nil {
					t.Fatal(err)
				}
				slow()
				synctest.Wait()
				start = time.Now()
				if c.again > 0 {
					time.AfterFunc(c.again, func() { poll(ctx, &p, "10.0.0.1", 10*time.Millisecond) })
				}
				if err := p.ready(ctx, once); err != nil {
					t.Fatal(err)
				}
				if d := time.Since(start); d < c.least-20*time.Millisecond || d > c.most {
					t.Errorf("waited %v, want %v to %v", d, c.least, c.most)
				}
			})
		})
	}
}

func TestWaitAtItsDeadlineSaysWhoIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p polls
		fail := func(draining bool, want string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err := p.announce(ctx, draining, once)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want a deadline and %q", err, want)
			}
		}
		fail(true, "nobody polls")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go poll(ctx, &p, "10.0.0.1", time.Second)
		time.Sleep(2500 * time.Millisecond)
		fail(false, "10.0.0.1 does not have this process back, and has polled 0 of 1 times")
		if err := p.ready(ctx, once); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		fail(true, "10.0.0.1 has polled 0 of 1 times")
	})
}

// TestCanConfirm: what is said of a peer follows its polls of late.
func TestCanConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p polls
		fall3 := demand{rounds: 3, each: 1, proof: true}
		want := func(says string) {
			t.Helper()
			err := p.canConfirm(100*time.Millisecond, fall3, time.Now())
			if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
				t.Errorf("got %v, want %q", err, says)
			}
		}
		stop := func() {}
		every := func(interval time.Duration) {
			stop()
			ctx, cancel := context.WithCancel(t.Context())
			stop = cancel
			go poll(ctx, &p, "10.0.0.1", interval)
			synctest.Wait()
		}
		want("nobody polls")
		every(10 * time.Millisecond)
		time.Sleep(25 * time.Millisecond)
		want("10.0.0.1 has polled 3 times, the last two 10ms apart")
		time.Sleep(30 * time.Millisecond)
		want("")
		every(time.Second) // a reload
		want("")           // it has just polled
		time.Sleep(500 * time.Millisecond)
		want("polls every 1")
		time.Sleep(10 * time.Second)
		want("10.0.0.1 polls every 1s: to act on a drain takes it 4s, and Options.AnnounceTimeout is 100ms: let it poll more often")
		every(10 * time.Millisecond)
		time.Sleep(55 * time.Millisecond)
		want("")
		every(10 * time.Second)
		time.Sleep(55 * time.Second)
		want("polls every 10s")
		stop()
		time.Sleep(31 * time.Second)
		want("nobody polls")
	})
}

// TestReadyWantsAProof: Rise may be wrong, so a number of answers alone proves nothing, and
// requests do only where they must have come by the peer.
func TestReadyWantsAProof(t *testing.T) {
	const ms = time.Millisecond
	one, two := []string{"10.0.0.1"}, []string{"10.0.0.1", "10.0.0.2"}
	for _, c := range []struct {
		name   string
		addrs  []string
		each   int
		past   time.Duration // between two requests, all the time; 0: none
		by     time.Duration // between two more, from 300 ms after Ready on; 0: none
		proven bool
	}{
		{"requests", one, 1, 0, ms, true},
		{"none", one, 1, 0, 0, false},
		{"fewer than it takes", one, 1, 0, 2 * time.Second, false},
		{"too slow for a proof", one, 1, 0, 900 * ms, false},
		{"a few past the peer, too", one, 1, 50 * ms, ms, true},
		{"past the peer alone", one, 1, ms, 0, false},
		{"as many past the peer", one, 1, ms, ms, false},
		{"two peers", two, 1, 0, ms, false},
		{"two at one address", one, 2, 0, ms, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := &Gate{requests: newCounter()}
				requests := func(after, every time.Duration) {
					for every > 0 && sleep(ctx, after) {
						g.Enter().Exit()
						after = every
					}
				}
				d := demand{rounds: 1, each: c.each, proof: true}
				var p polls
				p.attach(g)
				for _, addr := range c.addrs {
					go poll(ctx, &p, addr, 10*ms)
				}
				go requests(0, c.past)
				time.Sleep(time.Second)
				if err := p.drain(ctx, d); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				start := time.Now()
				go requests(300*ms, c.by)
				if err := p.ready(ctx, d); err != nil {
					t.Fatal(err)
				}
				least, most := 300*ms, 320*ms
				if !c.proven {
					least, most = sightTimeout, sightTimeout+100*ms
				}
				if took := time.Since(start); took < least || took > most || p.tookUnproven() == c.proven {
					t.Errorf("took %v, unproven %v; want %v to %v, proven %v", took, p.tookUnproven(), least, most, c.proven)
				}
			})
		})
	}
}

// TestUnprovenIsOfAllPeers: that one peer was taken for back without a proof is not forgotten
// when another is back, later, but with the next drain.
func TestUnprovenIsOfAllPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := demand{rounds: 1, each: 1, proof: true}
		var p polls
		p.attach(&Gate{requests: newCounter()})
		silent, stop := context.WithCancel(ctx)
		go poll(silent, &p, "10.0.0.1", 10*time.Millisecond)
		other := netip.MustParseAddr("10.0.0.2")
		says := func(state peerState) { p.told(other, p.begin(other, state, time.Now())) }
		says(peerUp)
		time.Sleep(time.Second)
		says(peerUp)
		drained := time.AfterFunc(time.Second, func() { says(peerDown) })
		defer drained.Stop()
		if err := p.drain(ctx, d); err != nil {
			t.Fatal(err)
		}
		short, end := context.WithTimeout(ctx, sightTimeout+time.Second)
		defer end()
		if err := p.ready(short, d); err == nil || !strings.Contains(err.Error(), "10.0.0.2 does not have") {
			t.Errorf("got %v, want the one that is down", err)
		}
		says(peerUp)
		if err := p.ready(ctx, d); err != nil || !p.tookUnproven() {
			t.Errorf("got %v, unproven %v; one of two gave no proof", err, p.tookUnproven())
		}
		stop()
		synctest.Wait()
		time.Sleep(pollGone + time.Second) // the silent one is gone
		says(peerUp)
		p.set(true)
		says(peerDown)
		p.set(false)
		says(peerUp)
		if err := p.ready(ctx, d); err != nil || p.tookUnproven() {
			t.Errorf("got %v, unproven %v; who was told has said it", err, p.tookUnproven())
		}
	})
}

// TestLookEndsWithItsDrain: what comes after a drain of a peer that is gone was not seen while
// anybody had this process out.
func TestLookEndsWithItsDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := demand{rounds: 1, each: 1, proof: true}
		var p polls
		p.attach(&Gate{requests: newCounter()})
		for _, gone := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			early, end := context.WithTimeout(ctx, time.Second)
			defer end()
			if err := p.drain(early, d); !errors.Is(err, errNobodyPolls) {
				t.Fatal(err)
			}
			go poll(ctx, &p, "10.0.0.1", 10*time.Millisecond)
			if err := p.drain(ctx, d); err != nil {
				t.Fatal(err)
			}
			if gone {
				cancel()
				synctest.Wait()
			}
			if err := p.ready(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if looked := p.sight.looked; looked <= 0 || looked > 1 {
			t.Errorf("looked for %.3f s, and one drain of far less than a second was seen to its end", looked)
		}
	})
}

// TestProofIsOfOneGate: another gate counts from zero.
func TestProofIsOfOneGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := demand{rounds: 1, each: 1, proof: true}
		old := &Gate{requests: newCounter()}
		for range 1000 {
			old.Enter().Exit()
		}
		var p polls
		p.attach(old)
		go poll(ctx, &p, "10.0.0.1", 10*time.Millisecond)
		time.Sleep(time.Second)
		if err := p.drain(ctx, d); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		stopped, end := context.WithTimeout(ctx, time.Second)
		defer end()
		if err := p.ready(stopped, d); err == nil {
			t.Fatal("back without a proof")
		}
		p.attach(&Gate{requests: newCounter()})
		if err := p.ready(ctx, d); err != nil || !p.tookUnproven() {
			t.Errorf("got %v, unproven %v; the new gate counted no request", err, p.tookUnproven())
		}
	})
}

// TestPeerThatSaysWhereItStands is believed, and not counted.
func TestPeerThatSaysWhereItStands(t *testing.T) {
	var p polls
	from, now := netip.MustParseAddr("10.0.0.1"), time.Now()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	d := demand{rounds: 1, each: 1, proof: true}
	step := func(says peerState) { p.told(from, p.begin(from, says, now)) }
	step(peerUp)
	step(peerUp)
	for _, turn := range []struct {
		draining  bool
		is, wants peerState
	}{{true, peerUp, peerDown}, {false, peerDown, peerUp}} {
		p.set(turn.draining)
		for range 20 {
			step(turn.is)
			if err := p.announce(ended, turn.draining, d); err == nil {
				t.Fatalf("draining %v: confirmed although it says otherwise", turn.draining)
			}
		}
		step(turn.wants)
		if err := p.announce(ended, turn.draining, d); err != nil {
			t.Errorf("draining %v: %v although it says so", turn.draining, err)
		}
	}
}

func TestAnswerFromBeforeTheChangeDoesNotCount(t *testing.T) {
	var p polls
	from, now := netip.MustParseAddr("10.0.0.1"), time.Now()
	p.told(from, p.begin(from, peerSilent, now))
	was := p.begin(from, peerSilent, now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.drain(ctx, once); err == nil {
		t.Error("a drain is confirmed that nobody was told")
	}
	p.told(from, was) // "ready" is written late
	p.begin(from, peerSilent, now)
	if err := p.drain(ctx, once); err == nil {
		t.Error("a poll answered \"ready\" counts as one told to drain")
	}
	p.told(from, true)
	if err := p.drain(ctx, once); err == nil {
		t.Error("a peer that was told counts as one that acted, before it polls again")
	}
	p.begin(from, peerSilent, now)
	if err := p.drain(ctx, once); err != nil {
		t.Errorf("told, and polled again: %v", err)
	}
}

func TestPollersAreBounded(t *testing.T) {
	var p polls
	now := time.Now()
	addr := netip.MustParseAddr("10.0.0.1")
	p.set(true)
	for i := range 10 * maxPollers {
		draining := p.begin(addr, peerSilent, now)
		if draining != (i < maxPollers) {
			t.Errorf("poller %d is told draining=%v: who is not remembered must not be", i, draining)
		}
		p.told(addr, draining)
		addr = addr.Next()
	}
	if n := len(p.pollers); n != maxPollers {
		t.Errorf("remembers %d pollers, want %d", n, maxPollers)
	}
	p.begin(addr, peerSilent, now.Add(pollForget+1))
	if n := len(p.pollers); n != 1 {
		t.Errorf("remembers %d pollers after the others went silent, want 1", n)
	}
}
