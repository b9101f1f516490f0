package compare

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// mixed is a run with everything that a load on a service that runs already can tell.
func mixed(t *testing.T) *runfile.Run {
	t.Helper()
	r := known(t)
	var quick, slow loadgen.Histogram
	for i := range 90 {
		quick.Record(time.Duration(i) * time.Millisecond)
	}
	for i := range 10 {
		slow.Record(time.Second + time.Duration(i)*time.Millisecond)
	}
	r.Load.Classes = []loadgen.TargetClass{
		{
			Name: "GET http://127.0.0.1:8080/a", Share: .9, Answered: 90, Bytes: 9000, Latency: quick,
			Statuses: map[int]int64{200: 90},
		},
		{Name: "search", Share: .1, Answered: 8, Failed: 2, Latency: slow, Statuses: map[int]int64{200: 3, 503: 5}},
		{Name: "never", Failed: 4},
	}
	for range 30 {
		r.Load.Targets = append(r.Load.Targets, "GET http://127.0.0.1:8080/c")
	}
	r.Load.MoreTargets, r.Load.Bytes = 70, 9000
	r.Load.Rate, r.Load.Late = 20000, 900
	r.Load.Overload = &loadgen.Overload{
		Asked: 20000, Answered: 3559,
		Text: "the service answered 3,559/s; 20,000/s is more than it can do",
	}
	seed := uint64(42)
	r.Mix = &runfile.Mix{File: "targets.txt", Seed: &seed, Made: 10000}
	r.PProf, r.GC.Source = "http://127.0.0.1:8080/debug/pprof/", runfile.GCFromMemStats
	r.Disturbance = &runfile.Disturbance{
		Window: time.Minute, Service: "server", Other: gctrace.Of(23.4),
		Steal: gctrace.Of(5.),
	}
	return r
}

func TestLoadTextOfAMix(t *testing.T) {
	golden.Written(t, "load-mix.golden.txt", func(b *bytes.Buffer) error {
		return WriteLoad(b, mixed(t), textfmt.Style{})
	})
}

// TestClassesOfColumns adds the repeats of a variant up, and leaves out a variant without classes.
func TestClassesOfColumns(t *testing.T) {
	one, two, plain := mixed(t), mixed(t), known(t)
	two.Repeat, plain.Label = 2, "plain"
	c := Files([]*runfile.File{{Runs: []runfile.Run{*one, *two, *plain}}}, []string{"run.json"})
	tables := c.Classes()
	if len(tables) != 1 || tables[0].Column != 0 || len(tables[0].Rows) != 4 {
		t.Fatalf("%+v", tables)
	}
	for i, want := range []string{
		"all 100.0% 208 12 10", "GET http://127.0.0.1:8080/a 90.0% 180 0 0",
		"search 10.0% 20 4 10", "never 0.0% 8 8 0 - - - - - - -",
	} {
		r := tables[0].Rows[i]
		if got := r.Name + " " + strings.Join(r.Cells, " "); !strings.HasPrefix(got, want) {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
	if n := one.Load.Classes[0].Latency.Count(); n != 90 {
		t.Errorf("a run's own histogram has %d durations now: it was added to", n)
	}
	var b bytes.Buffer
	if err := c.Text(&b, textfmt.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"requests of " + c.Columns[0].Label, "more than it can do",
		"in a run up to 23% of this machine's processor time went to processes other than evenkeel and server",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &b)
		}
	}
}

func TestDisturbances(t *testing.T) {
	for _, tt := range []struct {
		d    *runfile.Disturbance
		want string
	}{
		{nil, ""},
		{&runfile.Disturbance{Window: time.Minute}, ""},
		{&runfile.Disturbance{Window: time.Minute, Other: gctrace.Of(2.), Steal: gctrace.Of(.5)}, ""},
		{&runfile.Disturbance{Window: time.Millisecond, Other: gctrace.Of(50.)}, ""},
		{
			&runfile.Disturbance{Window: time.Minute, Other: gctrace.Of(49.6)},
			"50% of this machine's processor time went to processes other than evenkeel",
		},
		{
			&runfile.Disturbance{Window: time.Minute, Steal: gctrace.Of(1.2)},
			"1% of this machine's processor time was taken by its hypervisor (steal)",
		},
	} {
		var texts []string
		for _, n := range disturbances(&runfile.Run{Disturbance: tt.d}) {
			texts = append(texts, n.text)
		}
		if got := strings.Join(texts, "|"); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.d, got, tt.want)
		}
	}
}

// TestClassesPooled: a table of classes says that it has the requests of all repeats, where the
// table above has medians.
func TestClassesPooled(t *testing.T) {
	one, two, cut := mixed(t), mixed(t), mixed(t)
	two.Repeat, cut.Repeat, cut.Load.Interrupted = 2, 3, true
	const says = "all requests of 2 repeats; the first table has medians of repeats"
	for want, runs := range map[string][]runfile.Run{"": {*one}, says: {*one, *two, *cut}} {
		c := Files([]*runfile.File{{Runs: runs}}, []string{"run.json"})
		var b bytes.Buffer
		if err := c.Text(&b, textfmt.Style{}); err != nil {
			t.Fatal(err)
		}
		if got := c.Classes()[0].Pooled; got != want || !strings.Contains(b.String(), want) {
			t.Errorf("%d runs: %q, want %q:\n%s", len(runs), got, want, b.String())
		}
	}
}

// TestInterruptedRepeat: a repeat that was cut short is in no cell beside whole ones, nor is it
// drawn, and a footnote says so.
func TestInterruptedRepeat(t *testing.T) {
	runs := []runfile.Run{answered("a", 1, 100), answered("a", 2, 110), answered("a", 3, 5)}
	runs[2].Load.Interrupted = true
	c := Files([]*runfile.File{{Runs: runs}}, []string{"run.json"})
	if cell := c.Row("requests").Cells[0]; cell.Median != 105 || cell.Min != 100 {
		t.Errorf("%+v", cell)
	}
	if got := c.Footnotes()[0]; got != "median of 2 repeats, without 1 interrupted" {
		t.Error(got)
	}
	if c.Columns[0].Median() == c.Columns[0].Runs[2] {
		t.Error("the interrupted one is drawn")
	}
	alone := Files([]*runfile.File{{Runs: runs[2:]}}, []string{"run.json"})
	if cell := alone.Row("requests").Cells[0]; !cell.Known || cell.Median != 5 {
		t.Errorf("alone: %+v", cell)
	}
}
