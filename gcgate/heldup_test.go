package gcgate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/gcgate/gcgatetest"
	"evenkeel.dev/internal/testutil"
)

// absentSignal is a fakeSignal that says at the start whether its peer is there, as those of
// balancers do.
type absentSignal struct{ fakeSignal }

func (s *absentSignal) Check(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// inTimeTwo runs f in a bubble of fake time with two gates that share the turns, each over a heap
// of its own.
func inTimeTwo(t *testing.T, a, b Signal, rate float64, f func(a, b *rig, turns *fakeTurns)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		turns := &fakeTurns{}
		var rigs [2]*rig
		for i, s := range []Signal{a, b} {
			h := gcgatetest.NewHeap()
			h.Rate = rate
			rigs[i] = startRig(t, Options{Signals: []Signal{s}, Turns: turns, Jitter: -1}, h)
			rigs[i].traffic()
		}
		f(rigs[0], rigs[1], turns)
		for _, r := range rigs {
			begin := time.Now()
			if r.Stop(); time.Since(begin) > silentAtStop+readyTimeout {
				t.Errorf("Stop took %v", time.Since(begin))
			}
		}
		time.Sleep(time.Second) // goroutines of the test and the fake end
	})
}

// collected is how many collections the gate has made.
func (r *rig) collected() (n uint64) {
	for _, c := range r.Stats().Collections {
		n += c
	}
	return n
}

