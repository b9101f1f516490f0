package reqtrace

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

// TestKeep: of a trace with more requests than are kept, half stay, each with its own details, and
// the figures are near those of all.
func TestKeep(t *testing.T) {
	const most = 1 << 17
	const n = most + most/2
	m, err := newModel(Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := analysis{slowest: 1, kept: keep{most: most}}
	site := m.sites.intern("main.slow (x.go:1)")
	for i := range n {
		ns := time.Duration(1000 + i%1000)
		q := served{Request: Request{End: ns}}
		q.Parts.ns[CauseRunning], q.Parts.ns[CauseLock] = 1000, ns-1000
		q.sites = []blameOf{{wait: wait{cause: CauseLock, site: site}, time: int64(ns - 1000)}}
		a.add(&q, m)
	}
	r := a.finish(m)
	if r.Requests != n || r.Sampled != 2 || len(a.requests) >= most {
		t.Errorf("%d requests, one in %d, %d kept", r.Requests, r.Sampled, len(a.requests))
	}
	if got := len(a.requests); got < n/2-n/100 || got > n/2+n/100 {
		t.Errorf("%d of %d are kept", got, n)
	}
	if p := r.Median.Parts; p.Of(CauseRunning) != 1000 || p.Of(CauseLock) < 480 || p.Of(CauseLock) > 520 ||
		r.Median.Mean-p.Total() > 2 {
		t.Errorf("%v, mean %v", p, r.Median.Mean)
	}
	if s := r.Tail.Sites; len(s) != 1 || s[0].Site != "main.slow (x.go:1)" || s[0].Time < 990 || s[0].Time > 1000 {
		t.Errorf("%+v", s)
	}
	if got := r.Tail.Min; got < 1980 || got > 1999 {
		t.Errorf("p99 %v", got)
	}
	requests, slow, weight, all := 0, 0, 0, Parts{}
	for _, b := range r.Blocks {
		for _, c := range b.Classes {
			requests, slow = requests+c.Requests, slow+c.Slow
		}
		for _, q := range b.Slow {
			weight += q.Weight
		}
		for _, p := range b.Parts {
			all.Add(p.Cause, p.All)
		}
	}
	if got, want := all.Total(), r.Total.Total(); requests < n-n/100 || requests > n+n/100 || slow > weight ||
		got < want-want/100 || got > want+want/100 {
		t.Errorf("blocks have %d requests of %d, %d slow ones, %d kept one by one, and %v of %v", requests, n, slow,
			weight, got, want)
	}
	if got := r.Tail.Requests; got < n/100-n/1000 || got > n/100+n/1000 {
		t.Errorf("p99+ has %d requests of %d", got, n)
	}
}

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

// TestStore: details are found again, whole, beyond the ends of chunks.
func TestStore(t *testing.T) {
	var s store
	var list []details
	var spots []spot
	for i := range 5000 {
		d := details{start: int64(i) << 20, waits: []spent{}, samples: []sampled{}}
		d.parts[CauseLock], d.parts[numCauses-1] = int64(i), 1<<40
		for j := range i % 9 {
			d.waits = append(d.waits, spent{waitID(j), int64(j * i)})
		}
		for j := range i % 4 {
			d.samples = append(d.samples, sampled{siteID(j), i})
		}
		if i == 1000 { // too large for a chunk
			d.samples = slices.Repeat([]sampled{{1, 2}}, chunkSize)
		}
		list, spots = append(list, d), append(spots, s.put(&d))
	}
	if len(s) < 4 {
		t.Errorf("%d chunks", len(s))
	}
	got := details{waits: []spent{}, samples: []sampled{}}
	for i, at := range spots {
		if !reflect.DeepEqual(*s.at(at, &got), list[i]) {
			t.Fatalf("%d is %+v, want %+v", i, got, list[i])
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
