package polled

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// poll polls p from addr every interval, as a balancer does, until ctx ends.
func poll(ctx context.Context, p *Peers, addr string, interval time.Duration) {
	from := netip.MustParseAddr(addr)
	for ctx.Err() == nil {
		p.Answered(from, p.Begin(from, SaysNothing))
		select {
		case <-time.After(interval):
		case <-ctx.Done():
		}
	}
}

// announce is Drain or Ready.
func (p *Peers) announce(ctx context.Context, draining bool, d Demand) error {
	if draining {
		return p.Drain(ctx, d)
	}
	return p.Ready(ctx, d)
}

// counter counts requests.
type counter struct{ entered atomic.Uint32 }

func (c *counter) enter()                  { c.entered.Add(1) }
func (c *counter) Requests() (int, uint32) { return 0, c.entered.Load() }

// wait returns false when ctx ends before d is over.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

var once = Demand{Answers: 1, Pollers: 1} // one answer makes the peer act

func TestAnnounceReturnsWhenEachPollerHasActed(t *testing.T) {
	tests := []struct {
		name        string
		pollers     map[string]time.Duration // interval by address
		d           Demand
		least, most time.Duration // the wait
	}{
		{
			"one",
			map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond},
			once, 10 * time.Millisecond,
			20 * time.Millisecond,
		},
		{
			"slowest of two",
			map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond, "10.0.0.1": time.Second},
			once,
			time.Second, 2 * time.Second,
		},
		{
			"ten seconds",
			map[string]time.Duration{"127.0.0.1": 10 * time.Second},
			once,
			10 * time.Second, 20 * time.Second,
		},
		{
			"fall 3",
			map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond},
			Demand{Answers: 3, Pollers: 1},
			30 * time.Millisecond, 40 * time.Millisecond,
		},
		{
			"two at one address",
			map[string]time.Duration{"127.0.0.1": 5 * time.Millisecond},
			Demand{Answers: 1, Pollers: 2},
			15 * time.Millisecond, 20 * time.Millisecond,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var p Peers
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

func TestDrainDoesNotWaitForSilentOrCasualPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var p Peers
		ended, stop := context.WithCancel(ctx)
		go poll(ended, &p, "10.0.0.1", 10*time.Millisecond)
		go poll(ctx, &p, "127.0.0.1", 10*time.Millisecond)
		time.Sleep(time.Second + 3*time.Millisecond) // between two polls
		passer := netip.MustParseAddr("10.0.0.2")
		p.Answered(passer, p.Begin(passer, SaysNothing))
		stop()
		synctest.Wait() // or it might poll once more, and hear it
		start := time.Now()
		if err := p.Drain(ctx, once); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < expireAfter-20*time.Millisecond || d > expireAfter+waitTick {
			t.Errorf("waited %v for a peer that went silent, want about %v", d, expireAfter)
		}
	})
}

// TestReadyWaitsForDrainedPeers: a peer that was asked to drain is waited for until it has this
// process back, however seldom it polls by then, and no longer than it takes to expire.
func TestReadyWaitsForDrainedPeers(t *testing.T) {
	for _, c := range []struct {
		name        string
		again       time.Duration // when it polls next; 0: never
		least, most time.Duration
	}{
		{"downinter", 20 * time.Second, 20 * time.Second, 20*time.Second + 20*time.Millisecond},
		{"it has expired", 0, forgetAfter, forgetAfter + 2*waitTick},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var p Peers
				fast, slow := context.WithCancel(ctx)
				go poll(fast, &p, "10.0.0.1", 10*time.Millisecond)
				time.Sleep(time.Second)
				start := time.Now()
				if err := p.Ready(ctx, once); err != nil || time.Since(start) != 0 {
					t.Fatalf("no peer was asked to drain: %v after %v", err, time.Since(start))
				}
				if err := p.Drain(ctx, once); err != nil {
					t.Fatal(err)
				}
				slow()
				synctest.Wait()
				start = time.Now()
				if c.again > 0 {
					time.AfterFunc(c.again, func() { poll(ctx, &p, "10.0.0.1", 10*time.Millisecond) })
				}
				if err := p.Ready(ctx, once); err != nil {
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
		var p Peers
		fail := func(draining bool, want string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err := p.announce(ctx, draining, once)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want a deadline and %q", err, want)
			}
		}
		fail(true, "no polls")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go poll(ctx, &p, "10.0.0.1", time.Second)
		time.Sleep(2500 * time.Millisecond)
		fail(false, "10.0.0.1 has polled 0 of 1 times since")
		if err := p.Ready(ctx, once); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		fail(true, "10.0.0.1 has polled 0 of 1 times")
	})
}

// TestCanConfirm: what is said of a peer follows its recent polls.
func TestCanConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Peers
		fall3 := Demand{Answers: 3, Pollers: 1}
		want := func(says string) {
			t.Helper()
			err := p.CanConfirm(100*time.Millisecond, fall3)
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
		want("no polls")
		every(10 * time.Millisecond)
		time.Sleep(25 * time.Millisecond)
		want("10.0.0.1 has polled 3 times, and how fast")
		time.Sleep(30 * time.Millisecond)
		want("")
		every(time.Second) // a reload
		want("")           // it has just polled
		time.Sleep(500 * time.Millisecond)
		want("polls every 1")
		time.Sleep(10 * time.Second)
		want("10.0.0.1 polls every 1s, so a drain takes 4s, and AnnounceTimeout is 100ms: " +
			"let it poll more often")
		every(10 * time.Millisecond)
		time.Sleep(55 * time.Millisecond)
		want("")
		every(10 * time.Second)
		time.Sleep(55 * time.Second)
		want("polls every 10s")
		stop()
		time.Sleep(31 * time.Second)
		want("no polls")
	})
}

