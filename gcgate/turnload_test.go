package gcgate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/capacity"
	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// fakeQueue lets k at once, first come first served.
type fakeQueue struct {
	k       int
	mu      sync.Mutex
	held    int             // guarded by mu
	waiting []chan struct{} // guarded by mu; closed when it is theirs
}

var _ Queue = (*fakeQueue)(nil)

func (q *fakeQueue) TurnCount() int { return q.k }

func (q *fakeQueue) TryAcquire(ctx context.Context) (Lease, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held == q.k || len(q.waiting) > 0 {
		return nil, ErrHeld
	}
	q.held++
	return queueLease{q}, ctx.Err()
}

func (q *fakeQueue) Acquire(ctx context.Context) (Lease, error) {
	if l, err := q.TryAcquire(ctx); err == nil {
		return l, nil
	}
	mine := make(chan struct{})
	q.mu.Lock()
	q.waiting = append(q.waiting, mine)
	q.mu.Unlock()
	select {
	case <-mine:
		return queueLease{q}, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, mine); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	} else {
		q.next()
	}
	return nil, ctx.Err()
}

// next hands a turn that was held on. mu is held.
func (q *fakeQueue) next() {
	if len(q.waiting) == 0 {
		q.held--
		return
	}
	close(q.waiting[0])
	q.waiting = q.waiting[1:]
}

func (q *fakeQueue) places() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

type queueLease struct{ q *fakeQueue }

func (l queueLease) Lost() <-chan struct{} { return nil }

func (l queueLease) Release(context.Context) error {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	l.q.next()
	return nil
}

// turnGroup is what a simulation of replicas that share turns has seen.
type turnGroup struct {
	load        float64 // the load of the turns
	held        float64 // share of the time for which they were held, a turn
	collections uint64
	withoutTurn uint64 // of them
}

// simulateTurns runs n replicas, which fill their heaps from live to 200 MiB in step at first, at a
// load of their k turns. The requests of one that collects go to the others.
func simulateTurns(t *testing.T, turns Turns, n int, load float64, replicas int, live uint64) (g turnGroup) {
	t.Helper()
	const trigger, mark = 200 * mib, 100 * time.Millisecond
	k := turnCount(turns)
	room := capacity.Room(float64(live), trigger, 0.1)
	total := load * float64(k) * room / mark.Seconds()
	g.load = capacity.TurnLoad(total, room, mark, k)
	var group []*rig
	for range n {
		h := gcgatetest.NewHeap()
		h.Live, h.Mark, h.Rate, h.Available = live, mark, total/float64(n), 24<<30
		o := Options{
			Policy: PolicyThrough, Turns: turns, Replicas: replicas, MinTriggerBytes: trigger,
			MaxTriggerBytes: trigger,
		}
		group = append(group, startRig(t, o, h))
	}
	for _, r := range group {
		r.heap.Do(r.heap.EndCycle) // from now on they are in step
	}
	length := time.Duration(times(30, 60)) * time.Second
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		out := 0
		for _, r := range group {
			if isCollecting(r.heap) {
				out++
			}
		}
		for _, r := range group {
			r.heap.Do(func() {
				if r.heap.Rate = total / float64(max(n-out, 1)); r.heap.running > 0 {
					r.heap.Rate = 0
				}
			})
		}
	}
	for _, r := range group {
		s := r.Stats()
		g.held += s.Turn.Held.Total.Seconds() / length.Seconds() / float64(k)
		g.withoutTurn += s.WithoutTurn
		for _, c := range s.Collections {
			g.collections += c
		}
		r.Stop()
	}
	time.Sleep(time.Second) // the last collections end
	return g
}

