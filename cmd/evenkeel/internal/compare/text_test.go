package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
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

// bare returns runs in rounds of which only these quantiles are known, as those of a summary.
func bare(t *testing.T, label string, rounds int, slower float64, known ...float64) []runfile.Run {
	t.Helper()
	runs := noisy(t, label, rounds, slower)
	for i := range runs {
		r := &runs[i]
		r.Import, r.Server = &runfile.Import{Format: "k6", Quantiles: known}, nil
		r.Load.Classes = []loadgen.TargetClass{
			{Name: "a", Share: .5, Answered: 5000, Latency: r.Load.Latency},
			{Name: "b", Share: .5, Answered: 5000, Latency: r.Load.Latency},
		}
	}
	return runs
}

// TestBarePercentiles: nothing is shown or judged of a distribution of which some percentiles alone
// are known, and what is not known widens no interval.
func TestBarePercentiles(t *testing.T) {
	f := &runfile.File{Runs: slices.Concat(bare(t, "a", 12, 1, .5, .99), bare(t, "bb", 12, 1.5, .5, .99))}
	c := Files([]*runfile.File{f}, []string{"run.json"})
	for _, name := range []string{"p90", "p99.9", "slowest 1%", "slowest 0.1%", "max"} {
		if row := c.Row(name); row != nil {
			t.Errorf("there is a row %s: %+v", name, row.Cells)
		}
	}
	var judged []string
	for i := range c.Rows {
		if c.Rows[i].Result(1) != nil {
			judged = append(judged, c.Rows[i].Name)
		}
	}
	if got := strings.Join(judged, " "); got != "requests/s p50 p99" || c.verdicts != 3 {
		t.Errorf("judged are %s, with %d verdicts", got, c.verdicts)
	}
	outcome := c.Check(Limit{Figure: "slowest 1%", Ratio: 1.2})[0]
	if outcome.Outcome != OutcomeUnknown {
		t.Errorf("a limit of the slowest 1%%: %+v", outcome)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return c.Text(b, textfmt.Style{}) },
		"JSON":     func(b *bytes.Buffer) error { return c.JSON(b) },
		"Markdown": func(b *bytes.Buffer) error { return c.Markdown(b, nil) },
		"load":     func(b *bytes.Buffer) error { return WriteLoad(b, c.Columns[0].Runs[0], textfmt.Style{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); strings.Contains(s, "slowest") || strings.Contains(s, "\nmean ") ||
			strings.Contains(s, "█") || !strings.Contains(s, "p50") {
			t.Errorf("%s:\n%s", name, s)
		}
	}
	// "-": not known
	want := []string{"share", "requests", "failed", "other status", "-", "p50", "-", "p99", "-", "-", "bytes"}
	for _, row := range c.Classes()[0].Rows {
		for i, cell := range row.Cells {
			if (cell == "-") != (want[i] == "-") {
				t.Errorf("class %s: %s is %s", row.Name, ClassColumns[i], cell)
			}
		}
	}
}

// TestBarePercentilesFootnote: the advice how to get ratios counts the figures that are known, and
// names one of them.
func TestBarePercentilesFootnote(t *testing.T) {
	f := &runfile.File{Runs: slices.Concat(bare(t, "a", 1, 1, .5, .9), bare(t, "bb", 1, 1, .5, .9))}
	c := Files([]*runfile.File{f}, []string{"run.json"})
	want := "use -repeat 7, or -figures p90 -repeat 6" // three figures in place of nine
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

// TestBarePercentilesBesideOthers: a summary has no cell where a measured run has a figure.
func TestBarePercentilesBesideOthers(t *testing.T) {
	f := &runfile.File{Runs: slices.Concat(noisy(t, "a", 3, 1), bare(t, "bb", 3, 1, .5, .99))}
	c := Files([]*runfile.File{f}, []string{"run.json"})
	row := c.Row("slowest 1%")
	if row == nil || !row.Cells[0].Known || row.Cells[1].Known || row.Result(1) != nil {
		t.Errorf("slowest 1%%: %+v", row)
	}
	if p99 := c.Row("p99"); !p99.Cells[1].Known || p99.Cells[1].Median < time.Millisecond.Seconds() {
		t.Errorf("p99: %+v", p99)
	}
}
