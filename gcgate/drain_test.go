package gcgate

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// ineffectiveSignal confirms a drain at once, and its peer goes on sending.
type ineffectiveSignal struct{ fakeSignal }

func (*ineffectiveSignal) WhyIgnored() string { return "update_merge_window" }

// send sends a short request each pause until the gate stops, to a process in rotation, and to
// one that is for as long as ignores says.
func (r *rig) send(pause time.Duration, ignores func(out time.Duration) bool) {
	go func() {
		var left time.Time // zero: in rotation
		for !r.stopping.Load() {
			switch out := r.status.out(); {
			case !out:
				left = time.Time{}
			case left.IsZero():
				left = time.Now()
			}
			if left.IsZero() || ignores(time.Since(left)) {
				r.Enter().Exit()
			}
			time.Sleep(pause)
		}
	}()
}

// TestDrainWithoutEffect is warned of in the first collection, and waited for up to the hard
// threshold.
func TestDrainWithoutEffect(t *testing.T) {
	const late = 1600 * time.Millisecond // Envoy's update_merge_window is a second
	for _, c := range []struct {
		name     string
		signal   Signal
		ignores  func(out time.Duration) bool
		warned   bool
		from, to time.Duration // of the first drain
		overlaps bool          // requests overlap the collection
	}{
		{
			"requests stop", &ineffectiveSignal{}, func(time.Duration) bool { return false }, false, 0,
			20 * time.Millisecond, false,
		},
		{
			"some were under way", &ineffectiveSignal{},
			func(out time.Duration) bool { return out < 30*time.Millisecond },
			false, 0, 60 * time.Millisecond, false,
		},
		{
			"late", &ineffectiveSignal{}, func(out time.Duration) bool { return out < late }, true, late,
			late + quietMax + 10*time.Millisecond, false,
		},
		{
			"never", &ineffectiveSignal{}, func(time.Duration) bool { return true }, true, 3 * time.Second,
			4 * time.Second, true,
		},
		{
			"not confirmed", &fakeSignal{takes: 3 * time.Second}, func(time.Duration) bool { return true }, false,
			100 * time.Millisecond, 105 * time.Millisecond, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, Options{Signals: []Signal{c.signal}, Jitter: -1}, func(t *testing.T, r *rig) {
				r.heap.Do(func() { r.heap.Rate = 20 * mib }) // 3.75 s from the trigger to the hard threshold
				r.send(time.Millisecond, c.ignores)
				r.until(t, StateCollecting)
				log := r.logged.String()
				if warned := strings.Contains(log, "requests keep coming"); warned != c.warned ||
					warned && !strings.Contains(log, "update_merge_window; or clients that keep") {
					t.Errorf("before it collects the log says:\n%s", log)
				}
				r.until(t, StateServing)
				s := r.Stats()
				if drained := s.Phases[StateDraining].Total; drained < c.from || drained > c.to {
					t.Errorf("drained for %v, want %v to %v", drained, c.from, c.to)
				}
				if s.IgnoredDrains != map[bool]uint64{true: 1}[c.warned] ||
					(s.Overlapped > 0) != c.overlaps || s.Heap > s.Hard {
					t.Errorf("stats %+v", s)
				}
			})
		})
	}
}

// TestIgnoringPeerIsNotWaitedForEachTime: the wait is left out for a minute where ten seconds of
// it, which are three collections here, did not help, so that the turn is not held for seconds for
// nothing, and each collection is counted.
func TestIgnoringPeerIsNotWaitedForEachTime(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&ineffectiveSignal{}}, Jitter: -1}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 20 * mib })
		r.send(time.Millisecond, func(time.Duration) bool { return true })
		drained := func() time.Duration {
			before := r.Stats().Phases[StateDraining].Total
			r.until(t, StateCollecting)
			r.until(t, StateServing)
			return r.Stats().Phases[StateDraining].Total - before
		}
		// untilIgnored returns how long collections waited, until one did not.
		untilIgnored := func() (waited time.Duration) {
			for n := 0; n < 6; n++ {
				d := drained()
				if waited += d; d <= 105*time.Millisecond {
					break
				}
			}
			return waited
		}
		if waited := untilIgnored(); waited < lateLimit || waited > lateLimit+time.Second {
			t.Errorf("waited for %v, want %v and the usual bounds", waited, lateLimit)
		}
		ignored := time.Now()
		for drained() <= 105*time.Millisecond {
			if time.Since(ignored) > 2*lateAgain {
				t.Fatal("it never waits again")
			}
		}
		if after := time.Since(ignored); after < lateAgain-10*time.Second {
			t.Errorf("it waits again after %v, want a minute", after)
		}
		var collections uint64
		s := r.Stats()
		for _, n := range s.Collections {
			collections += n
		}
		if s.IgnoredDrains != collections {
			t.Errorf("of %d collections %d were not followed", collections, s.IgnoredDrains)
		}
	})
}

