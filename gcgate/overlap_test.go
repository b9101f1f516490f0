package gcgate

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// span is a time, in nanoseconds since 1970.
type span struct{ from, to int64 }

func (s span) overlaps(t span) bool { return s.from <= t.to && t.from <= s.to }

// oracle knows of each request and of each mark phase when it began and ended.
type oracle struct {
	mu       sync.Mutex
	requests []span  // guarded by mu
	marks    []span  // guarded by mu
	looks    []int64 // at the counters of the collector; guarded by mu
}

func (o *oracle) request(s span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, s)
}

// overlapped returns the requests that overlapped mark phases, and how many the gate may be wrong
// by: those that ended between its last look before one and its begin, those that entered between
// its last two looks before the end of one and its first look after it, and those that were at the
// edge of doing so while the oracle took the time, edge a phase.
func (o *oracle) overlapped(edge int) (exact, wrong int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.marks {
		i, _ := slices.BinarySearch(o.looks, m.from)
		begin := span{o.looks[max(i-1, 0)], m.from}
		i, _ = slices.BinarySearch(o.looks, m.to)
		end := span{o.looks[max(i-2, 0)], o.looks[min(i, len(o.looks)-1)]}
		wrong += edge
		for _, r := range o.requests {
			if r.overlaps(m) {
				exact++
			}
			if r.to >= begin.from && r.to <= begin.to || r.from >= end.from && r.from <= end.to {
				wrong++
			}
		}
	}
	return exact, wrong
}

func (o *oracle) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.looks = append(o.looks, time.Now().UnixNano())
}

func (o *oracle) mark(s span) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.marks = append(o.marks, s)
}

// watchedHeap tells an oracle of its mark phases, and of the gate's looks.
type watchedHeap struct {
	*gcgatetest.Heap
	*oracle
}

func (h *watchedHeap) Read() (cycles, automatic, allocated, live uint64) {
	defer h.look()
	return h.Heap.Read()
}

func (h *watchedHeap) Collect() {
	from := time.Now().UnixNano()
	h.Heap.Collect()
	h.mark(span{from, time.Now().UnixNano()})
}

// TestOverlappedIsWithinOnePercent of an exact count, over a model of a heap.
func TestOverlappedIsWithinOnePercent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o oracle
		h := gcgatetest.NewHeap()
		h.Mark = 20*time.Millisecond + 370*time.Microsecond
		r := startRig(t, Options{Policy: PolicyThrough, Collector: &watchedHeap{h, &o}}, h)
		r.sendTo(&o)
		const length = 13 // seconds, some eleven collections
		time.Sleep(length * time.Second)
		h.Do(func() { h.Rate = 0 })
		time.Sleep(time.Second) // a collection that runs ends
		exact, _ := o.overlapped(0)
		s := r.Stats()
		if n := s.Collections[ReasonTrigger]; n < 10 || exact < 500 ||
			math.Abs(float64(s.Overlapped)/float64(exact)-1) > .01 {
			t.Errorf("%d collections overlapped %d requests, want %d to within 1%%", n, s.Overlapped, exact)
		}
		if s.OverlappedOther != 0 || s.Entered < length*3000 {
			t.Errorf("stats %+v", s)
		}
		sum := uint64(0)
		for _, e := range r.since(0) {
			if e.State == StateServing {
				sum += e.Overlapped
			}
		}
		if sum != s.Overlapped {
			t.Errorf("the events tell of %d requests, the statistics of %d", sum, s.Overlapped)
		}
		r.Stop()
		time.Sleep(time.Second)
	})
}

