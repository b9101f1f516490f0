package observe

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// TestWindow has the server's clock seem late by the time that its lines took to arrive, and
// the ends of its collections be rounded down.
func TestWindow(t *testing.T) {
	const ms = time.Millisecond
	started := time.Now()
	end := func(n int64, at time.Duration, forced bool) gctrace.Cycle {
		return gctrace.Cycle{N: n, At: at - ms, Wall: gctrace.WallPhases{Mark: ms}, Procs: 2, Forced: forced}
	}
	cycles := []gctrace.Cycle{
		end(1, 900*ms, false), end(2, 1001*ms, true), // before: the second for the profile, read before the load
		end(3, 1500*ms, false), end(4, 1700*ms, true), // in the window: the program may force collections too
		end(5, 1999*ms, true), // after: for the profile, rounded down into the window
		end(6, 1999*ms, false),
	}
	for _, tt := range []struct {
		name                  string
		profiled              bool
		seenBefore, seenAfter int
		want                  int64
	}{
		{"by the clock alone", false, 0, 6, 5},
		{"what was read before had ended before", false, 2, 6, 4},
		{"the profile's own collection is left out", true, 2, 4, 2},
		{"so is a forced one that was on its way when the load ended", true, 2, 3, 1},
	} {
		o := &Observer{
			Traced:     true,
			Run:        runfile.Run{Load: &loadgen.Result{Started: started, Duration: time.Second}},
			seenBefore: tt.seenBefore, seenAfter: tt.seenAfter,
		}
		o.Trace.cycles, o.Trace.start = cycles, started.Add(-time.Second)
		if tt.profiled {
			o.before = &allocations{}
		}
		o.fillGC()
		gc := o.Run.GC
		if gc.Summary.Collections != tt.want || int64(len(gc.Collections)) != tt.want {
			t.Errorf("%s: %d and %d collections, want %d", tt.name, gc.Summary.Collections, len(gc.Collections),
				tt.want)
		}
		if w, _ := gc.Summary.Window.Get(); w != time.Second {
			t.Errorf("%s: a window of %v, want that of the load", tt.name, w)
		}
	}
}

// heap makes a profile of stacks, each written innermost first as "function:line" with "+"
// between calls that were inlined into one another, and bytes.
func heap(stacks map[string]int64) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}},
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1,
	}
	functions := map[string]*profile.Function{}
	for stack, n := range stacks {
		s := &profile.Sample{Value: []int64{1, n}}
		for loc := range strings.FieldsSeq(stack) {
			l := &profile.Location{ID: uint64(len(p.Location) + 1)}
			for call := range strings.SplitSeq(loc, "+") {
				name, line, _ := strings.Cut(call, ":")
				if functions[name] == nil {
					functions[name] = &profile.Function{
						ID: uint64(len(functions) + 1), Name: name,
						Filename: "/src/dir/file.go",
					}
					p.Function = append(p.Function, functions[name])
				}
				l.Line = append(l.Line, profile.Line{Function: functions[name], Line: int64(len(line))})
			}
			p.Location = append(p.Location, l)
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestSince(t *testing.T) {
	before := &allocations{memStats: &memStats{total: 1000}, profile: heap(map[string]int64{
		"main.a:1 main.main:1": 50,
		"main.gone:1":          7,
	})}
	after := &allocations{memStats: &memStats{total: 5000}, profile: heap(map[string]int64{
		"main.a:1 main.main:1": 150, // 100 of it in the window
		"main.gone:1":          7,   // none
		"main.rec:1 main.rec:11 main.rec:11 main.main:1":             30,  // recursion
		"bytes.growSlice:1+bytes.grow:1+main.page:111 main.main:1":   400, // inlined into one location
		"runtime.mallocgc:1 net/http.serve:1":                        20,  // standard to the end
		"bytes.growSlice:1 bytes.grow:1 main.page:1111 main.main:11": 5,
	})}
	got, err := after.since(before, 10)
	if err != nil {
		t.Fatal(err)
	}
	line := func(name string, line, n int64) runfile.Site {
		return runfile.Site{Name: name, File: "dir/file.go", Line: line, Flat: n}
	}
	want := &runfile.Alloc{
		Bytes: 4000, Source: runfile.FromMemStats, Sampled: 555,
		Lines: []runfile.Site{
			line("main.page", 3, 400), line("main.a", 1, 100), line("main.rec", 1, 30),
			line("runtime.mallocgc", 1, 20), line("main.page", 4, 5),
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got: %s", d)
	}
	if short, err := after.since(&allocations{memStats: &memStats{}, profile: heap(nil)}, 1); err != nil ||
		len(short.Lines) != 1 {
		t.Errorf("top 1: %+v, %v", short, err)
	}
}

func TestSinceNoAllocSpace(t *testing.T) {
	p := heap(nil)
	p.SampleType[1].Type = "cpu"
	if _, err := (&allocations{memStats: &memStats{}, profile: p}).since(&allocations{
		memStats: &memStats{},
		profile:  p.Copy(),
	}, 1); err == nil {
		t.Error("no error")
	}
}

func TestSitesText(t *testing.T) {
	a := &runfile.Alloc{
		Bytes: 10 << 20, Sampled: 8 << 20,
		Lines: []runfile.Site{
			{Name: "main.f", File: "dir/f.go", Line: 12, Flat: 6 << 20},
			{Name: "main.g", File: "dir/f.go", Line: 20, Flat: 2 << 20},
		},
	}
	golden.Written(t, "alloc.golden.txt", func(b *bytes.Buffer) error { return WriteSites(b, a, textfmt.Style{}) })
	var b strings.Builder
	if err := WriteSites(&b, new(runfile.Alloc), textfmt.Style{}); err != nil || b.String() != "" {
		t.Errorf("of nothing: %q, %v", b.String(), err)
	}
}
