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
		h.site = NewSite(leaf.Nop, "nop", Options{Budget: budget, Hold: time.Second, Logger: slog.New(h)})
		for range strikes {
			h.site.judge(over)
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
				s := NewSite(leaf.Nop, "nop", Options{Budget: budget, Hold: time.Second, Logger: slog.New(&entries{})})
				for range strikes {
					s.judge(over)
				}
				for range probation - 1 {
					s.judge(took)
				}
				time.Sleep(time.Second)
				s.returned(time.Now())
				s.judge(took)
				if s.Stats().Diverted || s.trusted.Load() != 0 {
					t.Errorf("after one call: %+v, trusted %d", s.Stats(), s.trusted.Load())
				}
			})
		})
	}
}

// TestFewCalls are counted well: the first one of a trusted function is seldom a sample, which
// counts for many.
func TestFewCalls(t *testing.T) {
	needShortWay(t)
	const sites = 30
	samples := uint64(0)
	for range sites {
		s := NewSite(leaf.Nop, "nop", Options{Budget: -1})
		for range probation + 1 {
			nop(s)
		}
		samples += s.Stats().Timed - probation
	}
	if samples > sites/2 {
		t.Errorf("%d of %d were", samples, sites)
	}
}

// TestLongHold does not overflow.
func TestLongHold(t *testing.T) {
	s := NewSite(leaf.Nop, "nop", Options{Hold: 1 << 62})
	for range 10 {
		s.divert(time.Now())
	}
	if s.hold <= 0 || s.until.IsZero() {
		t.Errorf("hold %v until %v", s.hold, s.until)
	}
}
