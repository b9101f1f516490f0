package reqtrace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/exp/trace"

	"evenkeel.dev/reqtrace/region"
)

func TestParts(t *testing.T) {
	const ms = time.Millisecond
	p := partsOf(map[Cause]time.Duration{CauseRunning: 2 * ms, CauseLock: 3 * ms})
	p.Add(CauseLock, ms)
	p.Add(numCauses, 5*ms) // of a cause that there is not
	var sum Parts
	sum.addAll(p)
	sum.addAll(p)
	if p.Of(CauseLock) != 4*ms || p.Of(CauseUnknown) != 5*ms || p.Of(numCauses) != 0 || p.Total() != 11*ms ||
		sum.Total() != 22*ms {
		t.Errorf("%v, %v", p, sum)
	}
}

// TestPartsAreOpaque: another cause must not change what users' programs are compiled against.
func TestPartsAreOpaque(t *testing.T) {
	p := reflect.TypeFor[Parts]()
	if p.Kind() != reflect.Struct {
		t.Fatalf("Parts is a %v", p.Kind())
	}
	for i := range p.NumField() {
		if f := p.Field(i); f.IsExported() {
			t.Errorf("%s is exported", f.Name)
		}
	}
	if list := Causes(); len(list) != int(numCauses) || list[0] != CauseUnknown || list[CauseSleep] != CauseSleep {
		t.Errorf("%v", list)
	}
	for _, c := range Causes() {
		if !causeNames.Has(c) || c.String() == "" {
			t.Errorf("cause %d has no name", c)
		}
	}
}

func partsOf(times map[Cause]time.Duration) (p Parts) {
	for c, d := range times {
		p.Add(c, d)
	}
	return p
}

func TestPartsJSON(t *testing.T) {
	p := partsOf(map[Cause]time.Duration{CauseRunqueueGC: 3, CauseLock: 5})
	b, err := json.Marshal(p)
	if err != nil || string(b) != `{"lock":5,"runqueue-gc":3}` {
		t.Errorf("%s, %v", b, err)
	}
	var back Parts
	if err := json.Unmarshal(b, &back); err != nil || back != p {
		t.Errorf("%v, %v", back, err)
	}
	later := partsOf(map[Cause]time.Duration{CauseUnknown: 3, CauseLock: 5})
	if err := json.Unmarshal([]byte(`{"gremlins":1,"lock":5,"trolls":2}`), &back); err != nil || back != later {
		t.Errorf("causes of a later release: %v, %v", back, err)
	}
}