// TestPeerThatActsAfterTheHardThreshold is waited for at the next collection all the same, which
// begins as much earlier as that takes, from the announcement on.
func TestPeerThatActsAfterTheHardThreshold(t *testing.T) {
	const late = 1600 * time.Millisecond
	for _, announcing := range []time.Duration{0, 40 * time.Millisecond, 90 * time.Millisecond} {
		s := &ineffectiveSignal{fakeSignal{takes: announcing}}
		inTime(t, Options{Signals: []Signal{s}, Jitter: -1}, func(t *testing.T, r *rig) {
			r.heap.Do(func() { r.heap.Rate = 80 * mib }) // 0.94 s from the trigger to the hard threshold
			r.send(time.Millisecond, func(out time.Duration) bool { return out < announcing+late })
			first := uint64(0)
			for n := range 10 {
				r.until(t, StateCollecting)
				r.until(t, StateServing)
				if n == 0 {
					first = r.Stats().Overlapped
				}
			}
			if overlapped := r.Stats().Overlapped - first; first == 0 || overlapped > 0 {
				t.Errorf("announced in %v: the first collection overlapped %d requests, those after it "+
					"%d: want some, and none",
					announcing, first, overlapped)
			}
		})
	}
}

// TestPauseIsNoEnd: a pause of the clients', in a long wait for a peer that acts late, is not taken
// for the end of the requests.
func TestPauseIsNoEnd(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&ineffectiveSignal{}}, Jitter: -1}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 50 * mib })
		var pause atomic.Int64 // when
		pause.Store(int64(500 * time.Millisecond))
		r.send(time.Millisecond, func(out time.Duration) bool {
			return out < time.Second && (out < time.Duration(pause.Load()) ||
				out > time.Duration(pause.Load())+20*time.Millisecond)
		})
		for range 3 {
			r.until(t, StateCollecting)
			r.until(t, StateServing)
			if s := r.Stats(); s.Overlapped > 0 {
				t.Fatalf("%d requests overlapped the collection, which began after %v", s.Overlapped,
					s.Phases[StateDraining].Max)
			}
			pause.Store(int64(20 * time.Millisecond)) // what was learned counts from the beginning
		}
	})
}

// TestFewRequestsThatNoPeerStops: at ten a second no pause before a collection tells anything, but
// those that come during it do.
func TestFewRequestsThatNoPeerStops(t *testing.T) {
	inTime(t, Options{Signals: []Signal{&ineffectiveSignal{}}, Jitter: -1}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Mark = 500 * time.Millisecond })
		r.send(100*time.Millisecond, func(time.Duration) bool { return true })
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		if s := r.Stats(); s.IgnoredDrains != 1 || s.Overlapped < 4 ||
			!strings.Contains(r.logged.String(), "requests keep coming") {
			t.Errorf("stats %+v\n%s", s, r.logged.String())
		}
	})
}

// TestFewRequestsInShortCollections add up over collections, where no single one overlaps enough to
// tell; and where they stop, the few that come all the same over many collections do not.
func TestFewRequestsInShortCollections(t *testing.T) {
	for _, c := range []struct {
		name    string
		stop    bool
		ignored bool
	}{
		{"they keep coming", false, true},
		{"they stop, but for a late one now and then", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, Options{Signals: []Signal{&ineffectiveSignal{}}, Jitter: -1, Period: -1},
				func(t *testing.T, r *rig) {
					r.heap.Do(func() { r.heap.Rate, r.heap.Mark = 0, 20*time.Millisecond })
					r.send(35*time.Millisecond, func(time.Duration) bool { return !c.stop }) // 29 a second
					late := 0
					r.onEvent(func(e Event) {
						if late++; c.stop && e.State == StateCollecting && late%64 == 3 {
							time.AfterFunc(10*time.Millisecond, func() { r.Enter().Exit() })
						}
					})
					var warned uint64
					for n := uint64(1); n <= 200; n++ {
						time.Sleep(997 * time.Millisecond)
						if err := r.Collect(t.Context()); err != nil {
							t.Fatal(err)
						}
						if warned = r.Stats().IgnoredDrains; warned > 0 {
							if n == 1 {
								t.Error("one collection was enough: this test shows nothing")
							}
							break
						}
					}
					if log := r.logged.String(); (warned > 0) != c.ignored ||
						strings.Contains(log, "requests keep coming") != c.ignored {
						t.Errorf("%d not followed, and the log says:\n%s", warned, log)
					}
				})
		})
	}
}

