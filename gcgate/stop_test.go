package gcgate

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
)

// Stop stops the gate, however long that takes.
func (r *rig) Stop() { r.Gate.Stop(context.Background()) }

// hangingSignal hangs in the methods that it names, whatever their context says.
type hangingSignal struct {
	fakeSignal
	drain, ready bool
	wake         chan struct{}
}

func (s *hangingSignal) Drain(ctx context.Context, d time.Duration) error {
	if s.drain {
		<-s.wake
	}
	return s.fakeSignal.Drain(ctx, d)
}

func (s *hangingSignal) Ready(ctx context.Context) error {
	if s.ready {
		<-s.wake
	}
	return s.fakeSignal.Ready(ctx)
}

// hangingWatcher hangs in Watch.
type hangingWatcher struct {
	fakeSignal
	wake chan struct{}
}

func (s *hangingWatcher) Watch(context.Context, *Gate) { <-s.wake }

// hangingQueue hangs in Acquire, hangingLease in Release.
type hangingQueue struct{ hangingTurns }

func (q *hangingQueue) Acquire(ctx context.Context) (Lease, error) { return q.TryAcquire(ctx) }

type hangingLease struct{ wake chan struct{} }

func (l *hangingLease) TryAcquire(context.Context) (Lease, error) { return l, nil }
func (l *hangingLease) Lost() <-chan struct{}                     { return nil }

func (l *hangingLease) Release(context.Context) error {
	<-l.wake
	return nil
}

// hangingTurns hang.
type hangingTurns struct{ wake chan struct{} }

func (t *hangingTurns) TryAcquire(context.Context) (Lease, error) {
	<-t.wake
	return nil, errors.New("too late")
}

// TestStopIsBounded: whatever of the user's code hangs, Stop returns when its context ends, and the
// collector is the runtime's again. Then it may be another gate's: what hung
// changes nothing any more.
func TestStopIsBounded(t *testing.T) {
	for _, c := range []struct {
		name    string
		options func(wake chan struct{}) Options
		state   State // in which the gate stops
		says    string
	}{
		{"Drain", func(wake chan struct{}) Options {
			return Options{Signals: []Signal{&hangingSignal{drain: true, wake: wake}}}
		}, StateAnnouncing, "the peer of fake"},
		{"Ready", func(wake chan struct{}) Options {
			return Options{Signals: []Signal{&hangingSignal{ready: true, wake: wake}}}
		}, StateServing, "has not returned"},
		{"TryAcquire", func(wake chan struct{}) Options {
			return Options{Signals: []Signal{&fakeSignal{}}, Turns: &hangingTurns{wake}}
		}, StateWanting, "has not returned"},
		{"Acquire", func(wake chan struct{}) Options {
			return Options{Signals: []Signal{&fakeSignal{}}, Turns: &hangingQueue{hangingTurns{wake}}}
		}, StateWanting, "has not returned"},
		{"Release", func(wake chan struct{}) Options {
			return Options{Signals: []Signal{&fakeSignal{}}, Turns: &hangingLease{wake}}
		}, StateCollecting, "has not returned"},
		{"Watch", func(wake chan struct{}) Options {
			return Options{Signals: []Signal{&hangingWatcher{wake: wake}}}
		}, StateServing, "has not returned"},
		{"OnEvent", func(wake chan struct{}) Options {
			return Options{Policy: PolicyThrough, OnEvent: func(Event) { <-wake }}
		}, StateWanting, "has not returned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wake := make(chan struct{})
				o := c.options(wake)
				h, freed := gcgatetest.NewHeap(), 0
				r := &rig{heap: &countedHeap{Heap: h}}
				o.Logger = slog.New(slog.NewTextHandler(&r.logged, nil))
				o.Collector, o.DisableTurns = h, o.Turns == nil
				o, err := o.withDefaults()
				if err != nil {
					t.Fatal(err)
				}
				if r.Gate, err = start(t.Context(), o, func() { freed++ }); err != nil {
					t.Fatal(err)
				}
				r.until(t, c.state)
				time.Sleep(20 * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				stopped := time.Now()
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) ||
					time.Since(stopped) != 3*time.Second || !strings.Contains(err.Error(), c.says) {
					t.Errorf("Stop: %v after %v, want the deadline at 3s and %q", err, time.Since(stopped), c.says)
				}
				h.Do(func() {
					if h.Percent != 100 || h.Limit != math.MaxInt64 {
						t.Errorf("GOGC is %d, the limit %d: not what it was", h.Percent, h.Limit)
					}
				})
				if freed != 1 {
					t.Errorf("another gate may start: %d times, want once", freed)
				}
				next := startRig(t, Options{Policy: PolicyThrough}, h)
				var percent int
				var limit int64
				h.Do(func() { percent, limit = h.Percent, h.Limit })
				if percent != -1 || limit == math.MaxInt64 {
					t.Errorf("the next gate is not in charge: GOGC is %d, the limit %d", percent, limit)
				}
				close(wake)
				if err := r.Gate.Stop(t.Context()); err != nil {
					t.Errorf("Stop once nothing hangs: %v", err)
				}
				time.Sleep(time.Second) // a collection that runs ends
				h.Do(func() {
					if h.Percent != percent || h.Limit != limit || freed != 1 {
						t.Errorf("under the next gate GOGC is %d, the limit %d, want %d and %d; freed %d times",
							h.Percent, h.Limit,
							percent, limit, freed)
					}
				})
				next.Stop()
				time.Sleep(time.Second)
				h.Do(func() {
					if h.Percent != 100 || h.Limit != math.MaxInt64 {
						t.Errorf("in the end GOGC is %d, the limit %d: not what it was before the first", h.Percent,
							h.Limit)
					}
				})
			})
		})
	}
}

