package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

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