// TestPeerThatWasNeverReached holds no turn, though its Ready fails, too: a server's name is wrong,
// say, or nothing listens there.
func TestPeerThatWasNeverReached(t *testing.T) {
	s := &absentSignal{fakeSignal{err: fmt.Errorf("no such server: %w", ErrUnreached)}}
	inTimeTwo(t, s, &fakeSignal{}, 100*mib, func(wrong, healthy *rig, turns *fakeTurns) {
		wrong.until(t, StateAnnouncing) // before the look for the peer is over
		wrong.until(t, StateServing)
		begin := time.Now()
		for turns.holders() > 0 && wrong.control.turns.holding.Load() > 0 {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(begin); took > 10*time.Millisecond {
			t.Errorf("the turn was held for %v more for a peer that cannot have this process out", took)
		}
		before := healthy.collected()
		time.Sleep(30 * time.Second)
		if n := healthy.collected() - before; n < 10 {
			t.Errorf("the healthy replica collected %d times in 30 s", n)
		}
		if s := healthy.Stats(); s.WithoutTurn > 0 {
			t.Errorf("the healthy replica: %+v", s)
		}
	})
}

// TestPeerThatRefusesAfterADrain holds the turn for long enough to restart, and not until the
// others run out of memory.
func TestPeerThatRefusesAfterADrain(t *testing.T) {
	testutil.Slow(t, "takes seconds")
	const waits = "this replica cannot collect because another one has held the turn"
	const holds = "this replica holds the turn because a peer does not have it back"
	for _, c := range []struct {
		rate        float64 // MiB a second
		least, most time.Duration
		says        bool
	}{
		{100, silentLeast, 2 * time.Second, false},
		{5, heldUpAfter, silentMost, true},
	} {
		t.Run(fmt.Sprintf("%v MiB each second", c.rate), func(t *testing.T) {
			s := &fakeSignal{}
			inTimeTwo(t, s, &fakeSignal{}, c.rate*mib, func(lost, healthy *rig, turns *fakeTurns) {
				lost.until(t, StateCollecting)
				s.set(func() { s.err = errPeer })
				begin := time.Now()
				var by [2]string
				for lost.control.turns.holding.Load() > 0 {
					for i, r := range []*rig{lost, healthy} {
						if turn := r.Stats().Turn; turn.HeldUpBy != "" {
							by[i] = turn.HeldUpBy
							if turn.HeldUpFor < 5*time.Second {
								t.Errorf("after %v it says that %s holds the turn up", turn.HeldUpFor, turn.HeldUpBy)
							}
						}
					}
					time.Sleep(10 * time.Millisecond)
				}
				if held := time.Since(begin); held < c.least || held > c.most {
					t.Errorf("the turn was held for %v, want %v to %v", held, c.least, c.most)
				}
				if says := by[0] == "fake: "+errPeer.Error(); says != c.says {
					t.Errorf("the statistics of the holder say %q", by[0])
				}
				before := healthy.collected()
				time.Sleep(4 * time.Minute)
				if n := healthy.collected() - before; n < 10 {
					t.Errorf("the healthy replica collected %d times in four minutes", n)
				}
				if s := healthy.Stats(); s.WithoutTurn > 0 || s.Turn.HeldUpBy != "" {
					t.Errorf("the healthy replica: %+v", s)
				}
				for _, log := range []struct {
					of   *rig
					text string
					says bool
				}{{lost, holds, c.says}, {lost, "the turn goes to the next one", true}} {
					if n := strings.Count(log.of.logged.String(), log.text); n != map[bool]int{true: 1}[log.says] {
						t.Errorf("the log says %q %d times:\n%s", log.text, n, log.of.logged.String())
					}
				}
				s.set(func() { s.err = nil })
			})
		})
	}
	t.Run("the others say who holds the turn", func(t *testing.T) {
		s := &fakeSignal{}
		inTimeTwo(t, s, &fakeSignal{}, 10*mib, func(lost, healthy *rig, turns *fakeTurns) {
			lost.until(t, StateCollecting)
			s.set(func() { s.err = ErrNotBack }) // a peer that answers is waited for longer
			for range 600 {
				time.Sleep(100 * time.Millisecond)
				if by, _ := healthy.control.turns.heldUp.get(); by != "" {
					break
				}
			}
			turn := healthy.Stats().Turn
			if turn.HeldUpBy != "another replica" || turn.HeldUpFor < 5*time.Second || turn.HeldUpFor > 7*time.Second {
				t.Errorf("the statistics of the replica that waits: %+v", turn)
			}
			if n := strings.Count(healthy.logged.String(), waits); n != 1 {
				t.Errorf("its log says so %d times:\n%s", n, healthy.logged.String())
			}
			s.set(func() { s.err = nil })
			healthy.until(t, StateServing)
			if turn := healthy.Stats().Turn; turn.HeldUpBy != "" {
				t.Errorf("in the end: %+v", turn)
			}
		})
	})
}

// TestHolderIsNamed by the error of Turns, and by Holders.
func TestHolderIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		t    Turns
		err  error
		want string
	}{
		{"not known", &fakeTurns{}, ErrHeld, ""},
		{"the error says", &fakeTurns{}, fmt.Errorf("%w: n2", ErrHeld), ErrHeld.Error() + ": n2"},
		{"the turns cannot be decided", namingTurns{}, errPeer, errPeer.Error()},
		{"the turns say", namingTurns{}, ErrHeld, "db-1:812"},
		{"the turns say while they wait", namingTurns{}, nil, "db-1:812"},
	} {
		if got := (&turnTaker{turns: c.t}).holderName(c.err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

type namingTurns struct{}

func (namingTurns) TryAcquire(context.Context) (Lease, error) { return nil, errors.New("unused") }
func (namingTurns) Holders() string                           { return "db-1:812" }

// stalling is a heap that the process can stall over.
type stalling struct {
	*gcgatetest.Heap
	still atomic.Int64 // for so many nanoseconds when it is read the next time
}

func (s *stalling) Read() (cycles, automatic, allocated, live uint64) {
	time.Sleep(time.Duration(s.still.Swap(0)))
	return s.Heap.Read()
}

// TestStopWhileMarking: for a process that was stopped for twenty seconds, its collection is not
// one that does not end, nor are the next ones expected to take that long.
func TestStopWhileMarking(t *testing.T) {
	h := new(stalling)
	heap := func() *gcgatetest.Heap {
		h.Heap = gcgatetest.NewHeap()
		return h.Heap
	}
	inTimeOver(t, Options{Policy: PolicyThrough, Collector: h}, heap, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Mark = 21 * time.Second })
		r.until(t, StateCollecting)
		time.Sleep(10 * time.Millisecond)
		h.still.Store(int64(20 * time.Second))
		r.until(t, StateServing)
		if s, log := r.Stats(), r.logged.String(); s.Phases[StateCollecting].Total < 21*time.Second ||
			strings.Contains(log, "does not end") {
			t.Errorf("it collected for %v; the log:\n%s", s.Phases[StateCollecting].Total, log)
		}
		if e := r.Stats().Expected; e > 3*time.Second {
			t.Errorf("the next one is expected to take %v", e)
		}
	})
}

