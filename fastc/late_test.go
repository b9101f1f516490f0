//go:build cgo

package fastc

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/fastc/internal/leaf"
)

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
	s := MustSite(leaf.Nop, "nop", Options{DisableBudget: true})
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
