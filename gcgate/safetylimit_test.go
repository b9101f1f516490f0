package gcgate

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// takenTurns are never free.
func takenTurns() *fakeTurns { return &fakeTurns{held: map[*fakeLease]bool{{}: true}} }

// TestHardComesBeforeTheRuntime where the turn is never free, over a heap whose runtime begins as
// early as it may.
func TestHardComesBeforeTheRuntime(t *testing.T) {
	for name, c := range map[string]struct {
		o               Options
		group           int64
		live, available uint64
	}{
		"no limit":                    {group: math.MaxInt64, live: 20 * mib, available: 24 << 30},
		"no limit, a large live heap": {group: math.MaxInt64, live: 600 * mib, available: 24 << 30},
		"a limit": {
			o:     Options{MemoryLimitBytes: 500 * mib},
			group: math.MaxInt64, live: 200 * mib,
		},
		"a limit, and a large live heap": {
			o:     Options{MemoryLimitBytes: 500 * mib},
			group: math.MaxInt64, live: 300 * mib,
		},
		"a small control group": {group: 64 * mib, live: 5 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			h := func() *gcgatetest.Heap {
				h := gcgatetest.NewHeap()
				h.Rate, h.Live, h.Group, h.Available, h.Beside = 20*mib, c.live, c.group, c.available, 4*mib
				return h
			}
			c.o.Policy, c.o.Turns = PolicyThrough, takenTurns()
			inTimeOver(t, c.o, h, func(t *testing.T, r *rig) {
				for end := time.Now().Add(6 * time.Minute); (testutil.Checking() ||
					r.Stats().Collections[ReasonHard] < 4) &&
					time.Now().Before(end); {
					time.Sleep(time.Second)
				}
				if s := r.Stats(); s.Collections[ReasonHard] < 4 || s.Escaped > 0 {
					t.Errorf("%+v\n%s", s, r.logged.String())
				}
			})
		})
	}
}

// TestHardComesBeforeTheRealRuntime where the turn is never free, under a limit, and where the
// pacer takes marking for slow: then it begins as early as it may. The process allocates a little,
// and no more until the gate has looked.
func TestHardComesBeforeTheRealRuntime(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	type node struct {
		next *node
		_    [6]uint64
	}
	var list *node
	for range 600_000 { // 32 MiB, slow to mark
		list = &node{next: list}
	}
	keep := make([][]byte, 64)
	allocate := func(bytes int) {
		for i := range bytes / (64 << 10) {
			keep[i%len(keep)] = make([]byte, 64<<10)
		}
	}
	for cycles := 0; cycles < 4; cycles++ { // the pacer learns how much is allocated while it marks
		ended := make(chan struct{})
		go func() { runtime.GC(); close(ended) }()
		for !isClosed(ended) {
			allocate(mib)
		}
	}
	const limit = 256 * mib
	g, err := Start(t.Context(), Options{
		Policy: PolicyThrough, Turns: takenTurns(), Jitter: -1, HardRatio: 4, MemoryLimitBytes: limit,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	const looks = 10_000 // a heap of 256 MiB is 128 of them
	s := g.Stats()
	for look := 0; look < looks && s.Collections[ReasonHard] < 3 && s.Escaped == 0; look++ {
		allocate(2 * mib)
		for was := s.Allocated; s.Allocated == was; s = g.Stats() {
			time.Sleep(100 * time.Microsecond)
		}
	}
	if s.Collections[ReasonHard] < 3 || s.Escaped > 0 {
		t.Errorf("%+v", s)
	}
	runtime.KeepAlive(list)
	runtime.KeepAlive(keep)
}

// limiting is a heap whose program sets its memory limit at the worst of moments.
type limiting struct {
	*gcgatetest.Heap
	inCollect, inSetLimit int64 // the limit to set in the next call; 0: none
}

func (l *limiting) Collect() {
	if limit := l.inCollect; limit > 0 {
		l.inCollect = 0
		l.Heap.SetLimit(limit)
	}
	l.Heap.Collect()
}

func (l *limiting) SetLimit(bytes int64) int64 {
	if limit := l.inSetLimit; limit > 0 && bytes >= 0 {
		l.inSetLimit = 0
		l.Heap.SetLimit(limit)
	}
	return l.Heap.SetLimit(bytes)
}

// TestLimitThatTheProgramSetsMeanwhile: while the gate starts, or between its look and its own
// call, holds at once, and is there when it has stopped.
func TestLimitThatTheProgramSetsMeanwhile(t *testing.T) {
	const most = 120 * mib
	for name, c := range map[string]struct {
		before                int64
		own                   int64 // Options.MemoryLimitBytes
		inCollect, inSetLimit int64
		later                 int64 // in SetLimit of Stop
	}{
		"in Start":                          {math.MaxInt64, 0, most, 0, 0},
		"in Start, from a limit":            {1 << 30, 0, most, 0, 0},
		"in Start, beside the option":       {1 << 30, 500 * mib, most, 0, 0},
		"in Start, up":                      {60 * mib, 0, most, 0, 0},
		"when the gate sets its own":        {math.MaxInt64, 0, 0, most, 0},
		"when the gate sets its own, twice": {1 << 30, 0, 700 * mib, most, 0},
		"when it stops":                     {most, 0, 0, 0, 150 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := gcgatetest.NewHeap()
				h.Limit, h.Live, h.Rate = c.before, 20*mib, 10*mib
				l := &limiting{h, c.inCollect, c.inSetLimit}
				r := startRig(t, Options{Policy: PolicyThrough, MemoryLimitBytes: c.own, Collector: l}, h)
				if s := r.Stats(); s.Limit != most || s.Hard > most || h.SetLimit(-1) > most {
					t.Errorf("the gate keeps to %d MiB, hard is %d, the runtime keeps to %d; want %d",
						s.Limit/mib, s.Hard/mib,
						h.SetLimit(-1)/mib, most/mib)
				}
				time.Sleep(10 * time.Second)
				if s := r.Stats(); s.Limit != most || h.SetLimit(-1) > most || h.GOGC() != -1 {
					t.Errorf("later the gate keeps to %d MiB, the runtime to %d, GOGC is %d", s.Limit/mib,
						h.SetLimit(-1)/mib, h.GOGC())
				}
				l.inSetLimit = c.later
				r.Stop()
				if got := h.SetLimit(-1); got != max(most, c.later) {
					t.Errorf("after Stop the limit is %d MiB", got/mib)
				}
				time.Sleep(time.Second) // the last collection ends
			})
		})
	}
}