// TestOneTurnAtATime: a replica that wants to collect again while its last turn is still to be
// released takes no other one.
func TestOneTurnAtATime(t *testing.T) {
	turns := &fakeTurns{k: 2}
	inTime(t, Options{Signals: []Signal{&fakeSignal{}}, Turns: turns, Jitter: -1, HoldTurn: 3 * time.Second},
		func(t *testing.T, r *rig) {
			most := 0
			r.onEvent(func(Event) { most = max(most, turns.holders()) })
			time.Sleep(time.Minute)
			r.onEvent(nil)
			if n := r.Stats().Turn.Held.Count; most != 1 || n < 5 {
				t.Errorf("of %d turns it held %d at once", n, most)
			}
		})
}

// TestTurnHeldForLong, as a balancer was down, is not what the next is taken for.
func TestTurnHeldForLong(t *testing.T) {
	var l turnLoad
	for range 20 {
		l.learn(100*time.Millisecond, true)
	}
	if l.learn(time.Minute, true); l.held(0) > time.Second || l.total.Max != time.Minute {
		t.Errorf("the mean is %v after one of a minute, the longest %v", l.held(0), l.total.Max)
	}
	l = turnLoad{}
	if l.learn(5*time.Minute, false); l.held(time.Second) != time.Second || l.total.Count != 1 {
		t.Errorf("the mean is %v after one of %d that was given up", l.held(time.Second), l.total.Count)
	}
	for range 20 {
		l.learn(time.Minute, true)
	}
	if l.held(0) < 50*time.Second {
		t.Errorf("the mean is %v where each is held for a minute", l.held(0))
	}
}

// slowSignal has a peer that takes long to have this process back.
type slowSignal struct{ fakeSignal }

func (s *slowSignal) Ready(ctx context.Context) error {
	time.Sleep(900 * time.Millisecond)
	return s.fakeSignal.Ready(ctx)
}

// TestHeapIsWatchedWhileReadying: requests come again before all peers have said so.
func TestHeapIsWatchedWhileReadying(t *testing.T) {
	heap := func() *gcgatetest.Heap {
		h := gcgatetest.NewHeap()
		h.Group, h.Rate = 512*mib, 400*mib
		return h
	}
	inTimeOver(t, Options{Signals: []Signal{&slowSignal{}}, Jitter: -1}, heap, func(t *testing.T, r *rig) {
		time.Sleep(10 * time.Second)
		if s := r.Stats(); s.Escaped > 0 || s.Collections[ReasonHard]+s.Collections[ReasonTrigger] < 5 {
			t.Errorf("the runtime collected %d times by itself, the gate %v\n%s", s.Escaped,
				s.Collections, r.logged.String())
		}
	})
}

// peerless never finds its peer.
type peerless struct{ fakeSignal }

func (*peerless) Check(context.Context) error { return errors.New("no other server is up") }

// TestFirstReadyWithoutACheck: a peer that does not pass its check hears all the same that this
// process is ready, which the one before may have left drained.
func TestFirstReadyWithoutACheck(t *testing.T) {
	s := new(peerless)
	inTime(t, Options{Signals: []Signal{s}}, func(t *testing.T, r *rig) {
		r.heap.Do(func() { r.heap.Rate = 0 })
		time.Sleep(2 * checkFor)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.readys != 1 {
			t.Errorf("it heard %d times that it is ready, want once", s.readys)
		}
	})
}
