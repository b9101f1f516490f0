package reqtrace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// checkBlocks holds a report's blocks against its other sums.
func checkBlocks(t *testing.T, r *Report) {
	t.Helper()
	var requests, slow, kept int
	var all, tail Parts
	var at time.Duration
	if len(r.Blocks) != numBlocks {
		t.Fatalf("%d blocks", len(r.Blocks))
	}
	for _, b := range r.Blocks {
		if b.Start != at || b.End <= b.Start {
			t.Errorf("a block from %v to %v after one to %v", b.Start, b.End, at)
		}
		at = b.End
		for _, c := range b.Classes {
			requests, slow = requests+c.Requests, slow+c.Slow
		}
		seen := map[BlockPart]bool{}
		for _, p := range b.Parts {
			name := BlockPart{Class: p.Class, Cause: p.Cause, Site: p.Site, Holder: p.Holder}
			if seen[name] {
				t.Errorf("twice: %+v", p)
			}
			seen[name] = true
			all.Add(p.Cause, p.All)
			tail.Add(p.Cause, p.Slow)
		}
		for _, q := range b.Slow {
			kept += q.Weight
			if q.Start < b.Start || q.Start > b.End {
				t.Errorf("a request from %v on in a block from %v to %v", q.Start, b.Start, b.End)
			}
			var parts time.Duration
			for _, p := range q.Parts {
				parts += p.Time
			}
			if parts != q.Time {
				t.Errorf("parts of %v in a request of %v", parts, q.Time)
			}
		}
	}
	if requests != r.Requests || slow != r.Tail.Requests || kept < slow || kept > r.Requests || at != r.Trace {
		t.Errorf("%d requests of %d, %d slow of %d, %d kept, to %v of %v", requests, r.Requests, slow, r.Tail.Requests,
			kept, at, r.Trace)
	}
	want := r.Total
	want.ns[CauseMachine] = 0
	if all != want {
		t.Errorf("all: %v, want %v", all, r.Total)
	}
	for _, c := range Causes() {
		if got := tail.Of(c) / time.Duration(slow); got != r.Tail.Parts.Of(c) {
			t.Errorf("slow: %v %v, want %v", c, got, r.Tail.Parts.Of(c))
		}
	}
}

func TestBlocksRecorded(t *testing.T) {
	t.Parallel()
	recorded(t, func(t *testing.T, _ string, b []byte) {
		r, err := Analyze(t.Context(), bytes.NewReader(b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkBlocks(t, r)
		found := false
		for _, b := range r.Blocks {
			for _, p := range b.Parts {
				found = found || p.Cause == CauseLock && p.Site == planted && p.Slow > 0
			}
		}
		if !found {
			t.Error("no block has the lock's place among the slowest")
		}
	})
}

// TestBlocksBounded: many classes and places are folded, and nothing is lost.
func TestBlocksBounded(t *testing.T) {
	t.Parallel()
	m, err := newModel(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sites []siteID
	for i := range 500 {
		sites = append(sites, m.sites.intern(fmt.Sprintf("main.f%d (x.go:%d)", i, i)))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	a := analysis{slowest: 1}
	const n = 20_000
	m.now = n * 1000
	for i := range n {
		q := served{
			Request: Request{Start: dur(int64(i) * 1000)},
			class:   m.sites.intern(fmt.Sprintf("GET /%d", rng.IntN(1+rng.IntN(100)))),
		}
		q.Parts.Add(CauseRunning, 10)
		for range 4 {
			s := blameOf{
				wait: wait{cause: CauseLock, site: sites[rng.IntN(1+rng.IntN(len(sites)))]},
				time: rng.Int64N(1000),
			}
			q.Parts.Add(CauseLock, dur(s.time))
			q.sites = append(q.sites, s)
		}
		q.End = q.Start + q.Parts.Total()
		a.add(&q, m)
	}
	r := a.finish(m)
	checkBlocks(t, r)
	classes, places := map[string]int{}, map[string]bool{}
	for _, b := range r.Blocks {
		for _, c := range b.Classes {
			classes[c.Class] += c.Requests
		}
		for _, p := range b.Parts {
			places[p.Class+p.Site] = places[p.Class+p.Site] || p.Site != ""
		}
		if len(b.Parts) > 2*blockPlaces+(blockClasses+1)*2 {
			t.Fatalf("%d parts in a block", len(b.Parts))
		}
	}
	if len(classes) != blockClasses+1 || classes[OtherClasses] == 0 || classes["GET /0"] < classes["GET /9"] {
		t.Errorf("classes: %v", classes)
	}
}
