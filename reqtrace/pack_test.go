package reqtrace

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

func TestPacked(t *testing.T) {
	var p packed
	want := []int64{0, 1, 127, 128, 1 << 40, 0}
	for _, v := range want {
		p.put(v)
	}
	for i, v := range want {
		if got := p.next(); got != v {
			t.Errorf("%d: %d, want %d", i, got, v)
		}
	}
	if len(p) != 0 {
		t.Errorf("%d bytes are left", len(p))
	}
}

// TestStore: what is kept is found again, whole, beyond the ends of chunks.
func TestStore(t *testing.T) {
	var s store
	kept := map[spot]int{}
	sizes := []int{1, 1000, chunkSize - 1001, 1, chunkSize + 5, 3, chunkSize, 2}
	for i, n := range sizes {
		kept[s.keep(slices.Repeat(packed{byte(i)}, n))] = i
	}
	if len(kept) != len(sizes) || len(s) != 6 {
		t.Errorf("%d places in %d chunks", len(kept), len(s))
	}
	for at, i := range kept {
		if got := s.at(at); len(got) < sizes[i] || got[0] != byte(i) || got[sizes[i]-1] != byte(i) {
			t.Errorf("%d is not what was kept at %v", i, at)
		}
	}
}

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
