package gcgate

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// leakRun is a process whose live heap grows.
type leakRun struct {
	live    uint64  // at first, in bytes
	group   int64   // limit of the control group, where the kernel kills it
	leak    float64 // bytes a second
	garbage float64 // bytes a second
	length  time.Duration
}

// leakSeen is what became of it.
type leakSeen struct {
	requests, overlapped int
	cycles               uint64
	killed               time.Duration // since its start; 0: it was not
	log                  string
}

// run runs it under a gate with options o, nil: without one. A request comes each millisecond,
// unless a balancer has the process out.
func (l leakRun) run(t *testing.T, o *Options) (seen leakSeen) {
	synctest.Test(t, func(t *testing.T) {
		h := gcgatetest.NewHeap()
		h.Live, h.Group, h.Rate = l.live, l.group, l.garbage+l.leak
		h.Mark = time.Duration(l.live) // a nanosecond for each byte
		h.Available = 16 << 30
		h.Do(h.EndCycle)
		r := &rig{heap: &countedHeap{Heap: h}}
		if o != nil {
			r = startRig(t, *o, h)
		}
		cycles := func() uint64 { n, _, _, _ := h.Read(); return n }
		before := cycles()
		began := time.Now()
		var came []time.Time // of requests, lately
		for last := before; time.Since(began) < l.length; time.Sleep(time.Millisecond) {
			now := time.Now()
			if o == nil || !r.status.out() {
				if seen.requests++; o != nil {
					r.Enter().Exit()
				}
				came = append(came, now)
			}
			if n := cycles(); n != last {
				for last = n; len(came) > 0; came = came[1:] {
					if age := now.Sub(came[0]); age > 0 && age <= h.Mark {
						seen.overlapped++
					}
				}
			}
			h.Do(func() {
				h.Live = l.live + uint64(l.leak*now.Sub(began).Seconds())
				h.Mark = time.Duration(h.Live)
			})
			if h.Mapped() > uint64(l.group) {
				seen.killed = now.Sub(began)
				break
			}
		}
		seen.cycles = cycles() - before
		if o != nil {
			r.Stop()
			seen.log = r.logged.String()
			h.Do(func() { h.Rate = 0 })
			for time.Sleep(time.Second); isCollecting(r.heap); {
				time.Sleep(time.Second)
			}
		}
	})
	return seen
}

// TestLeakUnderAControlGroup: a limit from the control group makes nothing worse where the live
// heap grows towards it. There are no more collections than without a gate, and the kernel kills
// the process no sooner. A collection that comes later marks more of such a heap.
func TestLeakUnderAControlGroup(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	for _, garbage := range []float64{0, 20} {
		for _, leak := range []float64{5, 20} {
			for _, times := range []float64{1.5, 2, 4} {
				l := leakRun{
					live: 100 * mib, group: int64(times * 100 * mib), leak: leak * mib,
					garbage: garbage * mib, length: time.Minute,
				}
				without := l.run(t, nil)
				for _, c := range []struct {
					o       Options
					more    uint64 // collections than without a gate
					drained bool   // while it collects
				}{
					{Options{}, 0, false},
					{Options{Signals: []Signal{&fakeSignal{}}, Jitter: -1}, math.MaxInt32, true},
					// which finds that the heap grows
					{Options{Policy: PolicyThrough, Jitter: -1}, 1, false},
					{Options{Signals: []Signal{&lastSignal{fakeSignal{err: errPeer}}}, Jitter: -1}, 1, false},
				} {
					with := l.run(t, &c.o)
					name := fmt.Sprintf("policy %v, %g and %g MiB of garbage and leak a second, limit "+
						"%g times the live heap",
						c.o.Policy, garbage, leak, times)
					if with.cycles > without.cycles+c.more || c.drained && with.overlapped > without.overlapped {
						t.Errorf("%s: %d collections, %d of %d requests overlapped; without a gate %d, and %d of %d",
							name,
							with.cycles, with.overlapped, with.requests, without.cycles,
							without.overlapped, without.requests)
					}
					if with.killed > 0 && (without.killed == 0 || with.killed < without.killed) {
						t.Errorf("%s: killed after %v, without a gate after %v", name, with.killed, without.killed)
					}
					if n := strings.Count(with.log, "the live heap grows"); n > 1 {
						t.Errorf("%s: the log says so %d times:\n%s", name, n, with.log)
					}
				}
			}
		}
	}
}

// TestLimitThatHelps is kept to: where the live heap does not grow, a process that has little room
// beside it lives, and without a gate it does not.
func TestLimitThatHelps(t *testing.T) {
	l := leakRun{live: 100 * mib, group: 150 * mib, garbage: 20 * mib, length: time.Minute}
	if l.run(t, nil).killed == 0 {
		t.Error("the process is not killed without a gate")
	}
	for _, o := range []Options{{Policy: PolicyThrough}, {Signals: []Signal{&fakeSignal{}}}} {
		if s := l.run(t, &o); s.killed > 0 || !strings.Contains(s.log, "no room above the live heap") ||
			strings.Contains(s.log, "grows") {
			t.Errorf("policy %v: killed after %v; the log:\n%s", o.Policy, s.killed, s.log)
		}
	}
}

// TestLeakThatEnds: the gate is in charge again, and says so.
func TestLeakThatEnds(t *testing.T) {
	heap := func() *gcgatetest.Heap {
		h := gcgatetest.NewHeap()
		h.Group = 1000 * mib
		return h
	}
	inTimeOver(t, Options{Signals: []Signal{&fakeSignal{}}}, heap, func(t *testing.T, r *rig) {
		r.traffic()
		for range 100 {
			time.Sleep(time.Second)
			r.heap.Do(func() { r.heap.Live += 6 * mib })
		}
		if percent, limit := r.heap.GOGC(), r.heap.SetLimit(-1); percent != 100 || limit != math.MaxInt64 {
			t.Errorf("the live heap grows: GOGC %d, limit %d", percent, limit)
		}
		r.heap.Do(func() { r.heap.Live = 100 * mib })
		time.Sleep(time.Minute)
		if percent, limit := r.heap.GOGC(), r.heap.SetLimit(-1); percent >= 0 || limit > 900*mib {
			t.Errorf("there is room again: GOGC %d, limit %d", percent, limit)
		}
		for _, want := range []string{"the live heap grows", "leaves room again"} {
			if log := r.logged.String(); strings.Count(log, want) != 1 {
				t.Errorf("%q is not once in the log:\n%s", want, log)
			}
		}
	})
}
