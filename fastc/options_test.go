//go:build cgo

package fastc

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/fastc/internal/leaf"
)

// TestOptions: what makes no sense is refused with the option's name, and the rest gets its
// defaults.
func TestOptions(t *testing.T) {
	for name, tt := range map[string]struct {
		opts Options
		want string
	}{
		"zero":    {Options{}, ""},
		"longest": {Options{Budget: time.Hour, Hold: maxHold}, ""},
		"negative budget": {
			Options{Budget: -1},
			"fastc.Options.Budget: -1ns is negative; write 0 for 200µs",
		},
		"negative hold": {
			Options{Hold: -time.Second},
			"fastc.Options.Hold: -1s is negative; write 0 for 10s",
		},
		"long hold": {
			Options{Hold: 25 * time.Hour},
			"fastc.Options.Hold: 25h0m0s is longer than 24h0m0s; write less",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewSite(leaf.Nop, "nop", tt.opts)
			if tt.want == "" {
				if err != nil || s == nil || s.opts.Budget <= 0 || s.opts.Hold <= 0 {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			var wrong *evenkeel.OptionError
			if s != nil || !errors.As(err, &wrong) || err.Error() != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
			defer func() {
				if p, _ := recover().(error); p == nil || p.Error() != tt.want {
					t.Errorf("MustSite panics with %v", p)
				}
			}()
			MustSite(leaf.Nop, "nop", tt.opts)
			t.Error("MustSite does not panic")
		})
	}
}

// asking is a log handler that asks the site about itself.
type asking struct {
	entries
	site *Site
}

func (a *asking) Handle(ctx context.Context, r slog.Record) error {
	a.site.Stats()
	nop(a.site)
	return a.entries.Handle(ctx, r)
}

// TestLoggerMayUseTheSite: nothing is held while a line is written.
func TestLoggerMayUseTheSite(t *testing.T) {
	needShortWay(t)
	synctest.Test(t, func(t *testing.T) {
		h := &asking{}
		h.site = MustSite(leaf.Nop, "nop", Options{Budget: budget, Hold: time.Second, Logger: slog.New(h)})
		for range strikes {
			h.site.judge(over, 1, true)
		}
		time.Sleep(time.Second)
		nop(h.site)
		if len(h.all) != 2 {
			t.Errorf("%d lines", len(h.all))
		}
	})
}

// TestLateCalls: what began before the switch and ends after it is not held against the function,
// nor for it, when it is back.
func TestLateCalls(t *testing.T) {
	needShortWay(t)
	for name, took := range map[string]time.Duration{"over": over, "within": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := MustSite(leaf.Nop, "nop", Options{Budget: budget, Hold: time.Second, Logger: slog.New(&entries{})})
				for range strikes {
					s.judge(over, 1, true)
				}
				for range probation - 1 {
					s.judge(took, 1, true)
				}
				time.Sleep(time.Second)
				s.returned(time.Now())
				s.judge(took, 1, true)
				if s.Stats().Diverted || s.trusted.Load() != 0 {
					t.Errorf("after one call: %+v, trusted %d", s.Stats(), s.trusted.Load())
				}
			})
		})
	}
}

// TestCount holds that calls are counted well, whichever of them are timed.
func TestCount(t *testing.T) {
	s := MustSite(leaf.Nop, "nop", Options{Budget: time.Hour})
	const calls, waiting = 100_000, 2 * sampleOneIn // for the next timed one, in a cell
	for range calls {
		nop(s)
	}
	if n := s.Stats().Calls; n > calls || n+waiting*uint64(len(s.countdowns)) < calls {
		t.Errorf("%d calls, want %d or less, by %d a cell at most", n, calls, waiting)
	}
}

// TestLongHold does not overflow.
func TestLongHold(t *testing.T) {
	s := MustSite(leaf.Nop, "nop", Options{Hold: maxHold})
	for range 10 {
		s.divert(time.Now())
		s.back = time.Now()
	}
	if s.hold <= 0 || s.until.IsZero() {
		t.Errorf("hold %v until %v", s.hold, s.until)
	}
}

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