// TestTurnsFollowTheFormula: up to nine tenths of capacity turns are held for as long as the
// formula says, at the usual trigger.
func TestTurnsFollowTheFormula(t *testing.T) {
	groups, loads := []struct{ n, k int }{{12, 1}}, []float64{0.9}
	if testutil.Checking() { // each takes the race detector seconds
		groups, loads = append(groups, struct{ n, k int }{16, 2}), append(loads, 0.5)
	}
	for _, tt := range groups {
		for _, load := range loads {
			synctest.Test(t, func(t *testing.T) {
				g := simulateTurns(t, &fakeQueue{k: tt.k}, tt.n, load, 0, 100*mib)
				t.Logf("%d replicas, %d turns: load %.2f, held %.3f, %d collections, %d without a turn",
					tt.n, tt.k, g.load, g.held,
					g.collections, g.withoutTurn)
				if math.Abs(g.held/g.load-1) > 0.1 || math.Abs(g.load-load) > 1e-6 {
					t.Errorf("%d replicas, %d turns: held for %.3f of the time, the formula says %.3f",
						tt.n, tt.k, g.held, g.load)
				}
			})
		}
	}
}

// TestQueueSuffices: first come first served no collection goes without a turn up to a load of 1.5,
// although all replicas want it at once at first. Turns that are polled, and a gate that does not
// know how many others there are, do not manage that.
func TestQueueSuffices(t *testing.T) {
	sizes, loads := []int{4}, []float64{1.5}
	if testutil.Checking() {
		sizes, loads = append(sizes, 2, 8), append(loads, 0.9)
	}
	for _, n := range sizes {
		for _, load := range loads {
			for _, live := range []uint64{100 * mib, 20 * mib} { // half of the trigger, or little beside it
				synctest.Test(t, func(t *testing.T) {
					g := simulateTurns(t, &fakeQueue{k: 1}, n, load, n, live)
					t.Logf("%d replicas at %.1f: held %.2f, %d collections, %d without a turn; %d MiB live", n, load,
						g.held,
						g.collections, g.withoutTurn, live/mib)
					if g.withoutTurn > 0 || g.collections == 0 {
						t.Errorf("%d replicas at a load of %.1f, %d MiB live: %d of %d collections had no turn", n,
							load, live/mib,
							g.withoutTurn, g.collections)
					}
				})
			}
		}
	}
	if !testutil.Checking() {
		return // what follows shows that the queue is what it takes
	}
	synctest.Test(t, func(t *testing.T) {
		g := simulateTurns(t, &fakeTurns{k: 1}, 4, 1.5, 0, 100*mib)
		t.Logf("polled, at 1.5: held %.2f, %d collections, %d without a turn", g.held, g.collections, g.withoutTurn)
		if g.withoutTurn == 0 {
			t.Error("polled turns suffice too: this test shows nothing")
		}
	})
}

