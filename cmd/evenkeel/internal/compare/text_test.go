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