// TestNetIsAboveWhatIsMapped: a heap that has become small does not have requests give back at once
// what the process has from the system; the safety limit falls with that. A limit that somebody set
// is kept to.
func TestNetIsAboveWhatIsMapped(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	for _, c := range []struct {
		o    Options
		kept uint64 // MiB
		last int64  // when all has been given back, at most, MiB
	}{
		{Options{Policy: PolicyThrough}, 8 << 10, 2400},
		{Options{Policy: PolicyMemory}, 8 << 10, 1000},
		{Options{Policy: PolicyThrough, MemoryLimitBytes: 9 << 30, MaxTriggerBytes: 250 * mib}, 8 << 10, 1000},
		{Options{Policy: PolicyThrough, MemoryLimitBytes: 9 << 30, MaxTriggerBytes: 250 * mib}, 12 << 10, 1000},
	} {
		h := func() *gcgatetest.Heap {
			h := gcgatetest.NewHeap()
			h.Live, h.Available, h.Rate = 4<<30, 24<<30, 400*mib
			return h
		}
		inTimeOver(t, c.o, h, func(t *testing.T, r *rig) {
			r.traffic()
			time.Sleep(time.Minute)
			r.heap.Do(func() { r.heap.Live, r.heap.Kept, r.heap.scavenged = 100*mib, c.kept*mib, 0 })
			most := c.kept * mib
			if own := uint64(c.o.MemoryLimitBytes); own > 0 {
				most = min(most, own)
			}
			time.Sleep(30 * time.Second)
			r.heap.Do(func() {
				if r.heap.scavenged > c.kept*mib-most || r.heap.Limit < int64(most) {
					t.Errorf("%v: the process has %d MiB, the limit is %d MiB, and %d are given back at once",
						c.o.Policy, c.kept,
						r.heap.Limit/mib, r.heap.scavenged/mib)
				}
			})
			for range 40 { // the runtime gives it back by and by
				r.heap.Do(func() { r.heap.Kept -= r.heap.Kept / 8 })
				time.Sleep(2 * time.Second)
			}
			r.heap.Do(func() {
				if r.heap.Limit > c.last*mib || r.heap.scavenged > c.kept*mib-most {
					t.Errorf("%v: all has been given back, the limit is %d MiB, and %d were at once", c.o.Policy,
						r.heap.Limit/mib, r.heap.scavenged/mib)
				}
			})
		})
	}
}

// watchedLimits is the runtime, whose limits are looked at when they are set.
type watchedLimits struct {
	*goRuntime
	most  int64 // somebody's limit
	below int64 // a limit far below what is mapped; 0: none was
}

func (w *watchedLimits) SetLimit(bytes int64) int64 {
	if mapped := newGoRuntime().Mapped(); bytes >= 0 && bytes < w.most && mapped > uint64(bytes+bytes/limitStep) {
		w.below = bytes
	}
	return w.goRuntime.SetLimit(bytes)
}

