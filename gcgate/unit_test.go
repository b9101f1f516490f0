package gcgate

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev"
	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/gcgate/gcgatetest"
)

func TestCounterCountsFromAllGoroutines(t *testing.T) {
	c := newCounter()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 10_000 {
				ticket := c.enter()
				if i%100 == 0 {
					runtime.Gosched()
				}
				done := make(chan struct{})
				if i%1000 == 0 { // leaves on another goroutine
					go func() { ticket.Exit(); close(done) }()
					<-done
					continue
				}
				ticket.Exit()
			}
		})
	}
	wg.Wait()
	if inFlight, entered := c.read(); inFlight != 0 || entered != 80_000 {
		t.Errorf("in flight %d, entered %d", inFlight, entered)
	}
	a, b := c.enter(), c.enter()
	if n, _ := c.read(); n != 2 {
		t.Errorf("in flight %d, want 2", n)
	}
	a.Exit()
	b.Exit()
}

func TestCounterSurvivesTheWrapOfEntered(t *testing.T) {
	c := newCounter()
	for i := range c.shards {
		c.shards[i].n.Store(math.MaxUint32 << 32)
	}
	before := func() uint32 { _, e := c.read(); return e }()
	c.enter()
	if n, e := c.read(); n != 1 || e-before != 1 {
		t.Errorf("in flight %d, entered %d more", n, e-before)
	}
}

func TestEnterExitDoNotAllocate(t *testing.T) {
	c := newCounter()
	if n := testing.AllocsPerRun(1000, func() { c.enter().Exit() }); n > 0.01 { // -race drops from pools
		t.Errorf("%v allocations", n)
	}
}

func TestThresholds(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	const none = math.MaxInt64
	for _, c := range []struct {
		name           string
		live, overhead uint64
		limit          int64
		jitter         float64
		want           [4]uint64 // idle, trigger, hard, safety limit; MiB
		crowded        bool
	}{
		{"no limit", 400, 0, none, 0, [4]uint64{520, 800, 1100, 1935}, false},
		{"jitter lowers the trigger only", 400, 0, none, 0.1, [4]uint64{520, 760, 1100, 1935}, false},
		{"small heap", 1, 0, none, 0, [4]uint64{9, 32, 55, 194}, false},
		{"the limit lowers both", 400, 0, 800 * mib, 0, [4]uint64{520, 598, 637, 800}, false},
		{"what is not heap counts", 400, 100, 900 * mib, 0, [4]uint64{520, 598, 637, 900}, false},
		{"no room", 400, 0, 500 * mib, 0, [4]uint64{500, 500, 453, 500}, true},
		{"overhead over the limit", 400, 900, 500 * mib, 0, [4]uint64{500, 500, 400, 500}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := thresholdsFor(&o, allowance{limit: c.limit}, c.live*mib, c.overhead*mib)
			got.follow(0, c.jitter)
			in := [4]uint64{got.idle / mib, got.trigger / mib, got.hard / mib, got.safetyLimit / mib}
			if in != c.want || got.noRoom != c.crowded {
				t.Errorf("got %v crowded=%v, want %v crowded=%v", in, got.noRoom, c.want, c.crowded)
			}
		})
	}
}

