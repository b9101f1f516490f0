package httpd

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestDispatchAllocatesNothing: a request that comes alone, or with a few, needs no memory to find its worker.
func TestDispatchAllocatesNothing(t *testing.T) {
	s := &server{}
	s.slice.began = time.Now().Add(time.Hour) // no other slice begins
	s.work.ready = s.work.few[:0]
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range []int{1, len(s.work.few)} {
		conns := make([]conn, n)
		allocs := testing.AllocsPerRun(100, func() {
			for i := range conns {
				s.offer(&conns[i])
			}
			for i := range conns {
				w.pool.woken = true // as who makes or wakes it says
				if c, err := s.next(w); c != &conns[i] || err != nil {
					t.Fatal("not the connection that has waited for longest: ", err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations for %d requests, want 0", allocs, n)
		}
	}
	for _, c := range s.work.few {
		if c != nil {
			t.Error("a connection is kept that does not wait any more")
		}
	}
}

// TestWhoSends: the loop sends short answers together where requests come fast, and else their
// workers do, who need not wait for it.
func TestWhoSends(t *testing.T) {
	s := &server{batches: true}
	s.work.ready = s.work.few[:0]
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tt := range []struct{ given, direct int }{{10 * batchRate, pieceSize}, {10, 0}} {
		s.slice.began, s.slice.given = time.Now().Add(-time.Second), tt.given
		s.offer(new(conn))
		w.pool.woken = true
		if _, err := s.next(w); err != nil {
			t.Fatal(err)
		}
		if s.bytes.direct != tt.direct {
			t.Errorf("after %d requests in a second workers send from %d bytes on, want %d", tt.given, s.bytes.direct,
				tt.direct)
		}
	}
}

// TestGivesWay: a worker that finds the slice old lets others run before it begins a request, in
// which the scheduler would take the processor from it.
func TestGivesWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := &server{}
	s.work.ready = s.work.few[:0]
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 20 { // a P looks at the queue of all Ps first at each 61st goroutine that it begins
		var other atomic.Bool
		go other.Store(true)
		s.slice.began = time.Now().Add(-time.Second)
		s.offer(new(conn))
		s.offer(new(conn))
		w.pool.woken = true
		if _, err := s.next(w); err != nil {
			t.Fatal(err)
		}
		if other.Load() {
			return
		}
	}
	t.Error("no other goroutine ran before the request")
}

// TestNothingIsKeptBackByRest: what a worker has others call, when it lets its last connection go,
// is called although nothing else moves.
func TestNothingIsKeptBackByRest(t *testing.T) {
	called, ended := make(chan bool, 1), make(chan error, 1)
	s := &server{}
	s.work.decays = time.NewTimer(time.Hour) // none decays
	s.work.needed.L, s.conns.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	w.fresh, w.pool.woken = false, false
	s.callbacks.later = append(s.callbacks.later, func() { called <- true })
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err := s.next(w)
		ended <- err
	}()
	select {
	case <-called:
	case <-time.After(time.Minute): // a hang
		t.Error("it is not called")
	}
	s.mu.Lock()
	w.closed = true
	w.wake()
	s.mu.Unlock()
	if err := <-ended; err == nil {
		t.Error("a closed worker goes on")
	}
}
