package reqtrace

import (
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

// TestReuse: a goroutine's spot in memory is used again when no request needs it any more, and
// not before.
func TestReuse(t *testing.T) {
	const rounds, reused = 400, 10
	s := newScript(t, 2)
	s.at(10).born(1)
	met := map[*goroutine]bool{}
	for i := range rounds {
		now, child := int64(100+100*i), 100+i
		s.at(now).wake(0, 1).run(1, 1).begin(1)
		s.at(now+10).create(1, child).wait(1, "chan receive", "main.ask")
		met[s.m.goroutine(int64(child))] = true
		s.at(now+15).run(child, 2)
		s.m.prune()
		s.at(now+40).wake(child, 1).off(child, trace.GoNotExist, "")
		s.m.prune()
		s.at(now+45).run(1, 1)
		s.at(now+50).end(1).wait(1, "network", "main.serve")
	}
	if len(met) > reused {
		t.Errorf("%d goroutines, one at a time, took %d places", rounds, len(met))
	}
	if len(s.m.turns.done) != rounds {
		t.Fatalf("%d requests, want %d", len(s.m.turns.done), rounds)
	}
	for i := range s.m.turns.done {
		q := &s.m.turns.done[i]
		if p := q.Parts; p.Of(CauseRunning) != 40*time.Microsecond || p.Of(CauseRunqueueIdle) != 10*time.Microsecond ||
			p.Total() != q.Duration() {
			t.Fatalf("request %d: %v", i, p)
		}
	}
}
