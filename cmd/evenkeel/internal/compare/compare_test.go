package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/golden"
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
		if got := loadText(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// began is when the window of eventRun begins.
var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// eventRun is measured for 10 s, from after began.
func eventRun(label string, after time.Duration) runfile.Run {
	return runfile.Run{Label: label, Repeat: 1, Load: &loadgen.Result{
		Answered: 100, Started: began.Add(after),
		Duration: 10 * time.Second,
	}}
}

// eventsOf reads "SECONDS SOURCE STATE" lines, seconds since began.
func eventsOf(t *testing.T, name string, lines ...string) *runfile.Events {
	t.Helper()
	e := &runfile.Events{Name: name}
	for _, l := range lines {
		var s float64
		var ev runfile.Event
		if _, err := fmt.Sscan(l, &s, &ev.Source, &ev.State); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		ev.Time = began.Add(time.Duration(s * 1e9))
		e.List = append(e.List, ev)
	}
	return e
}

func TestLanes(t *testing.T) {
	for name, tt := range map[string]struct {
		events []string
		want   string // source known: state from-to ..., for the run of 0 to 10 s
	}{
		"within":                  {[]string{"1 a serving", "2 a down", "3 a serving"}, "a 1s: down 2s-3s"},
		"from before":             {[]string{"-5 a down", "3 a serving"}, "a 0s: down -5s-3s"},
		"to the end":              {[]string{"4 a down"}, "a 4s: down 4s-10s open"},
		"to after the end":        {[]string{"4 a down", "30 a serving"}, "a 4s: down 4s-30s"},
		"over all of it":          {[]string{"-4 a down", "30 a serving"}, "a 0s: down -4s-30s"},
		"serving over all of it":  {[]string{"-4 a serving", "30 a down"}, ""},
		"only before":             {[]string{"-4 a down", "-3 a serving"}, ""},
		"before, and never ended": {[]string{"-4 a down"}, ""},
		"only after":              {[]string{"10.5 a down"}, ""},
		"until the start":         {[]string{"-4 a down", "0 a serving"}, "a 0s:"},
		"at the end":              {[]string{"10 a down"}, "a 10s: down 10s-10s open"},
		"at one time":             {[]string{"5 a down", "5 a serving"}, "a 5s: down 5s-5s"},
		"backwards":               {[]string{"6 a serving", "5 a down"}, "a 5s: down 5s-6s"},
		"the same line twice":     {[]string{"5 a down", "5 a down", "6 a serving"}, "a 5s: down 5s-6s"},
		"the same state again":    {[]string{"5 a down", "6 a down", "7 a serving"}, "a 5s: down 5s-6s down 6s-7s"},
		"in order of names":       {[]string{"1 r10 x", "1 r9 x"}, "r9 1s: x 1s-10s open; r10 1s: x 1s-10s open"},
		"millennia":               {[]string{"-9e9 a down", "9e9 a serving"}, "a 0s: down -876000h0m0s-876000h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Files([]*runfile.File{{Runs: []runfile.Run{eventRun("v", 0)}}}, []string{"run.json"})
			e := eventsOf(t, "ev", tt.events...)
			if name == "millennia" { // more than a Duration holds
				e.List[0].Time, e.List[1].Time = began.AddDate(-1000, 0, 0), began.AddDate(1000, 0, 0)
			}
			c.SetEvents([]*runfile.Events{e})
			var got []string
			for _, l := range c.lanes[c.Columns[0].Runs[0]] {
				s := fmt.Sprintf("%s %v:", l.Source, l.Known)
				for _, x := range l.Spans {
					s += fmt.Sprintf(" %s %v-%v", x.State, x.From, x.To)
				}
				if l.Open {
					s += " open"
				}
				got = append(got, s)
			}
			if d := cmp.Diff(tt.want, strings.Join(got, "; ")); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestEventsText(t *testing.T) {
	again, other := eventRun("default", 20*time.Second), eventRun("gate", 40*time.Second)
	again.Repeat = 2
	c := Files([]*runfile.File{{Runs: []runfile.Run{eventRun("default", 0), again, other}}}, []string{"run.json"})
	c.SetEvents([]*runfile.Events{
		eventsOf(t, "gate.ndjson", "-1 replica-2 serving", "1 replica-2 collecting", "1.31 replica-2 serving",
			"2 replica-10 draining",
			"2.005 replica-10 collecting", "2.1 replica-10 serving", "22 replica-2 collecting",
			"22.2 replica-2 serving", "41 \x1b[2J down", "42 \x1b[2J serving"),
		eventsOf(t, "deploy.ndjson", "45 deployment v2\u202e"),
	})
	golden.Written(t, "events.golden.txt", func(b *bytes.Buffer) error { return c.Text(b, textfmt.Style{}) })
}

// TestLongestStateFirst: by seconds that differ by more than 32 bits of nanoseconds can say.
func TestLongestStateFirst(t *testing.T) {
	run := eventRun("v", 0)
	c := Files([]*runfile.File{{Runs: []runfile.Run{run}}}, []string{"run.json"})
	c.SetEvents([]*runfile.Events{eventsOf(t, "ev", "1 replica short", "2 replica long", "6 replica last")})
	var got []string
	for _, s := range c.tallies(c.Columns[0].Runs) {
		got = append(got, fmt.Sprint(s.state, " ", s.total))
	}
	if d := cmp.Diff([]string{"long 4s", "last 4s", "short 1s"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestEventsTextIsBounded(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("1 source%d down", i))
	}
	c := Files([]*runfile.File{{Runs: []runfile.Run{eventRun("v", 0)}}}, []string{"run.json"})
	c.SetEvents([]*runfile.Events{eventsOf(t, "ev", lines...)})
	var b strings.Builder
	if err := c.Text(&b, textfmt.Style{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "  source"); n != maxTallies || !strings.Contains(b.String(), "  and 60 more\n") {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
}

func TestEventsNotes(t *testing.T) {
	nowhen := eventRun("v", 0)
	nowhen.Load.Started = time.Time{}
	for _, tt := range []struct {
		run    runfile.Run
		events *runfile.Events
		want   []string
	}{
		{eventRun("v", 0), eventsOf(t, "ev", "5 a b", "50 a c"), nil},
		{eventRun("v", 0), eventsOf(t, "ev"), []string{"ev: no events in it"}},
		{
			eventRun("v", 0), &runfile.Events{Name: "ev", Notes: []string{"ev:2: cut off"}},
			[]string{"ev:2: cut off", "ev: no events in it"},
		},
		{nowhen, eventsOf(t, "ev", "5 a b"), []string{"ev: the runs do not say when they were measured, so no event " +
			"can be placed: measure again"}},
		{eventRun("v", 0), eventsOf(t, "ev", "3605 a b", "3600 a b"), []string{
			"ev: no event in it (the first of 2026-11-21T11:00:05.000Z) lies within a run (the last from " +
				"2026-11-21T10:00:00.000Z on): is it of this measurement, and were the clocks alike?",
		}},
	} {
		c := Files([]*runfile.File{{Runs: []runfile.Run{tt.run}}}, []string{"run.json"})
		c.SetEvents([]*runfile.Events{tt.events})
		if d := cmp.Diff(tt.want, c.Notes); d != "" {
			t.Errorf("%v: -want +got\n%s", tt.events, d)
		}
	}
}

func TestCompareNatural(t *testing.T) {
	want := []string{"", "01x", "1", "01", "1a", "2", "10", "a", "a1", "a01b", "a1b", "a2", "a10", "a10b", "b"}
	slices.SortFunc(want, compareNatural)
	for i, a := range want {
		for k, b := range want {
			if got := compareNatural(a, b); got < 0 != (i < k) || got == 0 != (i == k) {
				t.Errorf("%q and %q: %d, in %q", a, b, got, want)
			}
		}
	}
	got := []string{"replica 10", "replica 9", "replica", "Replica 1"}
	slices.SortFunc(got, compareNatural)
	if d := cmp.Diff([]string{"Replica 1", "replica", "replica 9", "replica 10"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