// TestCollectLeavesNoWaiter: who gives up waiting for a collection is forgotten.
func TestCollectLeavesNoWaiter(t *testing.T) {
	turns := &fakeTurns{}
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Turns: turns}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		other, _ := turns.TryAcquire(t.Context())
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := r.Collect(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Collect: %v, want its deadline", err)
			}
			cancel()
		}
		if n := len(r.waiters.now()); n != 0 {
			t.Errorf("%d of 1000 waiters stayed", n)
		}
		other.Release(t.Context())
		r.until(t, StateServing)
		if err := r.Collect(t.Context()); err != nil { // and the gate goes on
			t.Error(err)
		}
	})
}

func TestZeroTicket(t *testing.T) {
	var ticket Ticket
	ticket.Exit() // must not panic
	ticket.Exit()
}

// TestSecondExit panics, as a WaitGroup's Done does, and leaves the count right.
func TestSecondExit(t *testing.T) {
	c := newCounter()
	ticket := c.enter()
	ticket.Exit()
	panicked := func() (what any) {
		defer func() { what = recover() }()
		ticket.Exit()
		return nil
	}()
	if panicked == nil {
		t.Error("a second Exit does not panic")
	}
	c.enter().Exit()
	if inFlight, entered := c.read(); inFlight != 0 || entered != 2 {
		t.Errorf("%d in flight of %d, want 0 of 2", inFlight, entered)
	}
}

// TestStopKeepsTheTurnUntilPeersCameBack: a gate that stops is as far off as any to a peer that
// has this process out.
func TestStopKeepsTheTurnUntilPeersCameBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		takes time.Duration // each call, from the drain on
		err   error         // of each call, from the drain on
		held  time.Duration // after the stop
	}{
		{"shed", Options{Policy: PolicyShed}, 0, nil, 2 * time.Second},
		{"a peer that is slow", Options{Policy: PolicyDrain}, 4 * time.Second, nil, 4 * time.Second},
		{"a peer that is silent", Options{Policy: PolicyDrain}, time.Hour, nil, backTimeout},
		{"a peer that refuses", Options{Policy: PolicyDrain}, 0, errPeer, silentAtStop},
		{"a peer that answers", Options{Policy: PolicyDrain}, 0, ErrNotBack, stopTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			turns := &fakeTurns{}
			c.o.Turns = turns
			s := &fakeSignal{}
			if c.o.Policy == PolicyDrain {
				c.o.Signals = []Signal{s}
			}
			inTime(t, c.o, func(t *testing.T, r *rig) {
				r.traffic()
				r.until(t, StateDraining)
				s.set(func() { s.takes, s.err = c.takes, c.err })
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				stopped := time.Now()
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || turns.holders() != 1 {
					t.Errorf("Stop: %v after %v, turns held: %d", err, time.Since(stopped), turns.holders())
				}
				r.Stop()
				if took := time.Since(stopped); turns.holders() != 0 || took < c.held ||
					took > c.held+readyTimeout+100*time.Millisecond {
					t.Errorf("the turn was held for %v, want %v", took, c.held)
				}
				lost := c.err != nil || c.takes > backTimeout
				if says := strings.Contains(r.logged.String(),
					"does not have this replica back; the turn goes to the next one"); says != lost {
					t.Errorf("the log says so: %v\n%s", says, r.logged.String())
				}
				if says := strings.Contains(r.logged.String(), "took long to have this process back") &&
					strings.Contains(r.logged.String(), "unhealthy_interval"); says != (c.takes == 4*time.Second) {
					t.Errorf("the log says what to set in Envoy, too: %v\n%s", says, r.logged.String())
				}
			})
		})
	}
}