// TestReportJSON: a report is read back as it was written, has its causes by name, its lists where they
// are empty, and the shares of each band.
func TestReportJSON(t *testing.T) {
	r, err := Analyze(t.Context(), bytes.NewReader(traced(t, region.Middleware(work()), 2, 50)), Options{Slowest: 2})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	for i := range r.Blocks {
		r.Blocks[i].Slow, r.Blocks[i].Weight = nil, 0 // for Compare of internal/verdict, and not written
	}
	for i := range r.Slowest {
		q := &r.Slowest[i]
		q.Clock, q.Began, q.Sent, q.Ran = 0, time.Time{}, 0, "" // these are not written
	}
	if d := cmp.Diff(*r, back, cmp.Comparer(func(a, b Parts) bool { return a == b }), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-written +read\n%s", d)
	}
	band := Band{Excess: partsOf(map[Cause]time.Duration{CauseLock: 3, CauseSleep: 1, CauseRunning: -2})}
	if b, err := json.Marshal(band); err != nil ||
		!strings.HasSuffix(string(b), `"excess_ns":{"lock":3,"running":-2,"sleep":1},`+
			`"sites":[],"shares":{"lock":0.75,"sleep":0.25}}`) {
		t.Errorf("%s, %v", b, err)
	}
	q := Request{ID: "a", Cut: CutEnd}
	want := `{"id":"a","goroutine":0,"start_ns":0,"end_ns":0,"cut":"end","parts_ns":{},"sites":[],"path":[]}`
	if b, err := json.Marshal(q); err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

// BenchmarkAnalyze reads a recorded trace: what a change costs is seen in its allocations, whatever
// else the machine does.
func BenchmarkAnalyze(b *testing.B) {
	packed, err := os.Open("testdata/go1.27.trace.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Analyze(b.Context(), bytes.NewReader(data), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSamples: samples count where running is booked: of the request's own goroutine, of a child
// that it waits for, and of nobody else.
func TestSamples(t *testing.T) {
	s := newScript(t, 4)
	s.at(10).born(1)
	sample := func(g int, f string) {
		feed(s, g, trace.EventStackSample, trace.StackSample{}, stack(f, "main.handle"))
	}
	s.at(100).wake(0, 1).run(1, 1).begin(1).create(1, 2).create(0, 3).run(2, 2).run(3, 3)
	s.at(110)
	sample(1, "main.own")
	s.at(120).wait(1, "chan receive", "main.handle")
	s.at(130)
	sample(2, "main.child")
	s.at(140)
	sample(2, "main.child")
	sample(3, "main.stranger")
	feed(s, 0, trace.EventStackSample, trace.StackSample{}, stack("runtime.schedule"))
	s.at(150).wake(2, 1).run(1, 1)
	sample(2, "main.child") // it does not wait any more
	s.at(200).end(1).wait(1, "network", "main.serve")
	s.one()
	at := map[siteID]int{}
	for _, x := range s.m.turns.done[0].samples {
		at[x.site] += x.n
	}
	list := s.m.sites.samples(at)
	if len(list) != 2 || list[0].Site != "main.child (x.go:7)" || list[0].Count != 2 ||
		list[1].Site != "main.own (x.go:7)" || list[1].Count != 1 || s.m.samples != 6 {
		t.Errorf("%+v, of %d", list, s.m.samples)
	}
	if x := list[0]; math.Abs(x.Share-2./3) > 1e-9 || x.Low > x.Share || x.High < x.Share || x.Low < .2 ||
		x.High > .95 {
		t.Errorf("%+v", x)
	}
}

// TestSampleClass: a request that only ran has its class from a sample's stack, and the next one on
// the connection has its own.
func TestSampleClass(t *testing.T) {
	s := newScript(t, 2)
	s.at(10).born(1)
	for i, handler := range []string{"main.report", "", "net/http.(*ServeMux).findHandler"} {
		at := int64(100 + 100*i)
		s.at(at).wake(0, 1).run(1, 1).begin(1).at(at + 10)
		if handler != "" {
			feed(s, 1, trace.EventStackSample, trace.StackSample{}, stack("gcWriteBarrier",
				handler, "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP",
				"net/http.(*conn).serve"))
		}
		s.at(at+50).end(1).wait(1, "network", "main.serve")
		if x := s.m.turns.done[i].samples; i == 0 &&
			(len(x) != 1 || s.m.sites.name(x[0].site) != "main.report (x.go:7)") {
			t.Errorf("%+v", x)
		}
	}
	var classes []string
	for _, r := range s.m.turns.done {
		classes = append(classes, s.m.sites.name(r.class))
	}
	if !slices.Equal(classes, []string{"main.report", "", ""}) {
		t.Errorf("%q", classes)
	}
}

// TestWilson holds the interval to published figures (Newcombe, Statistics in Medicine 17, 1998, table I).
func TestWilson(t *testing.T) {
	for _, tt := range []struct {
		n, all    int
		low, high float64
	}{
		{81, 263, .2553, .3662},
		{15, 148, .0624, .1605},
		{0, 20, 0, .1611},
		{1, 29, .0061, .1718},
		{10, 20, .2993, .7007},
		{10, 19, .3171, .7267},
		{18, 19, .7536, .9906},
		{5, 5, .5655, 1},
		{0, 4, 0, .4899},
		{0, 0, 0, 1},
	} {
		if low, high := wilson(tt.n, tt.all); math.Abs(low-tt.low) > 1e-3 || math.Abs(high-tt.high) > 1e-3 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tt.n, tt.all, low, high, tt.low, tt.high)
		}
	}
}

// TestRan tests that without a CPU profile, preemptions during work for a request say where it ran
// most.
func TestRan(t *testing.T) {
	s := newScript(t, 1)
	s.at(10).born(1)
	s.at(100).wake(0, 1).run(1, 1).begin(1)
	for i, f := range []string{"main.parse", "main.hash", "main.hash"} {
		s.at(int64(110+10*i)).off(1, trace.GoRunnable, "preempted", "runtime.asyncPreempt", f, "main.handle").run(1, 1)
	}
	s.at(200).end(1).wait(1, "network", "main.serve")
	s.one()
	if got := s.m.turns.done[0].out(s.m).Ran; got != "main.hash"+at {
		t.Errorf("Ran is %q", got)
	}
}

// TestHolderBySamples tests that a holder with too few samples of a CPU profile was descheduled,
// and that one with enough, or one too short to tell, was not. A hold that several requests wait
// for counts once.
func TestHolderBySamples(t *testing.T) {
	for name, tt := range map[string]struct {
		held    int64 // µs
		samples int
		want    Cause // that the holder did
	}{
		"no sample in 50 ms":   {50_000, 0, CauseDescheduled},
		"no sample in 30 ms":   {30_000, 0, CauseRunning},
		"3 samples in 50 ms":   {50_000, 3, CauseRunning},
		"3 samples in 200 ms":  {200_000, 3, CauseDescheduled},
		"20 samples in 200 ms": {200_000, 20, CauseRunning},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, 4)
			s.at(10).born(1).born(3).create(0, 2).run(2, 2)
			feed(s, 2, trace.EventStackSample, trace.StackSample{}, stack("main.before")) // a profile runs
			s.at(100).wake(0, 1).run(1, 1).begin(1).wake(0, 3).run(3, 3).begin(3)
			s.at(110).wait(1, "sync", "sync.(*Mutex).Lock", "main.ask").wait(3, "sync", "sync.(*Mutex).Lock",
				"main.ask")
			for i := range int64(tt.samples) {
				s.at(120 + i*(tt.held-20)/int64(tt.samples))
				feed(s, 2, trace.EventStackSample, trace.StackSample{}, stack("main.refresh"))
			}
			s.at(110 + tt.held)
			for _, g := range []int{1, 3} {
				s.move(2, g, trace.GoWaiting, trace.GoRunnable, "",
					stack("sync.(*Mutex).Unlock", "main.refresh")).run(g, g)
				s.end(g).wait(g, "network", "main.serve")
			}
			q := s.m.turns.done[0]
			r := q.out(s.m)
			if len(r.Sites) == 0 || r.Sites[0].Cause != CauseLock || r.Sites[0].Doing != tt.want {
				t.Errorf("%+v", r.Sites)
			}
		})
	}
}
