package httpd

import "testing"

// TestDispatchAllocatesNothing: a request that comes alone, or with a few, needs no memory to find its worker.
func TestDispatchAllocatesNothing(t *testing.T) {
	s := &server{}
	s.ready = s.few[:0]
	s.needed.L, s.ended.L = &s.mu, &s.mu
	w := newWorker(s)
	for _, n := range []int{1, len(s.few)} {
		conns := make([]conn, n)
		allocs := testing.AllocsPerRun(100, func() {
			for i := range conns {
				s.offer(&conns[i])
			}
			for i := range conns {
				w.woken = true // as who makes or wakes it says
				if c, err := s.next(w); c != &conns[i] || err != nil {
					t.Fatal("not the connection that has waited for longest: ", err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations for %d requests, want 0", allocs, n)
		}
	}
	for _, c := range s.few {
		if c != nil {
			t.Error("a connection is kept that does not wait any more")
		}
	}
}
