//go:build cgo

package fastc

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
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
	over   = budget + allowance
)

// TestJudge holds what a row of calls makes of a site: o is one that is 10 ms over the budget, O
// one that was timed in place of 128 such, s one that is hardly over it, u one for which the thread
// was not asked, w one within; p is a second's pause.
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
		{w16 + "oo", true, false, 2},
		{w16 + "ooo", false, true, 3},
		{"oo" + w16 + "o", false, true, 3},
		{"oo" + w16[1:] + "o", false, true, 3},
		{w16 + "o" + w16 + "o" + w16 + "o", false, true, 3},
		{"ooo" + w16, false, true, 3},
		{"oooooo", false, true, 6},
		{"opopopopopop", false, false, 6},     // 10 ms a second
		{"ooppooppoopp", false, false, 6},     // and so
		{"oopopopopo", false, true, 6},        // more
		{"ssssssssssssss", false, false, 14},  // all of them, by nothing
		{w16 + "OpO", true, false, 2},         // bad luck
		{w16 + "OpOpO", false, true, 3},       // a share of the time
		{w16 + "uuuuuuuuuu", true, false, 10}, // the kernel may have taken the processor away
	} {
		synctest.Test(t, func(t *testing.T) {
			s := MustSite(leaf.Nop, "nop", Options{Budget: budget, Hold: maxHold, Logger: slog.New(&entries{})})
			for _, call := range c.calls {
				switch call {
				case 'o':
					s.judge(over, 1, true)
				case 'O':
					s.judge(over, sampleOneIn, true)
				case 's':
					s.judge(budget+1, 1, true)
				case 'u':
					s.judge(over, sampleOneIn, false)
				case 'w':
					s.judge(budget, 1, true)
				case 'p':
					time.Sleep(time.Second)
				}
			}
			if got := s.trusted.Load() == 1; got != c.trusted {
				t.Errorf("%s: trusted %v", c.calls, got)
			}
			if st := s.Stats(); st.Diverted != c.diverted || st.Over != c.over || st.Diverted != (st.Diversions == 1) {
				t.Errorf("%s: %+v, want Diverted %v and %d over", c.calls, st, c.diverted, c.over)
			}
		})
	}
}

