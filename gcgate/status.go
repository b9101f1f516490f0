package gcgate

import (
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

	mu    sync.Mutex
	stats Stats // guarded by mu
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
	mu    sync.Mutex
	last  uint64                 // the number of the newest; guarded by mu
	ended map[uint64]waitingCall // guarded by mu
}

type waitingCall struct {
	ended       chan<- error
	withoutTurn bool
}

func (w *waiters) add(waits waitingCall) (id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = make(map[uint64]waitingCall)
	}
	w.last++
	w.ended[w.last] = waits
	return w.last
}

func (w *waiters) remove(id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.ended, id)
}

func (w *waiters) ids() (ids []uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.ended {
		ids = append(ids, id)
	}
	return ids
}

func (w *waiters) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ended) > 0
}

func (w *waiters) withoutTurn() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, waits := range w.ended {
		if waits.withoutTurn {
			return true
		}
	}
	return false
}

func (w *waiters) answer(ids []uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		if waits, ok := w.ended[id]; ok {
			waits.ended <- err
			delete(w.ended, id)
		}
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
