package reqtrace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evenkeel.dev/reqtrace/region"
)

func TestParts(t *testing.T) {
	const ms = time.Millisecond
	p := PartsOf(map[Cause]time.Duration{CauseRunning: 2 * ms, CauseLock: 3 * ms})
	p.Add(CauseLock, ms)
	p.Add(numCauses, 5*ms) // of a cause that there is not
	var sum Parts
	sum.AddAll(p)
	sum.AddAll(p)
	if p.Of(CauseLock) != 4*ms || p.Of(CauseUnknown) != 5*ms || p.Of(numCauses) != 0 || p.Total() != 11*ms ||
		sum.Total() != 22*ms {
		t.Errorf("%v, %v", p, sum)
	}
	for text, p := range map[string]fmt.Stringer{
		"unknown 5ms, lock 4ms, running 2ms": p,
		"no time":                            Parts{},
		"running 1ms, lock -1ms":             PartsOf(map[Cause]time.Duration{CauseLock: -ms, CauseRunning: ms}),
	} {
		if got := p.String(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	if got, want := fmt.Sprintf("%+v", Request{Parts: p}),
		"Parts:unknown 5ms, lock 4ms, running 2ms "; !strings.Contains(got, want) {
		t.Errorf("%s lacks %q", got, want)
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

func TestPartsJSON(t *testing.T) {
	p := PartsOf(map[Cause]time.Duration{CauseRunqueueGC: 3, CauseLock: 5})
	b, err := json.Marshal(p)
	if err != nil || string(b) != `{"lock":5,"runqueue-gc":3}` {
		t.Errorf("%s, %v", b, err)
	}
	var back Parts
	if err := json.Unmarshal(b, &back); err != nil || back != p {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"gremlins":1}`), &back); err == nil ||
		!strings.Contains(err.Error(), "gremlins") {
		t.Errorf("a cause that there is not: %v", err)
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
		r.Blocks[i].Slow = nil // is for Compare of internal/verdict, and not written
	}
	for i := range r.Slowest {
		r.Slowest[i].Clock, r.Slowest[i].Began, r.Slowest[i].Ran = 0, time.Time{}, "" // these are not written
	}
	if d := cmp.Diff(*r, back, cmp.Comparer(func(a, b Parts) bool { return a == b }), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-written +read\n%s", d)
	}
	band := Band{Excess: PartsOf(map[Cause]time.Duration{CauseLock: 3, CauseSleep: 1, CauseRunning: -2})}
	if b, err := json.Marshal(band); err != nil ||
		!strings.HasSuffix(string(b), `"excess_ns":{"lock":3,"running":-2,"sleep":1},"sites":[],`+
			`"shares":{"lock":0.75,"sleep":0.25}}`) {
		t.Errorf("%s, %v", b, err)
	}
	q := Request{ID: "a", Cut: CutEnd}
	want := `{"id":"a","goroutine":0,"start_ns":0,"end_ns":0,"cut":"end","parts_ns":{},"sites":[],"path":[]}`
	if b, err := json.Marshal(q); err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	var cut Cut
	if err := cut.UnmarshalText([]byte("start")); err != nil || cut != CutStart {
		t.Errorf("%v, %v", cut, err)
	}
	if err := cut.UnmarshalText([]byte("middle")); err == nil {
		t.Error("there is no such edge")
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