// TestStatsAfterCollect: they are those after the collection before Collect returns.
func TestStatsAfterCollect(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.traffic()
		for s := r.Stats(); s.Heap < s.Live+mib; s = r.Stats() {
			time.Sleep(time.Millisecond)
		}
		r.onEvent(func(e Event) {
			if s := r.Stats(); e.State == StateServing && s.Heap != s.Live {
				t.Errorf("the heap has %d bytes, of which %d are live", s.Heap, s.Live)
			}
		})
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// sendTo sends some 3,000 requests a second until the gate stops, which take 2.5 ms each.
func (r *rig) sendTo(o *oracle) {
	go func() {
		for !r.stopping.Load() {
			ticket, from := r.Enter(), time.Now()
			time.AfterFunc(2500*time.Microsecond, func() {
				ticket.Exit()
				o.request(span{from.UnixNano(), time.Now().UnixNano()})
			})
			time.Sleep(333 * time.Microsecond)
		}
	}()
}

// TestOverlappedOtherIsEstimated from what mark phases took in all, for cycles of the runtime's
// own.
func TestOverlappedOtherIsEstimated(t *testing.T) {
	inTime(t, Options{}, func(t *testing.T, r *rig) {
		var o oracle
		r.sendTo(&o)
		time.Sleep(30 * time.Second)
		var cycles uint64
		r.heap.Do(func() { cycles = r.heap.Automatic })
		want := float64(cycles) * (50/.333 + 7.5) // each marks for 50 ms
		if s := r.Stats(); cycles < 10 || s.Overlapped != 0 || math.Abs(float64(s.OverlappedOther)/want-1) > .1 {
			t.Errorf("%d cycles overlapped %d requests, want about %.0f; the gate's own overlapped %d", cycles,
				s.OverlappedOther, want, s.Overlapped)
		}
	})
}

// watchedRuntime tells an oracle of the mark phases that the gate began, and of its looks.
type watchedRuntime struct {
	*goRuntime
	*oracle
}

func (w *watchedRuntime) Read() (cycles, automatic, allocated, live uint64) {
	defer w.look() // the gate has read the requests' counter just before
	return w.goRuntime.Read()
}

func (w *watchedRuntime) Collect() {
	from := time.Now().UnixNano()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.mark(span{from, int64(m.LastGC)}) // when marking ended
}

// TestOverlappedUnderARealRuntime counts as the oracle does, but for requests that came between two
// looks.
func TestOverlappedUnderARealRuntime(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	var o oracle
	g, err := Start(t.Context(), Options{
		Policy: PolicyThrough, Collector: &watchedRuntime{newGoRuntime(), &o},
		MinTriggerBytes: 1 << 32, Period: -1,
		MemoryLimitBytes: math.MaxInt64,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(context.Background())
	type node struct {
		next *node
		_    [6]uint64
	}
	var list *node
	for range 400_000 {
		list = &node{next: list}
	}
	o.mu.Lock()
	o.marks = nil // of the start
	o.mu.Unlock()
	const workers, collections = 8, 20
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for !isClosed(stop) {
				time.Sleep(rand.N(2 * time.Millisecond))
				from := time.Now().UnixNano()
				ticket := g.Enter()
				time.Sleep(300 * time.Microsecond)
				ticket.Exit()
				o.request(span{from, time.Now().UnixNano()})
			}
		})
	}
	before := g.Stats().Overlapped
	for range collections {
		if err := g.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	counted := int(g.Stats().Overlapped - before)
	close(stop)
	wg.Wait()
	for marks := 0; marks < collections; time.Sleep(time.Millisecond) { // Collect returns after the sweep
		o.mu.Lock()
		marks = len(o.marks)
		o.mu.Unlock()
	}
	exact, wrong := o.overlapped(workers)
	if exact < 100 || max(counted, exact)-min(counted, exact) > wrong {
		t.Errorf("%d requests overlapped collections, want %d, or at most %d more or less", counted, exact, wrong)
	}
	t.Logf("counted %d, exactly %d, bound %d", counted, exact, wrong)
	runtime.KeepAlive(list)
}

func TestEnteredDoesNotWrap(t *testing.T) {
	requests := traffic{counter: newCounter()}
	const step = math.MaxUint32/2 + 10
	entered := uint32(0)
	for range 5 {
		entered += step
		requests.shards[0].n.Store(uint64(entered) << 32)
		requests.look(time.Now())
	}
	if requests.total != 5*step {
		t.Errorf("%d entered, want %d", requests.total, uint64(5*step))
	}
}

// TestMarkedThatFalls: a count of requests does not.
func TestMarkedThatFalls(t *testing.T) {
	requests := traffic{overlappedOther: 3, rate: 100, total: 1000}
	requests.cycleEnded(10 * time.Second)
	requests.total = 2000
	requests.overlapOther(1, 4*time.Second, 0)
	if requests.overlappedOther != 3 {
		t.Errorf("%g requests have overlapped cycles, want 3", requests.overlappedOther)
	}
}

// TestMarkTimeFollowsGOMAXPROCS: what was marked before stays as it was.
func TestMarkTimeFollowsGOMAXPROCS(t *testing.T) {
	var m markTime
	for _, step := range []struct {
		cpu   float64
		procs int
		want  time.Duration
	}{
		{1, 4, time.Second},
		{1, 16, time.Second},
		{5, 16, 2 * time.Second},
		{6, 2, 4 * time.Second},
		{6, 4, 4 * time.Second},
	} {
		if got := m.add(step.cpu, markWorkers(step.procs)); got != step.want {
			t.Errorf("%g s of CPU, %d Ps now: marked for %v, want %v", step.cpu, step.procs, got, step.want)
		}
	}
	r := newGoRuntime()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.GC()
	before := r.Marked()
	runtime.GOMAXPROCS(4)
	if after := r.Marked(); after < before {
		t.Errorf("the runtime had marked for %v at one P, for %v at four", before, after)
	}
}

func TestMarkWorkers(t *testing.T) {
	// runtime/mgcpacer.go, startCycle: at 1 to 3 and 6 Ps fractional workers make up a quarter.
	for procs, want := range map[int]float64{1: .25, 2: .5, 3: .75, 4: 1, 5: 1, 6: 1.5, 7: 2, 8: 2, 16: 4} {
		if got := markWorkers(procs); got != want {
			t.Errorf("%d Ps: %g, want %g", procs, got, want)
		}
	}
}
