package gcgate

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fickleSignal is a fakeSignal that says whether it can be used.
type fickleSignal struct {
	fakeSignal
	cannot error
}

func (s *fickleSignal) CanConfirm(time.Duration) error { return s.cannot }

// TestSignalThatComesAndGoes does not fill the log; what it is in the end the log knows.
func TestSignalThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged logBuffer
		s := &fickleSignal{}
		a := newAnnouncer(s, slog.New(slog.NewTextHandler(&logged, nil)))
		set := func(cannot error) {
			s.cannot = cannot
			err := a.usable(time.Second)
			if !errors.Is(err, cannot) {
				t.Errorf("unusable for %v, it says %v", err, cannot)
			}
			a.use(err)
			time.Sleep(50 * time.Millisecond)
		}
		count := func() (cannot, again int) {
			log := logged.String()
			return strings.Count(log, "cannot be used now"), strings.Count(log, "is used again")
		}
		slow := errors.New("polled too seldom")
		for range 600 { // a minute
			set(slow)
			set(nil)
		}
		if cannot, again := count(); cannot != 1 || again != 1 {
			t.Errorf("in a minute the log says %d times that it cannot be used, %d times that it can, want 1 each",
				cannot,
				again)
		}
		for range 24_000 { // 20 minutes
			set(slow)
		}
		set(nil)
		if cannot, again := count(); cannot != 3 || again != 2 {
			t.Errorf("in 20 minutes more it says so %d and %d times, want 3 and 2", cannot, again)
		}
		for _, want := range []string{"times=12000", "times=24599"} {
			if !strings.Contains(logged.String(), want) {
				t.Errorf("the log does not say %s:\n%s", want, logged.String())
			}
		}
	})
}

// pausingSignal cannot be used for a time, which begins when it is asked.
type pausingSignal struct {
	fakeSignal
	pause time.Duration // guarded by mu
	since time.Time     // guarded by mu
}

func (s *pausingSignal) CanConfirm(time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if time.Since(s.since) < s.pause {
		return errors.New("polled too seldom")
	}
	return nil
}

// TestSignalThatPauses is waited for, up to the hard threshold and for a second, and once only.
func TestSignalThatPauses(t *testing.T) {
	for _, c := range []struct {
		name     string
		rate     float64 // MiB/s
		pause    time.Duration
		from, to time.Duration // that the collection waits
	}{
		{"for a moment", 20, 300 * time.Millisecond, 300 * time.Millisecond, 320 * time.Millisecond},
		{"for good", 20, time.Hour, time.Second, 1020 * time.Millisecond},
		{"and the heap fills", 1000, time.Hour, 50 * time.Millisecond, 900 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &pausingSignal{}
			inTime(t, Options{Signals: []Signal{s}, Jitter: -1}, func(t *testing.T, r *rig) {
				r.heap.Do(func() { r.heap.Rate = c.rate * mib })
				r.traffic()
				collect := func(pause time.Duration) (waited time.Duration, drained bool) {
					s.set(func() { s.pause, s.since, s.drains = pause, time.Time{}, 0 })
					before := r.Stats().Phases[StateWanting].Total
					r.until(t, StateCollecting)
					r.until(t, StateServing)
					s.set(func() { drained = s.drains > 0 })
					return r.Stats().Phases[StateWanting].Total - before, drained
				}
				const none = 5 * time.Millisecond
				if waited, drained := collect(0); waited > none || !drained {
					t.Errorf("while it can be used: waited %v, drained: %v", waited, drained)
				}
				comes := c.pause < time.Minute
				if waited, drained := collect(c.pause); waited < c.from || waited > c.to || drained != comes {
					t.Errorf("waited %v, drained: %v; want %v to %v, %v", waited, drained, c.from, c.to, comes)
				}
				if waited, drained := collect(c.pause); !comes && (waited > none || drained) {
					t.Errorf("it still cannot be used: waited %v again, drained: %v", waited, drained)
				}
				if s := r.Stats(); s.Heap > s.Hard {
					t.Errorf("it went over the hard threshold: %+v", s)
				}
			})
		})
	}
}

