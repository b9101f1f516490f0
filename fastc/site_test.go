//go:build cgo

package fastc

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/fastc/internal/leaf"
)

// entries keeps what is logged.
type entries struct {
	mu  sync.Mutex
	all []entry
}

type entry struct {
	Level slog.Level
	Attrs map[string]string
}

func (e *entries) Enabled(context.Context, slog.Level) bool { return true }
func (e *entries) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e *entries) WithGroup(string) slog.Handler            { return e }

func (e *entries) Handle(_ context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	attrs := map[string]string{}
	r.Attrs(func(a slog.Attr) bool { attrs[a.Key] = a.Value.String(); return true })
	e.all = append(e.all, entry{r.Level, attrs})
	return nil
}

// needShortWay skips the test where every call goes through cgo.
func needShortWay(t *testing.T) {
	t.Helper()
	if !Available() {
		t.Skip("needs the short way: " + Source())
	}
}

// nop calls the site's function, which must be leaf.Nop.
func nop(s *Site) {
	var frame int
	s.Call(unsafe.Pointer(&frame))
}

const (
	budget = 50 * time.Microsecond // of the sites below whose calls are judged by hand
	over   = budget + 1
)

// TestJudge holds what a row of calls makes of a site: o is one over the budget, w one within.
func TestJudge(t *testing.T) {
	needShortWay(t)
	const w16 = "wwwwwwwwwwwwwwww"
	for _, c := range []struct {
		calls             string
		trusted, diverted bool
		over              uint64
	}{
		{w16[1:], false, false, 0},
		{w16, true, false, 0},
		{"o" + w16, true, false, 1},
		{"oo" + w16[1:], false, false, 2},
		{"oo", false, false, 2},
		{"ooo", false, true, 3},
		{w16 + "o", false, false, 1},
		{w16 + "oo", false, false, 2},
		{w16 + "ooo", false, true, 3},
		{"oo" + w16 + "oo", false, false, 4},
		{"oo" + w16[1:] + "o", false, true, 3},
		{"o" + w16[1:] + "o" + w16[1:] + "o", false, true, 3},
		{"oo" + w16 + "ooo", false, true, 5},
		{"ooo" + w16, false, true, 3},
		{"oooooo", false, true, 6},
	} {
		s := NewSite(leaf.Nop, "nop", Options{Budget: budget, Hold: -1, Logger: slog.New(&entries{})})
		for _, call := range c.calls {
			s.judge(map[rune]time.Duration{'o': over, 'w': budget}[call])
		}
		if got := s.trusted.Load() == 1; got != c.trusted {
			t.Errorf("%s: trusted %v", c.calls, got)
		}
		if st := s.Stats(); st.Diverted != c.diverted || st.Over != c.over || st.Diverted != (st.Diversions == 1) {
			t.Errorf("%s: %+v, want Diverted %v and %d over", c.calls, st, c.diverted, c.over)
		}
	}
}

// TestHold follows a site through its diversions, in time that the test makes.
func TestHold(t *testing.T) {
	needShortWay(t)
	synctest.Test(t, func(t *testing.T) {
		log := &entries{}
		s := NewSite(leaf.Nop, "nop", Options{Budget: budget, Hold: time.Second, Logger: slog.New(log)})
		var want []entry
		diversions := uint64(0)
		divert := func(hold time.Duration) {
			t.Helper()
			for strike := range strikes {
				if s.Stats().Diverted {
					t.Errorf("diverted after %d calls over the budget", strike)
				}
				s.judge(over)
			}
			want = append(want, entry{slog.LevelWarn, map[string]string{
				"function": "nop", "budget": "50µs", "took": "50.001µs", "for": hold.String(),
			}})
			diversions++
			for _, pause := range []time.Duration{0, hold - 1} {
				time.Sleep(pause)
				before := s.Stats()
				nop(s)
				if st := s.Stats(); st.Slow != before.Slow+1 || st.Timed != before.Timed || !st.Diverted {
					t.Errorf("%v after diversion %d: %+v, then %+v", pause, diversions, before, st)
				}
			}
			time.Sleep(time.Nanosecond)
			before := s.Stats()
			nop(s)
			want = append(want, entry{slog.LevelDebug, map[string]string{"function": "nop"}})
			if st := s.Stats(); st.Slow != before.Slow || st.Timed != before.Timed+1 || st.Diverted || st.Diversions != diversions {
				t.Errorf("%v after diversion %d: %+v, then %+v", hold, diversions, before, st)
			}
		}
		for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 16} {
			divert(seconds * time.Second)
		}
		for range probation {
			s.judge(budget)
		}
		divert(time.Second)
		divert(2 * time.Second)
		if diff := cmp.Diff(want, log.all); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
	})
}