// TestNetIsAboveWhatTheRealRuntimeHas mapped.
func TestNetIsAboveWhatTheRealRuntimeHas(t *testing.T) {
	keep := make([][]byte, 512)
	for i := range keep {
		keep[i] = make([]byte, mib)
	}
	before := newGoRuntime().Mapped()
	runtime.KeepAlive(keep)
	defer debug.FreeOSMemory() // other tests have limits
	w := &watchedLimits{goRuntime: newGoRuntime()}
	w.most = w.goRuntime.SetLimit(-1)
	g, err := Start(t.Context(), Options{
		Policy: PolicyThrough, MaxTriggerBytes: 32 * mib, Collector: w,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := g.Collect(t.Context()); err != nil {
			t.Error(err)
		}
	}
	g.Stop(context.Background())
	if w.below != 0 || before < 512*mib {
		t.Errorf("the process had %d MiB mapped, and a limit of %d MiB was set", before/mib, w.below/mib)
	}
}

// TestOthersFillTheGroup: what other processes take does not have the runtime collect without end;
// but its limit stays below the control group's, and the gate goes on when they have given it back.
func TestOthersFillTheGroup(t *testing.T) {
	for _, c := range []struct {
		o             Options
		group, others int64 // MiB
		most          int64 // the runtime's limit is at most that, MiB
		cycles        uint64
	}{
		{Options{Policy: PolicyThrough}, 1000, 850, 900, 25},
		{Options{Policy: PolicyThrough}, 1000, 1200, 900, 25},
		{Options{Policy: PolicyThrough, MemoryLimitBytes: 290 * mib}, 1000, 850, 290, 25},
		// somebody's limit is kept to
		{Options{Policy: PolicyThrough, MemoryLimitBytes: 250 * mib}, 1000, 850, 250, 75},
		{Options{Policy: PolicyThrough}, 230, 100, 207, 300},
	} {
		h := func() *gcgatetest.Heap {
			h := gcgatetest.NewHeap()
			h.Live, h.Group, h.Beside = 200*mib, c.group*mib, 5*mib
			return h
		}
		inTimeOver(t, c.o, h, func(t *testing.T, r *rig) {
			time.Sleep(20 * time.Second)
			was := r.heap.GOGC()
			r.heap.Do(func() { r.heap.Others = c.others * mib })
			time.Sleep(30 * time.Second)
			var cycles uint64
			r.heap.Do(func() { cycles = r.heap.Automatic })
			time.Sleep(10 * time.Second)
			r.heap.Do(func() {
				if cycles = r.heap.Automatic - cycles; cycles > c.cycles || r.heap.Limit <= 0 ||
					r.heap.Limit > c.most*mib ||
					r.heap.Percent != 100 {
					t.Errorf("%d of %d MiB are others': %d automatic cycles in 10 s, the limit is %d MiB, GOGC %d",
						c.others, c.group,
						cycles, r.heap.Limit/mib, r.heap.Percent)
				}
				r.heap.Others = 0
			})
			time.Sleep(30 * time.Second)
			if now := r.heap.GOGC(); now != was {
				t.Errorf("others have given %d MiB back: GOGC is %d, and was %d", c.others, now, was)
			}
		})
	}
}

// TestLimitThatTheProgramSetsLater holds from the next collection on, up or down, and is there when
// the gate has stopped.
func TestLimitThatTheProgramSetsLater(t *testing.T) {
	for _, own := range []int64{0, 700 * mib} {
		synctest.Test(t, func(t *testing.T) {
			h := gcgatetest.NewHeap()
			h.Limit = 1 << 30
			r := startRig(t, Options{Policy: PolicyThrough, MemoryLimitBytes: own}, h)
			for _, limit := range []int64{400 * mib, 2 << 30, 500 * mib} {
				h.SetLimit(limit)
				for range 3 {
					r.until(t, StateCollecting)
					r.until(t, StateServing)
				}
				want := limit
				if own > 0 {
					want = min(want, own)
				}
				if got := r.Stats().Limit; got != uint64(want) || h.SetLimit(-1) > want {
					t.Errorf("the program has set %d MiB: the gate keeps to %d, and the runtime to %d", limit/mib,
						got/mib, h.SetLimit(-1)/mib)
				}
			}
			h.SetLimit(450 * mib)
			r.Stop()
			if got := h.SetLimit(-1); got != 450*mib {
				t.Errorf("after Stop the limit is %d MiB", got/mib)
			}
			time.Sleep(time.Second) // the last collection ends
		})
	}
}
