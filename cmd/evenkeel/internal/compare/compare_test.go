package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// answered is a run in which that many requests were answered in a second.
func answered(label string, repeat int, n int64) runfile.Run {
	return runfile.Run{
		Label: label, Repeat: repeat,
		Load: &loadgen.Result{Answered: n, Duration: time.Second, Connections: 50},
	}
}

func TestCompareColumns(t *testing.T) {
	ab := &runfile.File{Runs: []runfile.Run{
		answered("a", 1, 10), answered("b", 1, 1), answered("a", 2, 20),
		answered("b", 2, 2),
	}}
	a := &runfile.File{Runs: []runfile.Run{answered("a", 1, 30)}}
	for _, tt := range []struct {
		files []*runfile.File
		names string
		want  string // label and number of runs
	}{
		{[]*runfile.File{ab}, "run.json", "a 2, b 2"},
		{[]*runfile.File{ab, a}, "x/one.json two.json", "one: a 2, b 2, two 1"},
		{[]*runfile.File{a, a}, "x/run.json y/run.json", "x/run.json 1, y/run.json 1"},
		{[]*runfile.File{a, a, a}, "run.json run.json z.json", "run.json 1, run.json (2) 1, z 1"},
		{[]*runfile.File{ab, ab}, "one.json two.json", "one: a 2, one: b 2, two: a 2, two: b 2"},
		{[]*runfile.File{a, ab}, "b.json c.json", "b 1, c: a 2, b (2) 2"},
	} {
		var got []string
		for _, col := range Files(tt.files, strings.Fields(tt.names)).Columns {
			got = append(got, col.Label+" "+textfmt.Count(float64(len(col.Runs))))
		}
		if d := cmp.Diff(tt.want, strings.Join(got, ", ")); d != "" {
			t.Errorf("%s: %s", tt.names, d)
		}
	}
}

func TestCompareCells(t *testing.T) {
	c := Files([]*runfile.File{{Runs: []runfile.Run{
		answered("a", 1, 10), answered("b", 1, 40), answered("a", 2, 30), answered("b", 2, 50), answered("none", 1, 0),
	}}}, []string{""})
	requests := c.Rows[0]
	if requests.Name != "requests" {
		t.Fatalf("first row %q", requests.Name)
	}
	if d := cmp.Diff([]Cell{{true, 20, 10, 30}, {true, 45, 40, 50}, {true, 0, 0, 0}}, requests.Cells); d != "" {
		t.Error(d)
	}
	if c.Repeats() != 2 {
		t.Errorf("%d repeats", c.Repeats())
	}
}

func TestMedianRun(t *testing.T) {
	var col Column
	for _, ms := range []int64{5, 1, 4, 2} {
		col.Runs = append(col.Runs, &runfile.Run{
			Repeat: int(ms),
			Load:   &loadgen.Result{Latency: histogramOf(t, ms*1e6)},
		})
	}
	if r := col.Median(); r.Repeat != 2 {
		t.Errorf("the run with %d ms, want 2: the lower of the middle two", r.Repeat)
	}
	col.Runs = col.Runs[:3]
	// Seconds apart, which an int of 32 bits does not hold in nanoseconds.
	var far Column
	for _, s := range []int64{9, 1, 5} {
		far.Runs = append(far.Runs, &runfile.Run{Repeat: int(s), Load: &loadgen.Result{Latency: histogramOf(t, s*1e9)}})
	}
	if r := far.Median(); r.Repeat != 5 {
		t.Errorf("the run with %d s, want 5", r.Repeat)
	}
	if r := col.Median(); r.Repeat != 4 {
		t.Errorf("the run with %d ms, want 4", r.Repeat)
	}
}

// TestWorstStatus has statuses tie, which a map returns in any order.
func TestWorstStatus(t *testing.T) {
	l := &loadgen.Result{Statuses: map[int]int64{200: 90, 302: 80, 404: 7, 500: 7, 503: 7, 429: 3}}
	for range 100 {
		if s, n := worstStatus(l); s != 404 || n != 7 {
			t.Fatalf("status %d, %d times; want 404, 7 times", s, n)
		}
	}
}