func TestHoldForEver(t *testing.T) {
	needShortWay(t)
	synctest.Test(t, func(t *testing.T) {
		s := NewSite(leaf.Nop, "nop", Options{Budget: budget, Hold: -1, Logger: slog.New(&entries{})})
		for range strikes {
			s.judge(over)
		}
		for range 100 {
			time.Sleep(10_000 * time.Hour)
			nop(s)
		}
		if st := s.Stats(); st.Slow != 100 || st.Diversions != 1 || !st.Diverted {
			t.Errorf("%+v", st)
		}
	})
}

// TestNoBudget holds that without one, no call is over it.
func TestNoBudget(t *testing.T) {
	s := NewSite(leaf.Nop, "nop", Options{Budget: -1})
	for range 100 {
		s.judge(time.Hour)
	}
	if st := s.Stats(); st.Over != 0 || st.Diverted || s.trusted.Load() != 1 {
		t.Errorf("%+v", st)
	}
}

// TestOneWay holds that nothing is diverted where all calls go through cgo anyway.
func TestOneWay(t *testing.T) {
	if Available() {
		t.Skip("needs FASTC=off: TestModes runs it so")
	}
	log := &entries{}
	s := NewSite(leaf.Spin, "spin", Options{Budget: 1, Logger: slog.New(log)})
	for range 1000 {
		s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 1000}))
	}
	if st := s.Stats(); st.Diverted || st.Diversions != 0 || st.Slow != 0 || st.Over == 0 || len(log.all) != 0 {
		t.Errorf("%+v, logged %v", st, log.all)
	}
}

func TestDefaults(t *testing.T) {
	s := NewSite(leaf.Nop, "nop", Options{})
	if s.opts.Budget != 200*time.Microsecond || s.opts.Hold != 10*time.Second || s.hold != s.opts.Hold {
		t.Errorf("%+v", s.opts)
	}
	if s.logger() != slog.Default() {
		t.Error("the logger is not slog.Default()")
	}
}

// TestOver calls a function that takes five times its budget: three calls are timed.
func TestOver(t *testing.T) {
	needShortWay(t)
	log := &entries{}
	s := NewSite(leaf.Spin, "spin", Options{Budget: time.Millisecond, Hold: -1, Logger: slog.New(log)})
	for range 10 {
		f := leaf.SpinFrame{NS: 5e6}
		if r := s.Call(unsafe.Pointer(&f)); r != 0 || f.Turns == 0 {
			t.Errorf("returned %d after %d turns", r, f.Turns)
		}
	}
	st := s.Stats()
	if st.Longest < 5*time.Millisecond {
		t.Errorf("the longest call took %v", st.Longest)
	}
	st.Longest = 0
	want := Stats{Calls: 10, Timed: 3, Over: 3, Slow: 7, Diversions: 1, Diverted: true}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(log.all) != 1 || log.all[0].Level != slog.LevelWarn {
		t.Errorf("logged %v, want one warning", log.all)
	}
}

// TestOverTogether does so from several goroutines: each has one call under way at the switch.
func TestOverTogether(t *testing.T) {
	needShortWay(t)
	const goroutines, rounds = 4, 50
	log := &entries{}
	s := NewSite(leaf.Spin, "spin", Options{Budget: 10 * time.Microsecond, Hold: -1, Logger: slog.New(log)})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 50_000}))
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.Over > strikes+goroutines-1 || st.Over != st.Timed || st.Timed+st.Slow != goroutines*rounds || st.Calls != goroutines*rounds {
		t.Errorf("%+v", st)
	}
	if len(log.all) != 1 || st.Diversions != 1 {
		t.Errorf("%+v, logged %v, want one warning", st, log.all)
	}
}

// TestSampled holds that a trusted function's samples are found over the budget too.
func TestSampled(t *testing.T) {
	needShortWay(t)
	s := NewSite(leaf.Spin, "spin", Options{Budget: time.Hour, Hold: -1, Logger: slog.New(&entries{})})
	for range probation {
		s.Call(unsafe.Pointer(&leaf.SpinFrame{}))
	}
	if s.trusted.Load() != 1 {
		t.Fatalf("not trusted: %+v", s.Stats())
	}
	s.opts.Budget = 1 // ns: no goroutine uses s now
	for calls := 0; s.Stats().Over == 0 && calls < 100_000; calls++ {
		s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 100}))
	}
	for range strikes - 1 { // all are timed from the first on
		s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 100}))
	}
	if st := s.Stats(); !st.Diverted || st.Over != strikes {
		t.Errorf("%+v", st)
	}
}

func TestLongest(t *testing.T) {
	s := NewSite(leaf.Spin, "spin", Options{Budget: -1})
	s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 3e6}))
	for range 5 {
		s.Call(unsafe.Pointer(&leaf.SpinFrame{}))
	}
	if st := s.Stats(); st.Longest < 3*time.Millisecond {
		t.Errorf("%+v", st)
	}
}