// TestNoticeIsSentOnce, also when it comes between the one that woke the announcer and its look at
// the newest.
func TestNoticeIsSentOnce(t *testing.T) {
	a := newAnnouncer(&fakeSignal{}, slog.New(slog.DiscardHandler))
	a.checkPeer(t.Context())
	<-a.posted // as run does
	n := a.post(true, time.Now())
	if sent, err := a.send(t.Context()); sent != n || err != nil {
		t.Fatalf("sent %v, %v; want the drain", sent, err)
	}
	if len(a.posted) != 0 {
		t.Error("the announcer would send it again at once")
	}
}

// boundedSignal has a bound of its own for collections without the turn.
type boundedSignal struct {
	fakeSignal
	patience time.Duration
	refuse   error // guarded by mu
	asked    int   // guarded by mu
}

func (s *boundedSignal) Describe() Description {
	return Description{DrainWithoutTurn: s.drainWithoutTurn}
}

func (s *boundedSignal) drainWithoutTurn() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.patience, s.refuse
}

// TestDrainWithoutTurn: the signal decides for each collection without the turn, and for no other.
func TestDrainWithoutTurn(t *testing.T) {
	s, turns := &boundedSignal{}, &fakeTurns{err: ErrHeld}
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{s}, Turns: turns, Jitter: -1},
		func(t *testing.T, r *rig) {
			r.traffic()
			collect := func(drained bool, asked int) {
				t.Helper()
				r.until(t, StateCollecting)
				if s.isDrained() != drained || s.asked != asked {
					t.Errorf("announced %v after %d questions, want %v and %d", s.isDrained(), s.asked, drained, asked)
				}
				r.until(t, StateServing)
				if synctest.Wait(); s.isDrained() {
					t.Error("it serves, and its peer does not know")
				}
			}
			collect(true, 1)
			s.set(func() { s.refuse = errors.New("two of three must stay") })
			collect(false, 2)
			s.set(func() { s.refuse = nil })
			collect(true, 3)
			turns.mu.Lock()
			turns.err = nil
			turns.mu.Unlock()
			collect(true, 3)
			if n := r.Stats().WithoutTurn; n != 3 {
				t.Errorf("%d collections without the turn, want 3", n)
			}
		})
}

// TestCollectWithoutTurn takes the turn where it is free, goes without it where it is not, and is
// one collection, also where the gate waits for the turn already.
func TestCollectWithoutTurn(t *testing.T) {
	for _, c := range []struct {
		name    string
		turns   Turns
		wanting bool
		without uint64 // a turn
	}{
		{"free", &fakeTurns{takes: 2 * time.Millisecond}, false, 0},
		{"held", &fakeTurns{err: ErrHeld}, false, 1},
		{"held, wanting", &fakeTurns{err: ErrHeld}, true, 1},
		{"no answer", &fakeTurns{takes: time.Hour}, false, 1},
		{"no answer, wanting", &fakeTurns{takes: time.Hour}, true, 1},
		{"a queue", neverServed{}, false, 1},
		{"a queue, wanting", neverServed{}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &boundedSignal{}
			inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{s}, Turns: c.turns, Period: -1},
				func(t *testing.T, r *rig) {
					r.heap.Do(func() { r.heap.Rate = 0 })
					if c.wanting {
						go func() { _ = r.Collect(t.Context()) }() // by the same collection
						r.until(t, StateWanting)
						time.Sleep(10 * time.Second)
					}
					begin := time.Now()
					if err := r.CollectWithoutTurn(t.Context()); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(begin); took > 200*time.Millisecond {
						t.Errorf("it took %v", took)
					}
					time.Sleep(time.Minute)
					if s := r.Stats(); s.Collections[ReasonRequested] != 1 || s.WithoutTurn != c.without ||
						r.State() != StateServing {
						t.Errorf("%+v, want one collection, %d without the turn", s, c.without)
					}
					if s.asked != int(c.without) || s.isDrained() {
						t.Errorf("the signal was asked %d times, and it is drained: %v", s.asked, s.isDrained())
					}
					if strings.Contains(r.logged.String(), "collecting without it") {
						t.Errorf("a warning of what was asked for:\n%s", r.logged.String())
					}
				})
		})
	}
}