// TestPlaceIsGivenUp: a gate that collects without the turn at the hard threshold, and one that
// stops, waits no more.
func TestPlaceIsGivenUp(t *testing.T) {
	q := &fakeQueue{k: 1}
	inTime(t, Options{Policy: PolicyThrough, Turns: q}, func(t *testing.T, r *rig) {
		held, err := q.TryAcquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; r.Stats().WithoutTurn == 0 && n < 10_000; n++ {
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		if r.Stats().WithoutTurn != 1 || q.places() != 0 {
			t.Errorf("%d collections without a turn; %d places are taken", r.Stats().WithoutTurn, q.places())
		}
		if log := r.logged.String(); !strings.Contains(log, "another replica holds the turn for too long") ||
			!strings.Contains(log, "from_trigger_to_hard=") {
			t.Errorf("the log says:\n%s", log)
		}
		r.until(t, StateServing)
		r.until(t, StateWanting)
		if q.places() != 1 {
			t.Errorf("%d places are taken, want 1", q.places())
		}
		r.Stop()
		if q.places() != 0 {
			t.Errorf("stopped, and %d places are taken", q.places())
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestGapsTakeNoPlace: a collection in a gap does not wait.
func TestGapsTakeNoPlace(t *testing.T) {
	q := &fakeQueue{k: 1}
	heap := func() *gcgatetest.Heap {
		h := gcgatetest.NewHeap()
		h.Rate = 10 * mib
		return h
	}
	o := Options{Signals: []Signal{&fakeSignal{}}, Turns: q}
	inTimeOver(t, o, heap, func(t *testing.T, r *rig) {
		r.Enter().Exit() // a gate that has counted no request looks for no gap
		held, err := q.TryAcquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 5000; n++ { // the heap is past the idle threshold after 3 s
			time.Sleep(time.Millisecond)
			if q.places() > 0 {
				t.Fatalf("it waits for its turn in a gap: %+v", r.Stats())
			}
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		for n := 0; r.Stats().Collections[ReasonIdleGap] == 0; n++ {
			if time.Sleep(time.Millisecond); n > 10_000 {
				t.Fatalf("no collection in a gap: %+v", r.Stats())
			}
		}
	})
}

// TestWarnsThatTurnsDoNotSuffice names the figures, and what would suffice; and where turns do, it
// says nothing.
func TestWarnsThatTurnsDoNotSuffice(t *testing.T) {
	for _, tt := range []struct {
		replicas, turns int
		say             string // "" for nothing
		enough          int
	}{
		{2, 1, "", 0},
		{40, 1, "collections come faster than turns are released", 6},
		{12, 1, "collections come faster than turns are released", 2},
		{40, 10, "", 0},
		{0, 1, "", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := gcgatetest.NewHeap() // 100 MiB/s, 100 MiB live: a replica fills its room in 0.95 s, and takes 100 ms
			h.Mark = 100 * time.Millisecond
			r := startRig(t, Options{
				Policy: PolicyThrough, Turns: &fakeQueue{k: tt.turns}, Replicas: tt.replicas, MinTriggerBytes: 32 * mib,
				MaxTriggerBytes: 32 * mib,
			}, h)
			time.Sleep(20 * time.Second)
			log, s := r.logged.String(), r.Stats()
			r.Stop()
			time.Sleep(time.Second) // the last collection ends
			if tt.say == "" {
				if strings.Contains(log, "level=WARN") {
					t.Errorf("%+v: %s", tt, log)
				}
				return
			}
			if !strings.Contains(log, tt.say) || !strings.Contains(log, fmt.Sprintf("replicas=%d", tt.replicas)) ||
				s.Turn.Load <= 1 {
				t.Errorf("%+v: %+v, log:\n%s", tt, s.Turn, log)
			}
			var enough int
			const figure = "turns_enough="
			if last := strings.LastIndex(log, figure); last < 0 {
				t.Errorf("no turns_enough:\n%s", log)
			} else if _, err := fmt.Sscan(log[last+len(figure):], &enough); err != nil || enough != tt.enough {
				t.Errorf("turns_enough=%d, want %d", enough, tt.enough)
			}
		})
	}
}

// TestTurnAdviceThatHelps: never so many turns that none is left to serve, and no hard threshold
// below the one that there is.
func TestTurnAdviceThatHelps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := gcgatetest.NewHeap()
		h.Mark = 700 * time.Millisecond // two replicas have a load of 1.5
		o := Options{Policy: PolicyThrough, Turns: &fakeQueue{k: 1}, Replicas: 2, MaxTriggerBytes: 32 * mib}
		r := startRig(t, o, h)
		time.Sleep(20 * time.Second)
		log := r.logged.String()
		if s := r.Stats(); s.Turn.Load <= 1 || !strings.Contains(log, "collections come faster") {
			t.Errorf("%+v, log:\n%s", s.Turn, log)
		}
		if strings.Contains(log, "turns_enough") {
			t.Errorf("both replicas may be out at once:\n%s", log)
		}
		r.Stop()
		time.Sleep(time.Second) // the last collection ends
	})
	turns := &fakeTurns{}
	inTime(t, Options{Policy: PolicyThrough, Turns: turns, Replicas: 2, Jitter: -1},
		func(t *testing.T, r *rig) {
			time.Sleep(10 * time.Second)
			other, err := turns.TryAcquire(t.Context()) // for long
			for err != nil {
				time.Sleep(time.Millisecond)
				other, err = turns.TryAcquire(t.Context())
			}
			for r.Stats().WithoutTurn == 0 {
				time.Sleep(time.Millisecond)
			}
			r.until(t, StateServing)
			log := r.logged.String()
			if !strings.Contains(log, "another replica holds the turn for too long") {
				t.Errorf("the log:\n%s", log)
			}
			if strings.Contains(log, "turns_enough") || strings.Contains(log, "hard_enough") {
				t.Errorf("it asks for more, though turns and memory suffice:\n%s", log)
			}
			other.Release(t.Context())
		})
}

// TestUntilCollectionKnowsTheLongestTurn: turns of a balancer that gathers its changes differ by
// seconds, and the mean is too short for each that is longer.
func TestUntilCollectionKnowsTheLongestTurn(t *testing.T) {
	l := &turnLoad{replicas: 2, turns: 1}
	for range 20 {
		l.learn(time.Second, true)
	}
	if wait := l.untilCollection(l.held(0)); wait != time.Second {
		t.Errorf("%v until the collection where each turn takes a second", wait)
	}
	l.learn(time.Minute, true)
	if wait := l.untilCollection(l.held(0)); wait > 3*time.Second {
		t.Errorf("%v until the collection after one of a minute", wait)
	}
	for i := range 60 {
		l.learn(time.Second, true)
		if i%3 == 2 {
			l.learn(3*time.Second, true)
		}
		if wait := l.untilCollection(l.held(0)); i > 20 && wait < 2*time.Second {
			t.Errorf("%v until the collection where one turn in four takes 3s", wait)
		}
	}
	for range 20 {
		l.learn(time.Second, true)
	}
	if wait := l.untilCollection(l.held(0)); wait > 1100*time.Millisecond {
		t.Errorf("%v until the collection where none was longer for a while", wait)
	}
	l = &turnLoad{}
	l.learn(time.Second, true)
	l.learn(3*time.Second, true)
	if wait := l.untilCollection(l.held(0)); wait != 0 {
		t.Errorf("%v until the collection without others", wait)
	}
}

func TestGoEarly(t *testing.T) {
	const live = 100 * mib
	for _, tt := range []struct {
		rate       float64 // MiB a second
		held, wait time.Duration
		want       uint64 // MiB
	}{
		{100, 100 * time.Millisecond, 0, 200},
		{100, 100 * time.Millisecond, 300 * time.Millisecond, 200}, // 275 - 30 is above the trigger
		{500, 50 * time.Millisecond, 300 * time.Millisecond, 125},  // it may not be earlier
		{300, 100 * time.Millisecond, 300 * time.Millisecond, 185},
		{600, 200 * time.Millisecond, 300 * time.Millisecond, 130}, // four fifths of the time drained
		{2000, 300 * time.Millisecond, 300 * time.Millisecond, 200},
	} {
		th := thresholds{live: live, trigger: 2 * live, hard: 275 * mib, highestIdle: 130 * mib}
		th.leaveTime(tt.rate*mib, tt.held, tt.wait)
		if th.trigger/mib != tt.want || th.idle > th.trigger {
			t.Errorf("%+v: trigger %d MiB, idle %d MiB", tt, th.trigger/mib, th.idle/mib)
		}
	}
}

// TestHoldingUntilTheRelease: a replica that serves again holds its turn until its peer has it
// back, and one that collects without a turn holds none.
func TestHoldingUntilTheRelease(t *testing.T) {
	s, turns := &fakeSignal{}, &fakeTurns{}
	inTime(t, Options{Signals: []Signal{s}, Turns: turns, Jitter: -1, HoldTurn: 3 * time.Second},
		func(t *testing.T, r *rig) {
			want := func(when string, n int) {
				t.Helper()
				if synctest.Wait(); r.Stats().Turn.Holding != n || turns.holders() != n {
					t.Errorf("%s: says that it holds %d turns, want %d; held %d", when,
						r.Stats().Turn.Holding, n, turns.holders())
				}
			}
			r.heap.Do(func() { r.heap.Rate = 20 * mib })
			want("at first", 0)
			r.until(t, StateCollecting)
			want("collecting", 1)
			r.heap.Do(func() { r.heap.Rate = 0 })
			r.until(t, StateServing)
			want("serving again", 1)
			time.Sleep(4 * time.Second)
			want("seconds later", 0)
			turns.mu.Lock()
			turns.err = ErrHeld
			turns.mu.Unlock()
			r.heap.Do(func() { r.heap.Rate = 20 * mib })
			r.until(t, StateCollecting)
			want("without a turn", 0)
		})
}