// TestCharge holds what of a call's time counts.
func TestCharge(t *testing.T) {
	for name, c := range map[string]struct {
		clock, used time.Duration
		waits       int64
		want        time.Duration
	}{
		"computed":                      {5000, 4990, 0, 4990},
		"lost its processor":            {5000, 100, 0, 100},
		"waited":                        {5000, 100, 1, 5000},
		"a coarse clock of the threads": {5000, 10_000, 0, 5000},
	} {
		if got := charge(c.clock, thread{7000, 3}, thread{7000 + c.used, 3 + c.waits}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestHold follows a site through its diversions, in time that the test makes.
func TestHold(t *testing.T) {
	needShortWay(t)
	synctest.Test(t, func(t *testing.T) {
		log := &entries{}
		s := MustSite(leaf.Nop, "nop", Options{Budget: budget, Hold: time.Second, Logger: slog.New(log)})
		var want []entry
		diversions := uint64(0)
		divert := func(hold time.Duration) {
			t.Helper()
			for strike := range strikes {
				if s.Stats().Diverted {
					t.Errorf("diverted after %d calls over the budget", strike)
				}
				s.judge(over, 1, true)
			}
			want = append(want, entry{slog.LevelWarn, map[string]string{
				"function": "nop", "budget": "50µs", "took": "10.05ms", "for": hold.String(),
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
			if st := s.Stats(); st.Slow != before.Slow || st.Timed != before.Timed+1 || st.Diverted ||
				st.Diversions != diversions {
				t.Errorf("%v after diversion %d: %+v, then %+v", hold, diversions, before, st)
			}
		}
		for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 16} {
			divert(seconds * time.Second)
		}
		time.Sleep(16 * time.Second) // as long as its last hold
		divert(time.Second)
		divert(2 * time.Second)
		if diff := cmp.Diff(want, log.all); diff != "" {
			t.Errorf("logged (-want +got):\n%s", diff)
		}
	})
}

// TestOneWay holds that nothing is diverted where all calls go through cgo anyway.
func TestOneWay(t *testing.T) {
	if Available() {
		t.Skip("needs FASTC=off: TestModes runs it so, in make check")
	}
	log := &entries{}
	s := MustSite(leaf.Spin, "spin", Options{Budget: 1, Logger: slog.New(log)})
	for range 1000 {
		s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 1000}))
	}
	if st := s.Stats(); st.Diverted || st.Diversions != 0 || st.Slow != 0 || st.Over == 0 || len(log.all) != 0 {
		t.Errorf("%+v, logged %v", st, log.all)
	}
}

func TestDefaults(t *testing.T) {
	s := MustSite(leaf.Nop, "nop", Options{})
	if s.opts.Budget != 200*time.Microsecond || s.opts.Hold != 10*time.Second {
		t.Errorf("%+v", s.opts)
	}
	if s.logger() != slog.Default() {
		t.Error("the logger is not slog.Default()")
	}
}

// long is a row of turns that takes milliseconds of a processor at least, and short one that takes
// none.
const long, short = int64(10_000_000), int64(1)

// callOver makes a call that takes several times what a Site allows in a second, or one that takes
// nothing where that no longer matters. Less would not do: beside a compiler a call lasts long by
// the clock, for all of which the surplus of those before it sinks.
func callOver(s *Site) int32 {
	turns := 20 * long
	if s.diverted.Load() {
		turns = short
	}
	return s.Call(unsafe.Pointer(&turns))
}

// TestOver calls a function that takes many times its budget: three calls are timed.
func TestOver(t *testing.T) {
	needShortWay(t)
	log := &entries{}
	s := MustSite(leaf.Turn, "turn", Options{Budget: 10 * time.Microsecond, Hold: maxHold, Logger: slog.New(log)})
	for range 5 {
		if r := callOver(s); r != 0 {
			t.Errorf("returned %d", r)
		}
	}
	st := s.Stats()
	if st.Longest < time.Millisecond {
		t.Errorf("the longest call took %v", st.Longest)
	}
	st.Longest = 0
	want := Stats{Calls: 5, Timed: 3, Over: 3, Slow: 2, Diversions: 1, Diverted: true}
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
	const goroutines, rounds = 4, 5
	log := &entries{}
	s := MustSite(leaf.Turn, "turn", Options{Budget: 10 * time.Microsecond, Hold: maxHold, Logger: slog.New(log)})
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range rounds {
				callOver(s)
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.Over > strikes+goroutines-1 || st.Over != st.Timed || st.Timed+st.Slow != goroutines*rounds ||
		st.Calls != goroutines*rounds {
		t.Errorf("%+v", st)
	}
	if len(log.all) != 1 || st.Diversions != 1 {
		t.Errorf("%+v, logged %v, want one warning", st, log.all)
	}
}

// TestRarelyOver holds that a function is diverted for the few long calls that most of its time
// goes into, however short the others are.
func TestRarelyOver(t *testing.T) {
	needShortWay(t)
	const enough = 3000 // long calls: a dozen or two are
	for _, oneIn := range []int{100, 1000} {
		s := MustSite(leaf.Turn, "turn", Options{Hold: maxHold, Logger: slog.New(&entries{})})
		seen := 0
		for ; seen < enough && !s.Stats().Diverted; seen++ {
			for range oneIn - 1 {
				turns := short
				s.Call(unsafe.Pointer(&turns))
			}
			turns := long
			s.Call(unsafe.Pointer(&turns))
		}
		t.Logf("one in %d: diverted after %d long calls, %+v", oneIn, seen, s.Stats())
		if !s.Stats().Diverted {
			t.Errorf("one in %d: not diverted after %d long calls", oneIn, enough)
		}
	}
}

// TestTurnsOfOthersAreNotCharged holds that a call is not charged with what the kernel gave of its
// processor to others meanwhile: there are more threads than processors. It judges by most of such
// calls, as what a hypervisor takes without saying so is the thread's time as far as its kernel
// knows. Calls that waited are charged with all of it, and are not asked for: an emulator's own
// locks make them wait.
func TestTurnsOfOthersAreNotCharged(t *testing.T) {
	if _, known := readThread(); !known {
		t.Skip("needs a kernel that tells the time of a thread: Linux")
	}
	needShortWay(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6 * runtime.NumCPU()))
	s := MustSite(leaf.Turn, "turn", Options{})
	measure := func() (clock, charged time.Duration) {
		turns := long / 10
		_, clock, charged = s.measure(unsafe.Pointer(&turns), true)
		return clock, charged
	}
	alone := time.Hour // with no other's turn in it
	for range 20 {
		clock, _ := measure()
		alone = min(alone, clock)
	}
	const enough = 20 // calls that lost their processor
	var lost, fair, waited atomic.Int32
	end := time.Now().Add(time.Minute)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for lost.Load() < enough && time.Now().Before(end) {
				before, _ := readThread()
				clock, charged := measure()
				after, _ := readThread()
				if after.waits != before.waits {
					waited.Add(1)
					continue
				}
				if clock < 4*alone+2*time.Millisecond {
					continue // nobody came between
				}
				lost.Add(1)
				if charged < clock/2 {
					fair.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if lost.Load() < enough {
		t.Skipf("needs other threads to get this one's processor during a call: %d of %d times in a minute",
			lost.Load(), enough)
	}
	if fair.Load() < lost.Load()/2 {
		t.Errorf("%d of %d calls that lost their processor were charged with less than half of their time; "+
			"%d others waited", fair.Load(), lost.Load(), waited.Load())
	}
}

func TestLongest(t *testing.T) {
	s := MustSite(leaf.Spin, "spin", Options{Budget: time.Hour})
	s.Call(unsafe.Pointer(&leaf.SpinFrame{NS: 3e6}))
	for range 5 {
		s.Call(unsafe.Pointer(&leaf.SpinFrame{}))
	}
	if st := s.Stats(); st.Longest < 3*time.Millisecond {
		t.Errorf("%+v", st)
	}
}