// neverServed is a queue in which it is never anybody's turn.
type neverServed struct{}

func (neverServed) TryAcquire(context.Context) (Lease, error) { return nil, ErrHeld }
func (neverServed) Acquire(ctx context.Context) (Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestRoundWithoutTurnWaitsPastTheHardThreshold, where it begins, for as long as its signal wants it and
// the runtime does not begin by itself.
func TestRoundWithoutTurnWaitsPastTheHardThreshold(t *testing.T) {
	for _, c := range []struct {
		name     string
		takes    time.Duration
		from, to time.Duration
	}{
		{"until its peers have acted", 500 * time.Millisecond, 500 * time.Millisecond, 600 * time.Millisecond},
		{"at most", time.Hour, 250 * time.Millisecond, 3 * time.Second}, // 100 MiB a second
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &boundedSignal{fakeSignal: fakeSignal{takes: c.takes}, patience: time.Minute}
			o := Options{
				Policy: PolicyDrain, Signals: []Signal{s},
				Turns: &fakeTurns{err: ErrHeld}, Jitter: -1,
			}
			inTime(t, o, func(t *testing.T, r *rig) {
				r.until(t, StateAnnouncing)
				begin := time.Now()
				r.until(t, StateCollecting)
				if took := time.Since(begin); took < c.from || took > c.to {
					t.Errorf("it announced for %v, want %v to %v", took, c.from, c.to)
				}
				r.until(t, StateServing)
				if s := r.Stats(); s.WithoutTurn != 1 || s.Escaped != 0 {
					t.Errorf("%+v\n%s", s, r.logged.String())
				}
			})
		})
	}
}

// TestSignalIsSilentUntilItsPeerIsBack: a peer that may have this process out is not asked to
// drain again, and so it is not forgotten.
func TestSignalIsSilentUntilItsPeerIsBack(t *testing.T) {
	s := &fakeSignal{}
	inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{s}}, func(t *testing.T, r *rig) {
		r.traffic()
		r.until(t, StateCollecting)
		s.set(func() { s.err = errPeer })
		r.until(t, StateServing)
		was := r.Stats()
		time.Sleep(20 * time.Second)
		now := r.Stats()
		if now.Phases[StateAnnouncing].Count != was.Phases[StateAnnouncing].Count ||
			now.Phases[StateCollecting].Count < was.Phases[StateCollecting].Count+2 {
			t.Errorf("it announced: before %+v, after %+v", was.Phases, now.Phases)
		}
		s.set(func() { s.err = nil })
		time.Sleep(20 * time.Second)
		if r.Stats().Phases[StateAnnouncing].Count == now.Phases[StateAnnouncing].Count {
			t.Error("the peer is back, and the signal is not used again")
		}
		for _, want := range []string{errNotBack.Error(), "used again"} {
			if log := r.logged.String(); strings.Count(log, want) != 1 {
				t.Errorf("the log does not say %q once:\n%s", want, log)
			}
		}
	})
}

// TestSignalBeforeItsFirstReady is used while its first Ready runs, and not when that failed.
func TestSignalBeforeItsFirstReady(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *fakeSignal
		used bool
	}{
		{"runs", &fakeSignal{takes: time.Hour}, true},
		{"failed", &fakeSignal{err: errPeer}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, Options{Policy: PolicyDrain, Signals: []Signal{c.s}}, func(t *testing.T, r *rig) {
				r.traffic()
				r.until(t, StateCollecting)
				if used := r.Stats().Phases[StateAnnouncing].Count > 0; used != c.used {
					t.Errorf("announced: %v, want %v\n%s", used, c.used, r.logged.String())
				}
				c.s.set(func() { c.s.takes, c.s.err = 0, nil })
			})
		})
	}
}
