package netconn

import (
	"os"
	"sync"
	"time"

	"evenkeel.dev/aio"
	"evenkeel.dev/aio/internal/proactor"
)

// side is one direction of a Conn. An idle Conn has two, so it is small.
type side struct {
	mu          sync.Mutex // taken before the watcher's locks
	deadline    time.Time
	first, last *call // the first has its turn until it leaves
}

// call is a Read, a Write or another call, and the tag of its operation, guarded by the side's mu.
// It waits by a Cond, which testing/synctest lets move between bubbles, unlike a channel.
type call struct {
	proactor.Waits
	side    *side
	next    *call
	wake    sync.Cond // it is first, or its operation is over
	pending bool      // submitted, and not over
	n       int
	err     error
}

// calls are reused. An idle Conn has none.
var calls = sync.Pool{New: func() any { return new(call) }}

type submit func(tag any, buf []byte, deadline time.Time) error

// do waits for its turn, submits an operation, and waits for its result. The deadline is for those
// with bytes.
func (s *side) do(submit submit, p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.join()
	defer s.leave()
	for s.first != k {
		k.wake.Wait()
	}
	if len(p) > 0 && !s.deadline.IsZero() && time.Until(s.deadline) <= 0 {
		return 0, os.ErrDeadlineExceeded // aio would try once
	}
	if err := submit(k, p, s.deadline); err != nil {
		return 0, err
	}
	for k.pending = true; k.pending; {
		k.wake.Wait()
	}
	return k.n, k.err
}

func (s *side) join() *call {
	k := calls.Get().(*call)
	k.side, k.wake.L = s, &s.mu
	if s.last == nil {
		s.first = k
	} else {
		s.last.next = k
	}
	s.last = k
	return k
}

func (s *side) leave() {
	k := s.first
	if s.first = k.next; s.first == nil {
		s.last = nil
	} else {
		s.first.wake.Signal()
	}
	k.side, k.wake.L, k.next, k.n, k.err = nil, nil, nil, 0, nil
	calls.Put(k)
}

func (k *call) end(r aio.Result) {
	k.side.mu.Lock()
	defer k.side.mu.Unlock()
	k.n, k.err, k.pending = r.Size, r.Error, false
	k.wake.Signal()
}

func (s *side) setDeadline(handle *aio.Conn, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	if s.first != nil && s.first.pending {
		_ = handle.SetDeadline(s.first, t) // the operation may be over
	}
}

// Drive carries out the operations of w's Conns until w is closed, and then returns nil. Give it a
// goroutine of its own. It drops other results. A program that has such calls WaitIO itself, and
// [Deliver].
//
// If another goroutine is in WaitIO, Drive returns aio.ErrWaiting. If the operating system refuses
// to wait, it closes w and returns the reason.
func Drive(w *aio.Watcher) error {
	var failed error
	for {
		results, err := w.WaitIO()
		switch err {
		case nil:
		case aio.ErrWatcherClosed:
			return failed
		case aio.ErrWaiting:
			return err
		default:
			failed = err
			_ = w.Close()
		}
		for _, r := range results {
			Deliver(r)
		}
	}
}

// Deliver completes the Read or Write that r belongs to, and returns false if r is not a Conn's. It
// does not block. Call it once for every result, even after the Watcher's Close.
func Deliver(r aio.Result) bool {
	k, ok := r.Tag.(*call)
	if ok {
		k.end(r)
	}
	return ok
}
