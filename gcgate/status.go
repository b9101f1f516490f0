package gcgate

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// status is what the control goroutine shows to all others.
type status struct {
	epoch time.Time

	// Read at each request.
	state    atomic.Uint32
	back     atomic.Int64  // when this process expects to be back, since epoch in ns; 0: not out of rotation
	refusing atomic.Bool   // PolicyShed: new requests shall be refused
	heap     atomic.Uint64 // bytes, as of the last sample
	refused  atomic.Uint64

	abandoned atomic.Bool // by Stop: this process is in rotation, whatever the control goroutine says

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

// abandon is comeBack for good, because the control goroutine may hang, or go on later. Any
// goroutine may call it.
func (s *status) abandon() {
	s.abandoned.Store(true)
	s.comeBack()
}

// keepAbandoned reverts what the control goroutine has just noted, if it is late.
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

// waiters are the callers of Gate.Collect. The zero value is ready.
type waiters struct {
	mu   sync.Mutex // guards what follows
	list []*waitingCall
}

type waitingCall struct {
	ended       chan error // capacity 1
	withoutTurn bool
}

func (w *waiters) add(c *waitingCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, c)
}

func (w *waiters) remove(c *waitingCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(x *waitingCall) bool { return x == c })
}

func (w *waiters) now() []*waitingCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}

func (w *waiters) any() bool { return len(w.now()) > 0 }

// withoutTurn reports whether a caller does not wait for the turn.
func (w *waiters) withoutTurn() bool {
	return slices.ContainsFunc(w.now(), func(c *waitingCall) bool { return c.withoutTurn })
}

// answer returns err to those of calls that still wait.
func (w *waiters) answer(calls []*waitingCall, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(c *waitingCall) bool {
		answered := slices.Contains(calls, c)
		if answered {
			c.ended <- err
		}
		return answered
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