// TestPeerThatSaysWhereItStands is believed, and not counted.
func TestPeerThatSaysWhereItStands(t *testing.T) {
	var p Peers
	from := netip.MustParseAddr("10.0.0.1")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	d := Demand{Answers: 1, Pollers: 1}
	step := func(says Says) { p.Answered(from, p.Begin(from, says)) }
	step(SaysUp)
	step(SaysUp)
	for _, turn := range []struct {
		draining  bool
		is, wants Says
	}{{true, SaysUp, SaysDown}, {false, SaysDown, SaysUp}} {
		p.set(turn.draining, Demand{})
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
	var p Peers
	from := netip.MustParseAddr("10.0.0.1")
	p.Answered(from, p.Begin(from, SaysNothing))
	was := p.Begin(from, SaysNothing)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Drain(ctx, once); err == nil {
		t.Error("a drain is confirmed that no peer heard of")
	}
	p.Answered(from, was) // "ready" is written late
	p.Begin(from, SaysNothing)
	if err := p.Drain(ctx, once); err == nil {
		t.Error("a poll answered \"ready\" counts as one asked to drain")
	}
	p.Answered(from, true)
	if err := p.Drain(ctx, once); err == nil {
		t.Error("a peer that heard it counts as one that acted, before it polls again")
	}
	p.Begin(from, SaysNothing)
	if err := p.Drain(ctx, once); err != nil {
		t.Errorf("it heard, and polled again: %v", err)
	}
}

func TestPeersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Peers
		addr := netip.MustParseAddr("10.0.0.1")
		p.set(true, Demand{})
		for i := range 10 * maxPeers {
			draining := p.Begin(addr, SaysNothing)
			if draining != (i < maxPeers) {
				t.Errorf("peer %d gets draining=%v: one that is not remembered must not", i, draining)
			}
			p.Answered(addr, draining)
			addr = addr.Next()
		}
		if n := len(p.peers); n != maxPeers {
			t.Errorf("remembers %d peers, want %d", n, maxPeers)
		}
		time.Sleep(forgetAfter + 1)
		p.Begin(addr, SaysNothing)
		if n := len(p.peers); n != 1 {
			t.Errorf("remembers %d peers after the others went silent, want 1", n)
		}
	})
}

// TestStallIsNotTheBalancers: while this process is stopped no peer can poll it, and who had
// it out still has.
func TestStallIsNotTheBalancers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Peers
		from := netip.MustParseAddr("127.0.0.1")
		poll := func(n int) {
			for range n {
				p.Answered(from, p.Begin(from, SaysNothing))
				time.Sleep(10 * time.Millisecond)
			}
		}
		d := Demand{Answers: 2}
		poll(20)
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(t.Context(), d) }()
		poll(5)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		time.Sleep(forgetAfter + time.Second) // stopped
		back := make(chan error, 1)
		go func() { back <- p.Ready(t.Context(), d) }()
		synctest.Wait()
		select {
		case err := <-back:
			t.Fatalf("it is back, and no peer has polled: %v", err)
		default:
		}
		poll(5)
		if err := <-back; err != nil {
			t.Error(err)
		}
	})
}

// TestStrayPoll: one that polls once while the peers are asked to drain is no peer that acts, and
// does not hold the turn as long as one that is lost; requests prove all the same that the balancer
// has this process back. A balancer that has just appeared is waited for.
func TestStrayPoll(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name        string
		d           Demand
		stray       func(poll func(Says)) // from its first poll, in the drain
		least, most time.Duration         // of Ready
	}{
		{"none", Demand{Answers: 3}, func(func(Says)) {}, 30 * ms, 100 * ms},
		{"curl", Demand{Answers: 3}, func(poll func(Says)) { poll(SaysNothing) }, expireAfter - 150*ms, expireAfter},
		{
			"one answer is enough",
			Demand{},
			func(poll func(Says)) { poll(SaysNothing) },
			forgetAfter - 150*ms, forgetAfter,
		},
		{
			"a balancer that says so",
			Demand{Answers: 3},
			func(poll func(Says)) { poll(SaysUp) },
			forgetAfter - 150*ms, forgetAfter,
		},
		{"a new balancer", Demand{Answers: 3}, func(poll func(Says)) {
			for range 1000 {
				poll(SaysNothing)
				time.Sleep(500 * ms)
			}
		}, ProofTimeout, ProofTimeout + 3*time.Second}, // two: no proof
		{"one that is slow while down", Demand{Answers: 3}, func(poll func(Says)) {
			poll(SaysNothing)
			time.Sleep(2 * time.Second)
			poll(SaysNothing)
			time.Sleep(20 * time.Second)
			for range 1000 {
				poll(SaysNothing)
				time.Sleep(10 * ms)
			}
		}, 30 * time.Second, 34 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var p Peers
				g := new(counter)
				p.Attach(g)
				go poll(ctx, &p, "10.0.0.5", 10*ms)
				requests := func(ctx context.Context) {
					for wait(ctx, ms) {
						g.enter()
					}
				}
				serving, drained := context.WithCancel(ctx)
				go requests(serving)
				time.Sleep(time.Second)
				go func() {
					from := netip.MustParseAddr("127.0.0.1")
					time.Sleep(15 * ms)
					c.stray(func(says Says) {
						if ctx.Err() == nil {
							p.Answered(from, p.Begin(from, says))
						}
					})
				}()
				drained()
				if err := p.Drain(ctx, c.d); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * ms)
				begin := time.Now()
				go requests(ctx)
				if err := p.Ready(ctx, c.d); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took < c.least || took > c.most {
					t.Errorf("Ready took %v, want %v to %v", took, c.least, c.most)
				}
				cancel()
				time.Sleep(10 * time.Minute) // what still polls ends
			})
		})
	}
}