// TestOneLookIsNoSilence: who had no processor for a while may run before those who have yet to
// read their sockets.
func TestOneLookIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wanted := range []time.Duration{quietMin, quietMax} {
			entered := uint32(0)
			now := time.Now()
			read := func() (int, uint32) { return 0, entered }
			q := &quietWatch{read: read, wanted: wanted, since: now, entered: entered, looked: now}
			for range 5 {
				time.Sleep(tick)
				entered++
				q.look()
			}
			time.Sleep(10 * wanted)
			if q.look() {
				t.Errorf("%v of silence are proved by one look", wanted)
			}
			n := 0
			for ; !q.look(); n++ {
				time.Sleep(tick)
			}
			if time.Duration(n)*tick > wanted {
				t.Errorf("%v of silence took %d looks more, each %v", wanted, n, tick)
			}
		}
	})
}

// TestStallIsNoFutileWait: a process that was stopped while it waited for a peer that acts
// late waits for it the next time, too.
func TestStallIsNoFutileWait(t *testing.T) {
	const late = 1600 * time.Millisecond
	h := new(stalling)
	heap := func() *gcgatetest.Heap {
		h.Heap = gcgatetest.NewHeap()
		h.Heap.Rate = 20 * mib
		return h.Heap
	}
	inTimeOver(t, Options{Signals: []Signal{&ineffectiveSignal{}}, Jitter: -1, Collector: h}, heap,
		func(t *testing.T, r *rig) {
			r.send(time.Millisecond, func(out time.Duration) bool { return out < late })
			r.until(t, StateDraining)
			time.Sleep(300 * time.Millisecond)
			r.heap.Do(func() { r.heap.Rate = 0 })
			h.still.Store(int64(20 * time.Second))
			time.Sleep(20 * time.Second)
			r.heap.Do(func() { r.heap.Rate = 20 * mib })
			for range 8 {
				r.until(t, StateCollecting)
				r.until(t, StateServing)
			}
			if overlapped := r.Stats().Overlapped; overlapped > 0 {
				t.Errorf("%d requests overlapped a collection", overlapped)
			}
		})
}

// TestQuietForFollowsTheRate of requests, within bounds.
func TestQuietForFollowsTheRate(t *testing.T) {
	for _, c := range []struct {
		perSecond float64
		want      time.Duration
		refusing  bool
	}{
		{0, 50 * time.Millisecond, false},
		{10, 50 * time.Millisecond, false},
		{200, 50 * time.Millisecond, false},
		{200, 2 * time.Millisecond, true},
		{1000, 10 * time.Millisecond, false},
		{5000, 2 * time.Millisecond, false},
		{10_000, 2 * time.Millisecond, false},
	} {
		rs := &rounds{shared: &shared{status: &status{}}, heap: &heapWatch{}}
		rs.status.refusing.Store(c.refusing)
		if got := rs.quietFor(c.perSecond); got != c.want {
			t.Errorf("at %g a second: %v, want %v", c.perSecond, got, c.want)
		}
	}
}

// keepingSignal confirms a drain at once, and its peer goes on sending, as it shall.
type keepingSignal struct{ fakeSignal }

func (*keepingSignal) Describe() Description { return Description{KeepsRequests: true} }

