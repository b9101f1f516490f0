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
		p.told(from, p.begin(from, time.Now()))
		select {
		case <-time.After(interval):
		case <-ctx.Done():
		}
	}
}

func TestAnnounceReturnsWhenEachPollerHasActed(t *testing.T) {
	tests := []struct {
		name         string
		pollers      map[string]time.Duration // interval by address
		rounds, each int
		least, most  time.Duration // the wait
	}{
		{"one", map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond}, 0, 0, 10 * time.Millisecond, 20 * time.Millisecond},
		{"slowest of two", map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond, "10.0.0.1": time.Second}, 1, 1, time.Second, 2 * time.Second},
		{"fall 3", map[string]time.Duration{"127.0.0.1": 10 * time.Millisecond}, 3, 1, 30 * time.Millisecond, 40 * time.Millisecond},
		{"two at one address", map[string]time.Duration{"127.0.0.1": 5 * time.Millisecond}, 1, 2, 15 * time.Millisecond, 20 * time.Millisecond},
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
					time.Sleep(2*time.Second + 3*time.Millisecond)
					start := time.Now()
					if err := p.announce(ctx, draining, tt.rounds, tt.each); err != nil {
						t.Fatal(err)
					}
					if d := time.Since(start); d < tt.least || d > tt.most {
						t.Errorf("draining %v took %v, want %v to %v", draining, d, tt.least, tt.most)
					}
					start = time.Now()
					if err := p.announce(ctx, draining, tt.rounds, tt.each); err != nil || time.Since(start) != 0 {
						t.Errorf("announcing %v again: %v after %v, want nil at once", draining, err, time.Since(start))
					}
				}
			})
		})
	}
}

func TestAnnounceDoesNotWaitForTheSilentNorForPassers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var p polls
		gone, stop := context.WithCancel(ctx)
		go poll(gone, &p, "10.0.0.1", 10*time.Millisecond)
		go poll(ctx, &p, "127.0.0.1", 10*time.Millisecond)
		time.Sleep(time.Second)
		passer := netip.MustParseAddr("10.0.0.2")
		p.told(passer, p.begin(passer, time.Now()))
		stop()
		start := time.Now()
		if err := p.announce(ctx, true, 1, 1); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < pollRecent-20*time.Millisecond || d > pollRecent+pollTick {
			t.Errorf("waited %v for a peer that went silent, want about %v", d, pollRecent)
		}
	})
}

func TestAnnounceAtItsDeadlineSaysWhoIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p polls
		fail := func(want string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err := p.announce(ctx, true, 1, 1)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want a deadline and %q", err, want)
			}
		}
		fail("nobody polls")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go poll(ctx, &p, "10.0.0.1", time.Second)
		time.Sleep(2500 * time.Millisecond)
		if err := p.announce(ctx, false, 1, 1); err != nil {
			t.Fatal(err)
		}
		fail("10.0.0.1 has polled 0 of 1 times")
	})
}

func TestAnswerFromBeforeTheChangeDoesNotCount(t *testing.T) {
	var p polls
	from, now := netip.MustParseAddr("10.0.0.1"), time.Now()
	p.told(from, p.begin(from, now))
	was := p.begin(from, now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.announce(ctx, true, 1, 1); err == nil {
		t.Error("a drain is confirmed that nobody was told")
	}
	p.told(from, was) // "ready" is written late
	p.begin(from, now)
	if err := p.announce(ctx, true, 1, 1); err == nil {
		t.Error("a poll answered \"ready\" counts as one told to drain")
	}
	p.told(from, true)
	if err := p.announce(ctx, true, 1, 1); err == nil {
		t.Error("a peer that was told counts as one that acted, before it polls again")
	}
	p.begin(from, now)
	if err := p.announce(ctx, true, 1, 1); err != nil {
		t.Errorf("told, and polled again: %v", err)
	}
}

func TestPollersAreBounded(t *testing.T) {
	var p polls
	now := time.Now()
	addr := netip.MustParseAddr("10.0.0.1")
	for range 10 * maxPollers {
		p.told(addr, p.begin(addr, now))
		addr = addr.Next()
	}
	if n := len(p.pollers); n != maxPollers {
		t.Errorf("remembers %d pollers, want %d", n, maxPollers)
	}
	p.begin(addr, now.Add(pollRecent+1))
	if n := len(p.pollers); n != 1 {
		t.Errorf("remembers %d pollers after the others went silent, want 1", n)
	}
}
