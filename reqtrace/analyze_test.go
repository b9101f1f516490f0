package reqtrace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"evenkeel.dev/internal/golden"
)

// checkBlocks holds a report's blocks against its other sums.
func checkBlocks(t *testing.T, r *Report) {
	t.Helper()
	var requests, slow, kept int
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
		for _, q := range b.Slow {
			kept += b.Weight
			if q.Start < b.Start || q.Start > b.End {
				t.Errorf("a request from %v on in a block from %v to %v", q.Start, b.Start, b.End)
			}
			var parts time.Duration
			for _, p := range q.Sites {
				parts += p.Time
			}
			if parts != q.Duration() {
				t.Errorf("parts of %v in a request of %v", parts, q.Duration())
			}
		}
	}
	if requests != r.Requests || slow != r.Tail.Requests || kept < slow || kept > r.Requests || at != r.Trace {
		t.Errorf("%d requests of %d, %d slow of %d, %d kept, to %v of %v", requests, r.Requests, slow, r.Tail.Requests,
			kept, at, r.Trace)
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
			for _, q := range b.Slow {
				found = found || slices.ContainsFunc(q.Sites, func(s Blame) bool {
					return s.Cause == CauseLock && s.Site == planted
				})
			}
		}
		if !found {
			t.Error("no block has the lock's place among the slowest")
		}
	})
}

// TestBlocksBounded: many classes are folded, and no request is lost.
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
	classes := map[string]int{}
	for _, b := range r.Blocks {
		for _, c := range b.Classes {
			classes[c.Class] += c.Requests
		}
	}
	if len(classes) != blockClasses+1 || classes[OtherClasses] == 0 || classes["GET /0"] < classes["GET /9"] {
		t.Errorf("classes: %v", classes)
	}
}

// TestKeep: of a trace with more requests than are kept, half stay, each with its own details, and
// the figures are near those of all.
func TestKeep(t *testing.T) {
	const most = 1 << 17
	const n = most + most/2
	m, err := newModel(Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := analysis{slowest: 1, most: most}
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
	requests, slow, weight := 0, 0, 0
	for _, b := range r.Blocks {
		for _, c := range b.Classes {
			requests, slow = requests+c.Requests, slow+c.Slow
		}
		weight += b.Weight * len(b.Slow)
	}
	if requests < n-n/100 || requests > n+n/100 || slow > weight {
		t.Errorf("blocks have %d requests of %d, %d slow ones, %d kept one by one", requests, n, slow, weight)
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

// TestPack: details are found again, whole, beyond the ends of chunks.
func TestPack(t *testing.T) {
	var a analysis
	var list []details
	var packs []record
	for i := range 5000 {
		d := details{
			start: int64(i) << 20, waits: []spent{{waitID(CauseLock), int64(i)}, {waitID(numCauses - 1), 1 << 40}},
			samples: []sampled{},
		}
		for j := range i % 9 {
			d.waits = append(d.waits, spent{waitID(j), int64(j * i)})
		}
		for j := range i % 4 {
			d.samples = append(d.samples, sampled{siteID(j), i})
		}
		if i == 1000 { // too large for a chunk
			d.samples = slices.Repeat([]sampled{{1, 2}}, chunkSize)
		}
		list, packs = append(list, d), append(packs, record{details: a.pack(&d)})
	}
	a.scratch = details{waits: []spent{}, samples: []sampled{}}
	for i := range packs {
		if got := a.detailsOf(&packs[i]); !reflect.DeepEqual(*got, list[i]) {
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

// planted is where the program in testdata/gen waits for the lock that others hold.
const planted = "main.(*cache).get (main.go:33)"

// recorded calls f for each trace that a Go release has written (testdata/gen.sh).
func recorded(t *testing.T, f func(t *testing.T, name string, trace []byte)) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.trace.gz")
	if err != nil || len(names) < 6 {
		t.Fatalf("%q, %v: reqtrace/testdata/gen.sh writes them", names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".trace.gz"), func(t *testing.T) {
			t.Parallel()
			packed, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer packed.Close()
			z, err := gzip.NewReader(packed)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			f(t, strings.TrimSuffix(name, ".trace.gz"), b)
		})
	}
}

// TestRecordedTraces reads the traces of real programs of all Go releases that write such traces: the planted
// lock is found, and the figures are those of the .json files. -update writes those anew.
func TestRecordedTraces(t *testing.T) {
	t.Parallel()
	recorded(t, func(t *testing.T, name string, b []byte) {
		r, err := Analyze(t.Context(), bytes.NewReader(b), Options{Slowest: 3})
		if err != nil {
			t.Fatal(err)
		}
		const requests = 300 // of gen; each connection's last answer is written when the trace ends
		if n := r.Requests + r.CutEnd; n < requests-2 || n > requests || r.CutEnd > 2 || r.CutStart != 0 ||
			r.Procs != 2 || r.Broken != "" {
			t.Errorf("%d whole requests, %d and %d cut, %d Ps, broken: %q", r.Requests, r.CutStart, r.CutEnd, r.Procs,
				r.Broken)
		}
		if s := r.Tail.Share(CauseLock); s < .5 || r.Tail.Sites[0].Cause != CauseLock ||
			r.Tail.Sites[0].Site != planted {
			t.Errorf("the lock has %f of the excess; most is %+v", s, r.Tail.Sites[0])
		}
		if u := r.Total.Of(CauseUnknown); u > r.Total.Total()/100 {
			t.Errorf("unknown: %v of %v", u, r.Total.Total())
		}
		r.CCDF, r.Spans, r.Blocks = nil, nil, nil
		for i := range r.Slowest {
			check(t, r.Slowest[i])
			r.Slowest[i].Path = nil
		}
		golden.JSON(t, filepath.Base(name)+".json", r)
	})
}

// TestCutOff: of a trace that is cut off or corrupt, its complete generations are read; Read hands out
// their requests before it fails, and Analyze reports on them.
func TestCutOff(t *testing.T) {
	t.Parallel()
	recorded(t, func(t *testing.T, _ string, b []byte) {
		all, err := Analyze(t.Context(), bytes.NewReader(b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		cut := b[:len(b)*3/4]
		corrupt := append(bytes.Clone(cut), bytes.Repeat([]byte{0xff}, len(b)-len(cut))...)
		for name, b := range map[string][]byte{"cut off": cut, "corrupt": corrupt} {
			r, err := Analyze(t.Context(), bytes.NewReader(b), Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if r.Requests < 10 || r.Requests >= all.Requests ||
				r.Trace >= all.Trace || !strings.Contains(r.Broken, "within the first") ||
				strings.Contains(r.Broken, "\n") {
				t.Errorf("%s: %d requests of %d in %v of %v, broken: %q", name, r.Requests, all.Requests, r.Trace,
					all.Trace, r.Broken)
			}
			if site := r.Tail.Sites[0]; site.Cause != CauseLock || site.Site != planted {
				t.Errorf("%s: most of p99+ is %+v", name, site)
			}
			whole, failed := 0, error(nil)
			for q, err := range Read(t.Context(), bytes.NewReader(b), Options{}) {
				switch {
				case failed != nil:
					t.Errorf("%s: something after %v", name, failed)
				case err != nil:
					failed = err
				case q.Cut == "":
					whole++
				}
			}
			if whole != r.Requests || !errors.Is(failed, ErrBroken) || !strings.Contains(failed.Error(), r.Broken) {
				t.Errorf("%s: %d requests of %d, then %v", name, whole, r.Requests, failed)
			}
		}
	})
}
