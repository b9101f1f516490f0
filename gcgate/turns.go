package gcgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Turns says which replica of a group may collect now, so that the others carry its load.
type Turns interface {
	// TryAcquire takes the turn without waiting. It returns [ErrHeld] if another replica has it.
	// The gate calls it with a deadline, from one goroutine at a time, every 10 to 500 ms.
	TryAcquire(ctx context.Context) (Lease, error)
}

// A Queue is [Turns] for which replicas wait in order of arrival. Without it some replicas go twice
// near capacity, while others wait until their hard threshold.
type Queue interface {
	Turns

	// Acquire waits for the turn until ctx ends, and has given up its place when it returns. It
	// never returns [ErrHeld]. In a gap the gate calls TryAcquire, which returns ErrHeld while
	// another replica waits. One call runs at a time.
	Acquire(ctx context.Context) (Lease, error)
}

// A TurnCounter is [Turns] of which several may be held at once.
type TurnCounter interface {
	// TurnCount returns how many, at least 1. It is constant.
	TurnCount() int
}

// A HolderNamer is [Turns] that know who holds them.
type HolderNamer interface {
	// Holders names the holders as "host:pid", or returns "". It must not block for long.
	Holders() string
}

func turnCount(t Turns) int {
	if c, ok := t.(TurnCounter); ok {
		return max(c.TurnCount(), 1)
	}
	return 1
}

// A Lease is a held turn. Any goroutine may call its methods.
type Lease interface {
	// Lost is closed if the turn was lost before Release. It may be nil.
	Lost() <-chan struct{}

	// Release lets another replica take the turn. The gate calls it once.
	Release(ctx context.Context) error
}

const (
	turnTimeout  = time.Second
	turnPauseMax = 500 * time.Millisecond
	gapPause     = 100 * time.Millisecond // after another replica had it

	turnPause = 10 * time.Millisecond
)

type turnTaker struct {
	*shared
	turns  Turns // nil: collect at any time
	heap   *heapWatch
	others *sync.WaitGroup

	// The control goroutine owns these.
	taken     time.Time
	acquiring <-chan struct{} // closed when Acquire has returned; nil: none runs
	holdOff   time.Time       // no gap before, because another replica had it

	// Any goroutine may use these.
	asking   sync.Mutex // while TryAcquire or Acquire runs
	heldUp   heldUp
	holding  atomic.Int32 // until they are released
	releases sync.WaitGroup
}

type turnAnswer struct {
	lease Lease
	err   error
}

var errNoAnswer = errors.New("TryAcquire or Acquire of Turns has not returned: it must return when its context ends")

func (t *turnTaker) check(ctx context.Context) {
	c, ok := t.turns.(Checker)
	if !ok {
		return
	}
	check(ctx, c, t.log.With("turns", fmt.Sprintf("%T", t.turns)),
		"gcgate: turns cannot be taken now; a collection waits for them up to the hard threshold")
}

var errNoLease = errors.New("Turns returned no lease and no error: it must return one of them")

// take waits until this replica may collect. It returns withoutTurn at the hard threshold, or if a
// caller asks for it. ok is false if the gate stops, or the reason ends.
func (t *turnTaker) take(reason *Reason) (lease Lease, withoutTurn, ok bool) {
	if t.turns == nil {
		return nil, false, !isClosed(t.stop)
	}
	w := &turnWait{taker: t, reason: *reason, cycles: t.heap.last.cycles, pause: turnPause}
	defer t.heldUp.clear()
	for ; !isClosed(t.stop); w.pause = min(2*w.pause, turnPauseMax) {
		lease := w.ask()
		switch {
		case lease != nil && w.isObsolete():
			t.others.Go(func() { t.release(lease) })
			return nil, false, false
		case lease != nil:
			t.taken = time.Now()
			t.holding.Add(1)
			t.warnings.over("gcgate: this replica has the turn again", "waits")
			return lease, false, true
		case *reason == ReasonIdleGap && !t.goesWithoutTurn():
			t.leaveGap()
			return nil, false, false
		}
		if w.rest(); w.isObsolete() {
			return nil, false, false
		}
		if isClosed(t.stop) || !t.goesWithoutTurn() {
			continue
		}
		if *reason = ReasonRequested; t.heap.pastHard() {
			*reason = ReasonHard
			t.warnWithoutTurn(w.err, w.holder)
		}
		return nil, true, true
	}
	return nil, false, false
}