// TestHardLeavesTimeForTurns: with turns it is 2.5 times as far from the live heap as the highest
// trigger, whatever the ratio of that; without a limit only where the machine has the memory.
func TestHardLeavesTimeForTurns(t *testing.T) {
	for _, c := range []struct {
		ratio           float64
		turns           bool
		live, available uint64 // MiB
		limit           int64
		hard            uint64 // MiB
	}{
		{2, true, 100, 24 << 10, math.MaxInt64, 100 + 412*5/2},
		{1.25, true, 100, 24 << 10, math.MaxInt64, 100 + 412*5/2},
		{3, true, 300, 24 << 10, math.MaxInt64, 300 + 600*5/2},
		{2, false, 100, 24 << 10, math.MaxInt64, 100 + 412*7/4},
		{2, true, 4600, 7 << 10, math.MaxInt64, 4600 + 4600*7/4},
		{2, true, 400, 3 << 10, math.MaxInt64, 400 + 768},
		{2, true, 100, 0, math.MaxInt64, 100 + 100*7/4},
		{2, true, 100, 0, 64 << 30, 100 + (32<<10-100)*5/2},
		{100, true, 100, 1 << 20, math.MaxInt64, 100 + 9900*199/99},
	} {
		o := Options{TriggerRatio: c.ratio, IdleRatio: 1.1}
		if c.turns {
			o.Turns = takenTurns()
		}
		o, err := o.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		got := thresholdsFor(&o, allowance{limit: c.limit, available: c.available * mib}, c.live*mib, 0).hard / mib
		if c.limit != math.MaxInt64 { // half of it, and 0.9 of the way to where the runtime may begin
			c.hard = min(c.hard,
				c.live+uint64(hardShare*(capacity.RuntimeStart(float64(c.live*mib),
					float64(c.limit))/mib-float64(c.live))))
		}
		if got != c.hard {
			t.Errorf("%+v: hard at %d MiB", c, got)
		}
	}
}

// TestRuntimeBeginsAboveHard, whatever lives and whatever the limit, and also with a safety limit
// that is as far below the one wanted as it is left: the hard threshold would never be reached
// otherwise.
func TestRuntimeBeginsAboveHard(t *testing.T) {
	o, _ := Options{}.withDefaults()
	wide, _ := Options{HardRatio: 4}.withDefaults()
	for _, o := range []*Options{&o, &wide} {
		for _, live := range []uint64{1, 10, 50, 100, 200, 400, 1000, 10_000} {
			for _, limit := range []uint64{0, 64, 128, 256, 512, 1024, 2048, 4096, 65_536} {
				const overhead = 10
				a := allowance{limit: int64(limit * mib), available: 24 << 30}
				if limit == 0 {
					a.limit = math.MaxInt64
				}
				got := thresholdsFor(o, a, live*mib, overhead*mib)
				if got.noRoom {
					continue
				}
				safe := float64(got.safetyLimit)
				if int64(got.safetyLimit) < a.limit {
					safe *= limitStep / (limitStep + 1.)
				}
				begins := uint64(capacity.RuntimeStart(float64(live*mib), safe-overhead*mib))
				if got.trigger >= got.hard || got.hard+got.hard/100 > begins {
					t.Errorf("HardRatio %g, live %d, limit %d: trigger %d, hard %d, and the runtime begins at %d MiB",
						o.HardRatio,
						live, limit, got.trigger/mib, got.hard/mib, begins/mib)
				}
			}
		}
	}
}

// TestEnoughIsEnough: the limit that a warning names gives the thresholds all their room.
func TestEnoughIsEnough(t *testing.T) {
	o, _ := Options{}.withDefaults()
	for _, live := range []uint64{40, 400, 4000} {
		limit := limitFor(&o, live*mib, 50*mib)
		free := thresholdsFor(&o, allowance{limit: math.MaxInt64}, live*mib, 50*mib)
		with := thresholdsFor(&o, allowance{limit: int64(limit) + 2}, live*mib, 50*mib)
		if with.trigger < free.trigger-1 || with.hard < free.hard-1 || with.noRoom {
			t.Errorf("live %d: with the limit %d trigger %d and hard %d, without %d and %d", live,
				limit/mib, with.trigger,
				with.hard, free.trigger, free.hard)
		}
	}
}