// TestRequestsThatStay are no reason to warn, nor to wait for longer than for any that are in
// flight: the peer is not to send them elsewhere, or cannot. Others that come beside them are one.
func TestRequestsThatStay(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals []Signal
		late    time.Duration
		ignored bool
	}{
		{"a signal that keeps them", []Signal{&keepingSignal{}}, time.Hour, false},
		{
			"one that does, and one that does not",
			[]Signal{&keepingSignal{}, &ineffectiveSignal{}},
			time.Second, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, Options{Signals: c.signals, Jitter: -1}, func(t *testing.T, r *rig) {
				r.heap.Do(func() { r.heap.Rate = 20 * mib }) // 3.75 s from the trigger to the hard threshold
				r.send(time.Millisecond, func(out time.Duration) bool { return out < c.late })
				r.until(t, StateCollecting)
				r.until(t, StateServing)
				most := 105 * time.Millisecond
				if c.ignored {
					most += c.late
				}
				s := r.Stats()
				if warned := strings.Contains(r.logged.String(), "requests keep coming"); warned != c.ignored ||
					(s.IgnoredDrains > 0) != c.ignored {
					t.Errorf("%d not followed, the log:\n%s", s.IgnoredDrains, r.logged.String())
				}
				if d := s.Phases[StateDraining].Total; d > most {
					t.Errorf("drained for %v, want %v at most", d, most)
				}
			})
		})
	}
}

// TestSilenceOfBefore counts if no peer is asked to send requests elsewhere, as a follower's in a
// group that has none: the turn is free earlier. Else the last ones may be on their way still.
func TestSilenceOfBefore(t *testing.T) {
	for _, c := range []struct {
		name  string
		with  []Signal
		quick bool
	}{
		{"a signal that keeps requests", []Signal{&keepingSignal{}}, true},
		{"one that does not", []Signal{&fakeSignal{}}, false},
		{"both", []Signal{&keepingSignal{}, &fakeSignal{}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, Options{Signals: c.with, Jitter: -1, Policy: PolicyDrain, IdleRatio: 2},
				func(t *testing.T, r *rig) {
					r.until(t, StateCollecting)
					if d := r.Stats().Phases[StateDraining].Total; d < 2*tick != c.quick {
						t.Errorf("without a request it drained for %v", d)
					}
					r.until(t, StateServing)
					ticket := r.Enter() // one that runs is waited for
					time.Sleep(time.Second)
					r.until(t, StateDraining)
					time.Sleep(20 * time.Millisecond)
					if s := r.State(); s != StateDraining {
						t.Errorf("%v while a request runs", s)
					}
					ticket.Exit()
				})
		})
	}
}

// TestDrainEndsAtTheHardThreshold, as announcing does, whatever the options allow, and the next
// collection does not begin so early that this process would be out of rotation nearly all the
// time.
func TestDrainEndsAtTheHardThreshold(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       Options
		hangs   bool // a request runs for ever
		takes   time.Duration
		traffic bool
		ignored bool // requests come all the same
	}{
		{"a long poll", Options{DrainTimeout: 10 * time.Second}, true, 0, false, false},
		{"a long poll, and requests", Options{DrainTimeout: 10 * time.Second}, true, 0, true, false},
		{"a peer that does not answer", Options{AnnounceTimeout: 10 * time.Second}, false, time.Hour, true, false},
		{"by turns", Options{DrainTimeout: 10 * time.Second, Turns: &fakeTurns{}}, true, 0, false, false},
		{"requests keep coming", Options{DrainTimeout: 10 * time.Second}, false, 0, false, true},
		{"requests keep coming, as is seen", Options{DrainTimeout: 2 * time.Second}, false, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Signals = []Signal{&fakeSignal{takes: c.takes}}
			inTime(t, c.o, func(t *testing.T, r *rig) {
				if c.hangs {
					r.Enter()
				}
				if c.traffic {
					r.traffic()
				}
				if c.ignored {
					r.send(time.Millisecond, func(time.Duration) bool { return true })
				}
				begin := time.Now()
				time.Sleep(time.Minute)
				s, all := r.Stats(), time.Since(begin)
				out, collections := time.Duration(0), uint64(0)
				for _, d := range s.Phases {
					out += d.Total
				}
				for _, n := range s.Collections {
					collections += n
				}
				share := 1 - float64(out)/float64(all)
				t.Logf("%d collections, serving for %.3f of the time", collections, share)
				if s.Escaped > 0 || share < 0.2 || collections < 20 {
					t.Errorf("%d collections of the runtime's own, %d of the gate's, serving for %.3f of the time\n%s",
						s.Escaped,
						collections, share, r.logged.String())
				}
			})
		})
	}
}
