package gcgate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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

// TestLoneRoundWaitsPastTheHardThreshold, where it begins, for as long as its signal wants it and
// the runtime does not begin by itself.
func TestLoneRoundWaitsPastTheHardThreshold(t *testing.T) {
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