// TestTurnIsHeldForPeersThatMayHaveActed: a drain that was not confirmed may have been heard.
func TestTurnIsHeldForPeersThatMayHaveActed(t *testing.T) {
	s, turns := &fakeSignal{}, &fakeTurns{}
	inTime(t, Options{Signals: []Signal{s}, Turns: turns}, func(t *testing.T, r *rig) {
		r.traffic()
		time.Sleep(500 * time.Millisecond)
		s.set(func() { s.takes = 3 * time.Second }) // longer than AnnounceTimeout, and than a call of Drain
		r.until(t, StateCollecting)
		r.until(t, StateServing)
		// or the next collection may take the turn at the very moment when it is free
		r.heap.Do(func() { r.heap.Rate = 0 })
		begin := time.Now()
		if turns.holders() != 1 {
			t.Fatal("the turn was released, and the peer has not said that it has this process back")
		}
		for turns.holders() > 0 {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(begin); took < 1900*time.Millisecond || took > 3100*time.Millisecond || s.isDrained() {
			t.Errorf("held for %v more, drained %v", took, s.isDrained())
		}
		r.heap.Do(func() { r.heap.Rate = 50 * mib })
		s.set(func() { s.takes = time.Hour })
		for r.Stats().WithoutTurn == 0 {
			time.Sleep(time.Millisecond)
		}
		if log := r.logged.String(); !strings.Contains(log, "this process holds the turn itself") {
			t.Errorf("the log does not say who holds the turn:\n%s", log)
		}
	})
}

// TestStopAgain: a gate that has stopped has stopped, whatever the context of another Stop.
func TestStopAgain(t *testing.T) {
	inTime(t, Options{Policy: PolicyThrough}, func(t *testing.T, r *rig) {
		r.Stop()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			if err := r.Gate.Stop(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestStopWaitsForPeersWithoutATurn: a gate that stops does not leave a peer behind that has this
// process out, with no gate to tell it.
func TestStopWaitsForPeersWithoutATurn(t *testing.T) {
	for _, at := range []State{StateDraining, StateServing} {
		t.Run(at.String(), func(t *testing.T) {
			a, b := &fakeSignal{}, &safeSignal{}
			inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{a, b}}, func(t *testing.T, r *rig) {
				r.traffic()
				r.until(t, StateDraining)
				for _, s := range []*fakeSignal{a, &b.fakeSignal} {
					s.set(func() { s.err = errPeer }) // a balancer's socket is down for a time
					defer time.AfterFunc(1500*time.Millisecond, func() { s.set(func() { s.err = nil }) }).Stop()
				}
				r.until(t, at)
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				begin := time.Now()
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) ||
					time.Since(begin) != 200*time.Millisecond {
					t.Errorf("Stop: %v after %v, want its deadline", err, time.Since(begin))
				}
				if r.Stop(); a.isDrained() || b.isDrained() {
					t.Errorf("stopped after %v, and the peers have this process out: %v, %v", time.Since(begin),
						a.isDrained(), b.isDrained())
				}
				if log := r.logged.String(); strings.Contains(log, "stopped before a peer") {
					t.Errorf("they have confirmed:\n%s", log)
				}
			})
		})
	}
}

// TestStopDoesNotWaitForLostPeers: the bound is one for all of them.
func TestStopDoesNotWaitForLostPeers(t *testing.T) {
	a, b := &fakeSignal{}, &fakeSignal{}
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{a, b}}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateCollecting)
		for _, s := range []*fakeSignal{a, b} {
			s.set(func() { s.err = errPeer })
		}
		r.until(t, StateServing)
		begin := time.Now()
		r.Stop()
		if took := time.Since(begin); took > silentAtStop {
			t.Errorf("waited %v for peers that are lost, want %v at most", took, silentAtStop)
		}
		if log := r.logged.String(); strings.Count(log, "stopped before a peer") != 2 {
			t.Errorf("the log does not name both:\n%s", log)
		}
	})
}

