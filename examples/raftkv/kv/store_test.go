package kv

import "testing"

// TestSentAgainBeforeTheFirstHasEnded: the first attempt, given up, does not take the news from the
// second.
func TestSentAgainBeforeTheFirstHasEnded(t *testing.T) {
	s, r := newStore(), request{"a", 1}
	first, second := s.await(r), s.await(r)
	s.forget(r)
	if err := s.apply([]byte(`{"c":"a","s":1,"k":"x","v":"y"}`)); err != nil {
		t.Fatal(err)
	}
	for _, done := range []<-chan struct{}{first, second} {
		select {
		case <-done:
		default:
			t.Error("it is not told that the write was made")
		}
	}
	s.forget(r)
	if len(s.waiting) > 0 {
		t.Errorf("%v is left", s.waiting)
	}
}