func (t *turnTaker) leaveGap() {
	pause := gapPause
	if t.heap.farFromHard() {
		pause = turnPauseMax
	}
	t.holdOff = time.Now().Add(pause)
}

func (t *turnTaker) goesWithoutTurn() bool { return t.heap.pastHard() || t.waiters.withoutTurn() }

func (t *turnTaker) tryAcquire(ctx context.Context) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	return t.turns.TryAcquire(ctx)
}

// try asks for the turn once, and calls look now and then. It returns false to go without the turn.
func (t *turnTaker) try(ask func(context.Context) (Lease, error), look func()) (turnAnswer, bool) {
	if t.acquiring != nil && !isClosed(t.acquiring) {
		return turnAnswer{err: errNoAnswer}, true
	}
	ctx, cancel := context.WithCancel(context.Background())
	answer := new(turnAnswer) // valid once acquiring is closed
	acquiring := make(chan struct{})
	t.acquiring = acquiring
	t.others.Go(func() {
		defer close(acquiring)
		defer cancel()
		t.asking.Lock()
		answer.lease, answer.err = ask(ctx)
		t.asking.Unlock()
		if answer.err == nil && answer.lease == nil {
			answer.err = errNoLease
		}
	})
	for begin := time.Now(); ; {
		d := t.heap.wantingInterval()
		if t.waiters.withoutTurn() {
			d = min(d, max(turnPause-time.Since(begin), 0))
		}
		t.heap.sleep(d, acquiring)
		look()
		if isClosed(acquiring) {
			t.acquiring = nil
			return *answer, true
		}
		if isClosed(t.stop) || t.heap.pastHard() || t.waiters.withoutTurn() && time.Since(begin) >= turnPause {
			cancel()
			t.others.Go(func() {
				if <-acquiring; answer.err == nil {
					t.release(answer.lease)
				}
			})
			return turnAnswer{}, false
		}
	}
}

func (t *turnTaker) borrow(ctx context.Context) (end func(), err error) {
	switch {
	case t.turns == nil, t.holding.Load() > 0 && turnCount(t.turns) == 1:
		return func() {}, nil
	case t.holding.Load() > 0 || !t.asking.TryLock():
		return nil, ErrHeld
	}
	defer t.asking.Unlock()
	if n, ok := t.turns.(HolderNamer); ok && turnCount(t.turns) > 1 && n.Holders() != "" {
		return nil, ErrHeld
	}
	lease, err := t.tryAcquire(ctx)
	if err != nil {
		return nil, err
	}
	if lease == nil {
		return nil, errNoLease
	}
	t.holding.Add(1)
	return func() {
		t.release(lease)
		t.holding.Add(-1)
	}, nil
}

func (t *turnTaker) warnWithoutTurn(err error, holder string) {
	used, hard := t.heap.used, t.heap.thresholds.hard
	peer, _ := t.heldUp.get()
	switch {
	case t.holding.Load() > 0:
		t.warnings.warn("without turn",
			"gcgate: this process holds the turn itself because a peer does not have it back; collecting without one",
			"peer", peer, "heap", used, "hard", hard)
	case errors.Is(err, ErrHeld):
		t.warnings.warn("without turn", "gcgate: another replica holds the turn for too long; collecting without it",
			append(t.heap.turnFigures(), "holder", holder, "heap", used, "hard", hard)...)
	default:
		t.warnings.warn("without turn", "gcgate: the turn cannot be taken; collecting without it",
			"heap", used, "hard", hard, "error", err)
	}
}

func isLost(lease Lease) bool { return lease != nil && isClosed(lease.Lost()) }

// releaseAfter waits for await, which reports whether the peers have this process back.
func (t *turnTaker) releaseAfter(lease Lease, wasDrained bool, await func() bool) {
	taken := t.taken
	t.releases.Go(func() {
		defer t.holding.Add(-1)
		returned := await()
		if t.options.HoldTurn > 0 && wasDrained {
			time.Sleep(t.options.HoldTurn)
		}
		t.release(lease)
		t.heap.turns.learn(time.Since(taken), returned)
	})
}

func (t *turnTaker) release(l Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), turnTimeout)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		t.log.Warn("gcgate: cannot release the turn; the others must wait until it expires", "error", err)
	}
}
