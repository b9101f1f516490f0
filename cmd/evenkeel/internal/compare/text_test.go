package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

func TestComparisonText(t *testing.T) {
	slow := known(t)
	slow.Label, slow.GC, slow.Notes = "gc off, λ", nil, []string{"the server printed no gctrace line"}
	slow.Load.Duration *= 2
	again := known(t)
	again.Repeat, again.Load.Answered, again.Load.Interrupted = 2, 1500, true
	c := Files([]*runfile.File{{Runs: []runfile.Run{*known(t), *again, *slow}}}, []string{"run.json"})
	golden.Written(t, "compare.golden.txt", func(b *bytes.Buffer) error { return c.Text(b, textfmt.Style{}) })
}

// TestVerdictText has variants of which one differs by more than the runs' noise, and two rounds
// that cannot tell it.
func TestVerdictText(t *testing.T) {
	for name, n := range map[string]int{"verdicts": 10, "few": 2} {
		c := Files([]*runfile.File{{Runs: slices.Concat(noisy(t, "base", n, 1), noisy(t, "same", n, 1),
			noisy(t, "gc off, λ", n, .6))}}, []string{"run.json"})
		golden.Written(t, name+".golden.txt", func(b *bytes.Buffer) error { return c.Text(b, textfmt.Style{}) })
		if n > 2 {
			golden.Written(t, name+"-color.golden.txt", func(b *bytes.Buffer) error {
				return c.Text(b, textfmt.Style{Color: true})
			})
		}
	}
}

func TestLoadText(t *testing.T) {
	r := known(t)
	golden.Written(t, "load.golden.txt", func(b *bytes.Buffer) error { return WriteLoad(b, r, textfmt.Style{}) })
	l := r.Load
	l.Targets, l.Rate, l.Warmup = append(l.Targets, "POST http://127.0.0.1:8080/b"), 2000, 1500*time.Millisecond
	l.Late, l.Service, l.Interrupted = 50, l.Latency, true
	golden.Written(t, "load-open.golden.txt", func(b *bytes.Buffer) error { return WriteLoad(b, r, textfmt.Style{}) })
}

func TestLogBins(t *testing.T) {
	for _, ns := range [][]int64{
		nil, {0}, {1}, {1000, 1999, 2000, 5000, 9999, 10000}, {1500, 3_000_000_000}, {3600e9}, {100, 200, 500, 1e9},
	} {
		h := histogramOf(t, ns...)
		total := int64(0)
		bins := logBins(&h)
		for i, b := range bins {
			total += b.Count
			if i > 0 && b.From != bins[i-1].To {
				t.Errorf("%v: a gap between %v and %v", ns, bins[i-1], b)
			}
			if k := chart.Index125(float64(b.From)); b.From != time.Duration(chart.Series125(k)) ||
				b.To != time.Duration(chart.Series125(k+1)) {
				t.Errorf("%v: a bin from %v to %v", ns, b.From, b.To)
			}
		}
		if total != int64(len(ns)) {
			t.Errorf("%v: %d in the bins", ns, total)
		}
		if n := len(bins); n > 0 && (bins[0].Count == 0 || bins[n-1].Count == 0) {
			t.Errorf("%v: empty bins at an end: %v", ns, bins)
		}
	}
}

func TestTextHasNoControlCharacters(t *testing.T) {
	r := runfile.Run{
		Label: "\x1b[2Jevil", Repeat: 1, Load: &loadgen.Result{Answered: 1, Duration: time.Minute},
		Notes: []string{"a\x1b]0;title\x07note"},
	}
	var b strings.Builder
	c := Files([]*runfile.File{{Runs: []runfile.Run{r}}}, []string{"run.json"})
	if err := c.Text(&b, textfmt.Style{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07") || !strings.Contains(b.String(), "evil") {
		t.Errorf("%q", b.String())
	}
}

// TestMarkdown writes tables that a label cannot leave.
func TestMarkdown(t *testing.T) {
	c := Files([]*runfile.File{{Runs: slices.Concat(noisy(t, "base", 10, 1), noisy(t, "a|b\n<img> @all `x`", 10, .6))}},
		[]string{"run.json"})
	golden.Written(t, "markdown.golden.md", func(b *bytes.Buffer) error {
		return c.Markdown(b, []string{"-fail-if p99 > +20%: kept"})
	})
	c = Files([]*runfile.File{{Runs: []runfile.Run{*known(t)}}}, []string{"run.json"})
	golden.Written(t, "markdown-one.golden.md", func(b *bytes.Buffer) error { return c.Markdown(b, nil) })
}

// TestFootnoteOfOneRun: the advice how to get ratios counts the figures that are known.
func TestFootnoteOfOneRun(t *testing.T) {
	f := &runfile.File{Runs: slices.Concat(noisy(t, "a", 1, 1), noisy(t, "bb", 1, 1))}
	f.Plan = &runfile.Plan{Figures: []string{"p50", "p99", "CPU/request", "allocated/request"}}
	c := Files([]*runfile.File{f}, []string{"run.json"})
	want := "use -repeat 7, or -figures p99 -repeat 6" // two figures in place of four
	if got := strings.Join(c.Footnotes(), "\n"); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i := range f.Runs {
		f.Runs[i].Load.Duration, f.Runs[i].Load.Latency = 0, loadgen.Histogram{}
	}
	c = Files([]*runfile.File{f}, []string{"run.json"})
	if got := strings.Join(c.Footnotes(), "\n"); !strings.Contains(got, "no run knows any") {
		t.Errorf("nothing is known: %s", got)
	}
}

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
	r.PProf, r.GC.Source = "http://127.0.0.1:8080/debug/pprof/", runfile.FromMemStats
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
			"1% of this machine's processor time went to its hypervisor (steal)",
		},
	} {
		var texts []string
		for _, n := range notesOf(&runfile.Run{Load: &loadgen.Result{}, Disturbance: tt.d}) {
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