func TestPredictionIsSeededAndLearns(t *testing.T) {
	p := newPredictor(200*time.Microsecond, mib) // a process that has just started
	if d := p.expect(300 * mib); d < 50*time.Millisecond || d > time.Second {
		t.Errorf("300 MiB after a seed of 1 MiB: %v", d)
	}
	for range 20 {
		p.learn(400*time.Millisecond, 300*mib)
	}
	if d := p.expect(300 * mib); d < 450*time.Millisecond || d > 550*time.Millisecond {
		t.Errorf("%v, want about 500 ms: 400 and a quarter", d)
	}
	if d := p.expect(1 << 50); d != predictMax {
		t.Errorf("%v, the bound is %v", d, predictMax)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // "$" is the end
	}{
		{Options{Policy: 9}, "Options.Policy: Policy(9) is not a policy: use PolicyAuto"},
		{Options{Policy: PolicyDrain}, "add a Signal"},
		{Options{TriggerRatio: 1.1}, "use 1.25 to 100"},
		{Options{TriggerRatio: math.NaN()}, "Options.TriggerRatio"},
		{
			Options{TriggerRatio: 3, HardRatio: 2.75},
			"Options.HardRatio: 2.75 must be above TriggerRatio, which is 3, and " +
				"at most 200: use 4.5",
		},
		{Options{IdleRatio: 3}, "Options.IdleRatio: 3 must be above 1"},
		{Options{Policy: PolicyMemory + 1}, "Policy(5) is not a policy"},
		{Options{Jitter: 0.6}, "at most 0.5"},
		{Options{Jitter: 0.6}, "or -1 for none"},
		{Options{HoldTurn: time.Hour}, "1h0m0s is out of range: use up to 1m0s"},
		{Options{MemoryLimitBytes: -1}, "use 0"},
		{Options{MinTriggerBytes: -1}, "use 0"},
		{Options{DrainTimeout: -1}, "Options.DrainTimeout"},
		{Options{AnnounceTimeout: time.Hour}, "use up to 10s"},
		{Options{Signals: []Signal{nil}}, "signal 0 is nil"},
		{Options{Signals: []Signal{new(fakeSignal), (*fakeSignal)(nil)}}, "signal 1 is nil"},
		{Options{MemoryLimitBytes: 32 << 20}, "which is 33554432: lower it, or raise the limit to 41943040$"},
		{Options{MemoryLimitBytes: 1}, "which is 1: lower it, or raise the limit to 41943040$"},
		{Options{MinTriggerBytes: math.MaxInt64}, "which is 9223372036854775807: lower it,"},
	} {
		_, err := Start(t.Context(), c.o)
		var oe *evenkeel.OptionError
		if !errors.As(err, &oe) || !strings.Contains(err.Error()+"$", c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
	g, err := Start(t.Context(), Options{
		Jitter: -1, Period: -1,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal("a refused Start must leave no gate behind:", err)
	}
	g.Stop(context.Background())
}

// TestEnumsAreTextBothWays, and a wrong name is an error that has the right ones.
func TestEnumsAreTextBothWays(t *testing.T) {
	for p := PolicyAuto; p <= PolicyMemory; p++ {
		back := p + 1
		if text, err := p.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != p {
			t.Errorf("%v is read as %v", p, back)
		}
	}
	for s := StateServing; s <= StateReadying; s++ {
		back := s + 1
		if text, err := s.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v is read as %v", s, back)
		}
	}
	for r := ReasonHard; r <= ReasonRequested; r++ {
		back := r + 1
		if text, err := r.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != r {
			t.Errorf("%v is read as %v", r, back)
		}
	}
	p := PolicyShed
	if err := p.UnmarshalText([]byte("Idle")); err == nil || p != PolicyShed ||
		!strings.Contains(err.Error(), `"Idle" is not a policy: write auto, drain, through, shed or memory`) {
		t.Errorf("got %v and %v, want the known ones", p, err)
	}
	for got, want := range map[string]string{
		StateCollecting.String(): "collecting", State(17).String(): "State(17)",
		ReasonIdleGap.String(): "idle gap", PolicyShed.String(): "shed",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStartIsBoundedByItsContext: a collection that does not end leaves no gate behind.
func TestStartIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &countedHeap{Heap: gcgatetest.NewHeap()}
		h.Hang = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		o := Options{Collector: h, Logger: slog.New(slog.DiscardHandler)}
		if _, err := Start(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start: %v, want its deadline", err)
		}
		if _, err := Start(ctx, o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start after the deadline: %v", err)
		}
		close(h.Hang)
		synctest.Wait()
		h.Do(func() {
			if h.Percent != 100 || h.Limit != math.MaxInt64 || h.running != 0 {
				t.Errorf("GOGC is %d, the limit %d; %d collections run", h.Percent, h.Limit, h.running)
			}
		})
		g, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		g.Stop(t.Context())
	})
}

// TestStartTriesTheFiles of turns: the first word of a missing folder does not come when the heap
// is full.
func TestStartTriesTheFiles(t *testing.T) {
	needsFlock(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	busy := filepath.Join(dir, "busy")
	for _, path := range []string{file, busy + queueSuffix} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held, err := FileTurns{Path: filepath.Join(dir, "held")}.TryAcquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, held)
	for _, c := range []struct {
		name string
		t    FileTurns
		is   error  // nil: any
		says string // "": Start returns no error
	}{
		{"no path", FileTurns{}, nil, "FileTurns.Path is empty"},
		{"too many", FileTurns{Path: filepath.Join(dir, "many"), K: 65}, nil, "FileTurns.K: 65 is out of range"},
		{"no folder", FileTurns{Path: filepath.Join(dir, "missing", "turn")}, fs.ErrNotExist, "make the folder"},
		{"no folder at all", FileTurns{Path: filepath.Join(file, "turn")}, nil, "not a directory"},
		{"no queue", FileTurns{Path: busy}, nil, "cannot wait in " + busy + queueSuffix},
		{"held by another", FileTurns{Path: filepath.Join(dir, "held"), K: 2}, nil, ""},
		{"free", FileTurns{Path: filepath.Join(dir, "free")}, nil, ""},
	} {
		h := gcgatetest.NewHeap()
		h.Rate = 0
		o := Options{Policy: PolicyThrough, Turns: c.t, Collector: h, Logger: slog.New(slog.DiscardHandler)}
		g, err := Start(t.Context(), o)
		if err == nil {
			g.Stop(t.Context())
		}
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if entries, _ := os.ReadDir(c.t.Path + queueSuffix); len(entries) > 0 {
			t.Errorf("%s: it leaves %v in the queue", c.name, entries)
		}
	}
}

// invalidSignal cannot work on this machine.
type invalidSignal struct{ fakeSignal }

func (*invalidSignal) Validate() error { return errPeer }

// absentTurns cannot be decided at first.
type absentTurns struct {
	fakeTurns
	from time.Time
}

func (t *absentTurns) Check(context.Context) error {
	if time.Now().Before(t.from) {
		return errPeer
	}
	return nil
}

// TestStartTriesSignalsAndTurns: what is wrong here is an error, what is wrong elsewhere a warning
// at once.
func TestStartTriesSignalsAndTurns(t *testing.T) {
	o := Options{Signals: []Signal{&invalidSignal{}}, Turns: &fakeTurns{}, Collector: gcgatetest.NewHeap()}
	if _, err := Start(t.Context(), o); !errors.Is(err, errPeer) || !strings.Contains(err.Error(), "Options.Signals") {
		t.Errorf("Start: %v, want what the signal says", err)
	}
	s := &absentSignal{fakeSignal{err: errPeer}}
	synctest.Test(t, func(t *testing.T) {
		turns := &absentTurns{from: time.Now().Add(3 * time.Second)}
		h := gcgatetest.NewHeap()
		h.Rate = 0
		r := startRig(t, Options{Signals: []Signal{s}, Turns: turns}, h)
		defer func() {
			r.Stop()
			time.Sleep(time.Second) // the last collection ends
		}()
		synctest.Wait()
		for _, want := range []string{"a signal without a peer", "turns cannot be taken now"} {
			if log := r.logged.String(); strings.Count(log, want) != 1 {
				t.Errorf("the log does not say %q at once:\n%s", want, log)
			}
		}
		s.set(func() { s.err = nil })
		time.Sleep(5 * time.Second)
		log := r.logged.String()
		if strings.Count(log, "level=WARN") != 2 || strings.Count(log, "the peer is there now") != 2 {
			t.Errorf("later the log says\n%s", log)
		}
	})
}