func TestCompareNotes(t *testing.T) {
	run := func(label string, repeat int, change func(*runfile.Run)) runfile.Run {
		r := answered(label, repeat, 100)
		if change != nil {
			change(&r)
		}
		return r
	}
	note := func(n string) func(*runfile.Run) { return func(r *runfile.Run) { r.Notes = []string{n} } }
	rate := func(r *runfile.Run) { r.Load.Rate = 2000 }
	open := func(r *runfile.Run) { r.Load.Rate, r.Load.Late = 2000, 2 }
	for _, tt := range []struct {
		name string
		runs []runfile.Run
		want []string
	}{
		{"nothing to say", []runfile.Run{run("a", 1, nil), run("b", 1, nil)}, nil},
		{"one run", []runfile.Run{run("a", 1, note("n"))}, []string{"a: n"}},
		{"one of two repeats", []runfile.Run{run("a", 1, nil), run("a", 2, note("n"))}, []string{"a: repeat 2: n"}},
		{
			"all of a column",
			[]runfile.Run{run("a", 1, note("n")), run("a", 2, note("n")), run("b", 1, nil)},
			[]string{"a: n"},
		},
		{"all", []runfile.Run{run("a", 1, note("n")), run("a", 2, note("n")), run("b", 1, note("n"))}, []string{"n"}},
		{
			"some of three columns",
			[]runfile.Run{run("a", 1, note("n")), run("b", 1, nil), run("c", 1, note("n"))},
			[]string{"a; c: n"},
		},
		{"interrupted", []runfile.Run{run("a", 1, func(r *runfile.Run) {
			r.Load.Interrupted = true
		})}, []string{"a: the load was interrupted"}},
		{"failures", []runfile.Run{run("a", 1, func(r *runfile.Run) {
			r.Load.Failed, r.Load.Failures = 1234, []loadgen.Failure{{
				Class: loadgen.ClassTimeout, Count: 1234,
				Example: "too slow",
			}}
		})}, []string{"a: 1,234 failed (timeout), for instance: too slow"}},
		{"late", []runfile.Run{run("a", 1, open)}, []string{"a: 2 of 100 requests were sent more than 1 ms after " +
			"they were due, because the client or the service did not keep up; " +
			"their latency counts from then all the same"}},
		{"late generator", []runfile.Run{run("a", 1, func(r *runfile.Run) {
			open(r)
			r.Load.Pacer = histogramOf(t, 1, 2,
				2e6, 3e6)
		})}, []string{"a: 2 of 100 requests were sent more than 1 ms after they were due, because the " +
			"load generator itself was late; their latency counts from then all the same"}},
		{"late service", []runfile.Run{run("a", 1, func(r *runfile.Run) {
			open(r)
			r.Load.Pacer = histogramOf(t, 1, 2,
				3, 4)
		})}, []string{"a: 2 of 100 requests were sent more than 1 ms after they were due, because no " +
			"connection was free: the service did not keep up; their latency counts from then all the same"}},
		{"late, several", []runfile.Run{
			run("a", 1, open), run("a", 2, rate),
			run("a", 3, func(r *runfile.Run) { open(r); r.Load.Late = 7 }), run("b", 1, open),
		}, []string{
			"a: repeats 1, 3; b: in a run up to 7 of 100 requests were sent more than 1 ms after they were due, " +
				"because the client or the service did not keep up; their latency counts from then all the same",
		}},
		{"loads", []runfile.Run{run("a", 1, nil), run("b", 1, open)}, []string{
			"b: 2 of 100 requests were sent more than 1 ms after they were due, because the client or the service " +
				"did " +
				"not keep up; their latency counts from then all the same",
			"a and b had different loads: 50 connections (closed loop) against 2,000 requests/s (open loop)",
		}},
		{
			"connections",
			[]runfile.Run{run("a", 1, nil), run("b", 1, func(r *runfile.Run) { r.Load.Connections = 4 })},
			[]string{"a and b had different loads: 50 connections (closed loop) against 4 connections (closed loop)"},
		},
	} {
		c := Files([]*runfile.File{{Runs: tt.runs}}, []string{""})
		if d := cmp.Diff(tt.want, c.Notes); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	files := []*runfile.File{
		{Runs: []runfile.Run{answered("a", 1, 1)}},
		{Machine: runfile.Machine{Cores: 8}, Runs: []runfile.Run{answered("b", 1, 1)}},
	}
	c := Files(files, []string{"a", "b"})
	if len(c.Machines) != 2 || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "2 different machines") {
		t.Errorf("machines %v, notes %q", c.Machines, c.Notes)
	}
}

// TestLoadTextUnknown: a load of which nothing is known is not taken for a closed loop of no
// connections.
func TestLoadTextUnknown(t *testing.T) {
	for want, l := range map[string]*loadgen.Result{
		"a load of unknown rate and connections": {},
		"1 connection (closed loop)":             {Connections: 1},
		"7 connections (closed loop)":            {Connections: 7},
		"100 requests/s (open loop)":             {Rate: 100},
	} {
		if got := LoadText(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