// TestStopDoesNotWaitForPeersThatWereNotAsked: it has nothing to take back.
func TestStopDoesNotWaitForPeersThatWereNotAsked(t *testing.T) {
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{&fakeSignal{err: errPeer}}}, func(t *testing.T, r *rig) {
		time.Sleep(10 * time.Second)
		begin := time.Now()
		if r.Stop(); time.Since(begin) > time.Second {
			t.Errorf("Stop took %v", time.Since(begin))
		}
	})
}

// TestTurnIsNotHeldForPeersThatNeedNone: two may be out at once to them.
func TestTurnIsNotHeldForPeersThatNeedNone(t *testing.T) {
	s, turns := &safeSignal{}, &fakeTurns{}
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{s}, Turns: turns}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateCollecting)
		s.set(func() { s.err = errPeer })
		r.heap.Do(func() { r.heap.Rate = 0 })
		r.until(t, StateServing)
		if synctest.Wait(); turns.holders() != 0 || !s.isDrained() {
			t.Errorf("the turn is held: %v; the peer has this process out: %v", turns.holders() != 0, s.isDrained())
		}
		s.set(func() { s.err = nil })
	})
}

// TestStopOfHangingGateWhileDrained: where OnEvent does not return, Stop ends the refusals and has
// the peers asked to put this process back, and what the control goroutine does later changes
// nothing of that.
func TestStopOfHangingGateWhileDrained(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		at   State // in which OnEvent hangs
	}{
		{"shed", Options{Policy: PolicyShed}, StateDraining},
		{"shed, about to", Options{Policy: PolicyShed}, StateAnnouncing},
		{"drain", Options{Policy: PolicyDrain}, StateDraining},
		{"drain, about to", Options{Policy: PolicyDrain}, StateAnnouncing},
		{"shed and drain", Options{Policy: PolicyShed, Signals: []Signal{}}, StateCollecting},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, turns, wake := &fakeSignal{}, &fakeTurns{}, make(chan struct{})
				o := c.o
				o.Turns, o.HoldTurn = turns, time.Millisecond
				if o.Policy == PolicyDrain || o.Signals != nil {
					o.Signals = []Signal{s}
				}
				h := gcgatetest.NewHeap()
				r := &rig{heap: &countedHeap{Heap: h}}
				o.Logger, o.Collector = slog.New(slog.NewTextHandler(&r.logged, nil)), h
				o.OnEvent = func(e Event) {
					if e.State == c.at {
						<-wake
					}
				}
				var err error
				if r.Gate, err = Start(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				r.until(t, c.at)
				time.Sleep(time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Stop: %v, want its deadline", err)
				}
				readys, drains := 0, 0
				check := func(when string) {
					t.Helper()
					if r.Refusing() || r.Remaining() != 0 || s.isDrained() {
						t.Errorf("%s: refusing %v, out for %v, out to the peer: %v", when, r.Refusing(),
							r.Remaining(), s.isDrained())
					}
				}
				synctest.Wait()
				check("after Stop")
				s.set(func() { readys, drains = s.readys, s.drains })
				time.Sleep(time.Second)
				check("later")
				if err := r.Gate.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Stop again: %v, want its deadline", err)
				}
				close(wake)
				for range 5 {
					check("while it goes on")
					time.Sleep(time.Millisecond)
				}
				r.Stop()
				check("in the end")
				s.set(func() {
					if s.drains != drains || s.readys > readys+1 || c.at != StateAnnouncing && s.readys != readys {
						t.Errorf("after Stop the peer got %d drains and %d times ready more",
							s.drains-drains, s.readys-readys)
					}
				})
				if turns.holders() != 0 {
					t.Error("the turn is held")
				}
				time.Sleep(time.Second) // a collection that runs ends
			})
		})
	}
}
