package gcgate

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Stats tell what a [Gate] did since its start. Sizes are in bytes.
type Stats struct {
	Policy Policy
	State  State

	// Collections counts the gate's own by reason. Escaped counts those that the runtime started by
	// itself while the gate was in charge.
	Collections map[Reason]uint64
	Escaped     uint64

	// Overlapped counts requests that overlapped the mark phase of a collection of the gate, within
	// 1%. OverlappedOther is an estimate for other cycles.
	Entered, Overlapped, OverlappedOther uint64

	// IgnoredDrains counts collections with requests that kept coming although each peer had
	// confirmed the drain. The log has likely causes.
	IgnoredDrains uint64

	// Phases are the times in each state, StateWanting to StateReadying.
	Phases map[State]Duration

	// Stragglers entered during a collection. Adapters Refused requests under PolicyShed.
	Stragglers, Refused uint64

	// WithoutTurn counts collections without the turn, LostTurns turns that were lost while held.
	WithoutTurn, LostTurns uint64

	Turn TurnStats

	InFlight int
	Live     uint64 // after the last collection
	Heap     uint64 // at the last sample, dead objects included
	Trigger  uint64 // at which a collection is due
	Hard     uint64 // at which it does not wait for a turn
	Limit    uint64 // math.MaxInt64: none

	Allocated uint64 // since the process began

	// Expected is how long the next collection is expected to take. Next is when it is expected,
	// zero if that is not known.
	Expected time.Duration
	Next     time.Time
}

// Duration sums up durations.
type Duration struct {
	Count uint64
	Total time.Duration
	Max   time.Duration
}

func (d *Duration) add(x time.Duration) {
	d.Count++
	d.Total += x
	d.Max = max(d.Max, x)
}

// status is what the control goroutine shows to others.
type status struct {
	epoch time.Time

	// Read at each request.
	state    atomic.Uint32
	back     atomic.Int64 // to rotation, in ns since epoch; 0: not drained
	refusing atomic.Bool
	refused  atomic.Uint64

	abandoned atomic.Bool // by Stop, for good

	mu    sync.Mutex // guards what follows
	stats Stats
}

func newStatus() *status {
	return &status{
		epoch: time.Now(),
		stats: Stats{Collections: make(map[Reason]uint64), Phases: make(map[State]Duration)},
	}
}

func (s *status) update(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

func (s *status) leave(back time.Time) {
	s.back.Store(max(int64(back.Sub(s.epoch)), 1))
	s.keepAbandoned()
}

func (s *status) refuse(yes bool) {
	s.refusing.Store(yes)
	s.keepAbandoned()
}

func (s *status) comeBack() {
	s.refusing.Store(false)
	s.back.Store(0)
}

// abandon is comeBack for good, because the control goroutine may hang. Any goroutine may call it.
func (s *status) abandon() {
	s.abandoned.Store(true)
	s.comeBack()
}

// keepAbandoned reverts a late control goroutine.
func (s *status) keepAbandoned() {
	if s.abandoned.Load() {
		s.comeBack()
	}
}

func (s *status) out() bool { return s.back.Load() != 0 }

func (s *status) remaining() time.Duration {
	back := s.back.Load()
	if back == 0 {
		return 0
	}
	return max(time.Duration(back)-time.Since(s.epoch), time.Millisecond)
}

// waiters are the callers of Gate.Collect.
type waiters struct {
	mu sync.Mutex

	// By the channel that ends a call: whether it goes without the turn. Guarded by mu.
	calls map[chan struct{}]bool
}

func (w *waiters) add(withoutTurn bool) (ended chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended = make(chan struct{})
	w.calls[ended] = withoutTurn
	return ended
}

func (w *waiters) remove(call chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.calls, call)
}

func (w *waiters) now() []chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.calls))
}

func (w *waiters) withoutTurn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(w.calls)), true)
}

func (w *waiters) answer(calls []chan struct{}) {
	for _, c := range calls {
		w.remove(c)
		close(c)
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// An Event is one change of state.
type Event struct {
	Time   time.Time
	State  State  // that begins
	Reason Reason // from StateWanting to StateReadying
	Heap   uint64 // dead objects included

	// WithoutTurn says that there are Turns, and this collection has none.
	WithoutTurn bool

	// Overlapped are the requests that overlapped the mark phase, known after StateCollecting.
	Overlapped uint64
}
