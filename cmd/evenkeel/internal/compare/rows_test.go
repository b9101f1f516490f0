package compare

import (
	"bytes"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// noisy returns runs of a variant in rounds, whose latencies are so many times as long, give or
// take 3% a run. Runs of one round are as slow as the machine was then, which varies by much more.
func noisy(t *testing.T, label string, rounds int, slower float64) (runs []runfile.Run) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(label))), 15))
	machine := rand.New(rand.NewPCG(1, 2)) // the same for each label
	for i := range rounds {
		f := slower * math.Exp(.03*rng.NormFloat64()+.3*machine.NormFloat64())
		var h loadgen.Histogram
		for k := range 10000 {
			h.Record(time.Duration(f * float64(k+1) * 1e5))
		}
		runs = append(runs, runfile.Run{
			Label: label, Repeat: i + 1, Round: i + 1, Server: &runfile.Server{PeakRSSBytes: int64(64<<20 + i<<20)},
			Load: &loadgen.Result{
				Targets: []string{"GET http://127.0.0.1:8080/"}, Connections: 4, Duration: time.Duration(10e9 * f),
				Answered: 10000,
				Statuses: map[int]int64{200: 10000}, Latency: h, Started: time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC),
			},
		})
	}
	return runs
}

func twoVariants(t *testing.T, rounds int) *Comparison {
	f := &runfile.File{Runs: slices.Concat(noisy(t, "a", rounds, 1), noisy(t, "bb", rounds, 1.5))}
	return Files([]*runfile.File{f}, []string{"run.json"})
}

// TestTooManyRounds has more rounds than its plan announced, so nothing can be judged.
func TestTooManyRounds(t *testing.T) {
	runs := slices.Concat(noisy(t, "a", 10, 1), noisy(t, "bb", 10, 1.5))
	c := Files([]*runfile.File{{Runs: runs, Plan: &runfile.Plan{Looks: 2}}}, []string{"run.json"})
	got := strings.Join(append(c.Footnotes(), c.Notes...), "\n")
	if !strings.Contains(got, "10 rounds are more than the 2") {
		t.Error(got)
	}
}

func TestJudge(t *testing.T) {
	c := twoVariants(t, 10)
	if c.verdicts != 8 || !c.against[1].Paired { // processor time is not known
		t.Fatalf("%d verdicts, %+v", c.verdicts, c.against[1])
	}
	if level := c.against[1].Level; math.Abs(level-(1-.05/8)) > 1e-12 {
		t.Errorf("level %v", level)
	}
	p99, memory := c.Row("p99"), c.Row("peak memory")
	r := p99.Results[1]
	if r.Verdict != tailstat.VerdictSlower || !r.Within.Contains(1.5) || p99.Results[0] != nil ||
		!strings.HasSuffix(Ratio(r), "x") {
		t.Errorf("%+v, %s", r, Ratio(r))
	}
	if Ratio(memory.Results[1]) != "~" || c.Row("duration").Results[1] != nil {
		t.Errorf("memory %+v, duration %+v", memory.Results[1], c.Row("duration").Results[1])
	}
	if err := (&Flags{Base: "bb"}).Apply(c); err != nil || p99.Results[0].Verdict != tailstat.VerdictFaster ||
		p99.Results[1] != nil {
		t.Errorf("the other way: %v, %+v", err, p99.Results[0])
	}
	wide := p99.Results[0].Within.HalfWidth()
	if err := (&Flags{Figures: []string{"duration", "p99"}}).Apply(c); err != nil || c.verdicts != 2 ||
		c.Row("duration").Results[0] == nil || c.Row("p50").Results[0] != nil {
		t.Errorf("%v, %d verdicts", err, c.verdicts)
	}
	if narrow := p99.Results[0].Within.HalfWidth(); narrow >= wide {
		t.Errorf("two figures: %v, all: %v", narrow, wide)
	}
	const wrong = `-base: no column is called "b"; there are "a", "bb"`
	if err := (&Flags{Base: "b"}).Apply(c); err == nil || err.Error() != wrong {
		t.Error(err)
	}
	if err := (&Flags{Figures: []string{"p98"}}).Check(); err == nil ||
		!strings.HasPrefix(err.Error(), `-figures: no figure "p98"; there are: requests, `) {
		t.Error(err)
	}
}

// TestJudgeVariants shares the probability of an error among all verdicts of a table, however few
// some columns have.
func TestJudgeVariants(t *testing.T) {
	few := noisy(t, "ccc", 12, 1)
	for i := range few {
		few[i].Server = nil // no memory
	}
	f := &runfile.File{Runs: slices.Concat(noisy(t, "a", 12, 1), noisy(t, "bb", 12, 1.5), few)}
	c := Files([]*runfile.File{f}, []string{"run.json"})
	if c.verdicts != 15 {
		t.Fatalf("%d verdicts", c.verdicts)
	}
	for k, want := range []int{0, 8, 7} {
		if k > 0 && (len(c.against[k].Result) != want || math.Abs(c.against[k].Level-(1-.05/15)) > 1e-12) {
			t.Errorf("column %d: %d results of the level %v", k, len(c.against[k].Result), c.against[k].Level)
		}
	}
}

// TestSides pairs what ran in a round of the same file, and nothing else.
func TestSides(t *testing.T) {
	a, b := noisy(t, "a", 8, 1), noisy(t, "bb", 8, 1)
	cut := slices.Clone(b)
	cut[7].Load = &loadgen.Result{Interrupted: true}
	old := slices.Clone(b)
	old[0].Round = 0
	for _, tt := range []struct {
		name       string
		files      []*runfile.File
		base, head int
		paired     bool
	}{
		{"one file", []*runfile.File{{Runs: slices.Concat(a, b)}}, 8, 8, true},
		{"two files", []*runfile.File{{Runs: a}, {Runs: b}}, 8, 8, false},
		{"the last round was cut short", []*runfile.File{{Runs: slices.Concat(a, cut)}}, 7, 7, true},
		{"the last round was not begun", []*runfile.File{{Runs: slices.Concat(a, b[:7])}}, 7, 7, true},
		{"an order that nobody drew", []*runfile.File{{Runs: slices.Concat(a, old)}}, 8, 8, false},
		{"two files, other numbers", []*runfile.File{{Runs: a}, {Runs: b[:6]}}, 8, 6, false},
	} {
		c := Files(tt.files, []string{"x.json", "y.json"})
		if x := c.against[1]; x == nil || x.Base != tt.base || x.Head != tt.head || x.Paired != tt.paired {
			t.Errorf("%s: %+v", tt.name, x)
		}
	}
	c := Files([]*runfile.File{{Runs: slices.Concat(a[:1], b[:1])}}, []string{"x.json"})
	if c.verdicts > 0 || c.Row("p99").Results[1] != nil {
		t.Error("one run of each has a verdict")
	}
	if got := strings.Join(c.Footnotes(), "\n"); got != "no ratios: one run of each does not show how runs vary; "+
		"use -repeat 9, or -figures p99 -repeat 6" {
		t.Error(got)
	}
}

func TestRatioText(t *testing.T) {
	for _, tt := range []struct {
		r             *tailstat.Result
		ratio, bounds string
	}{
		{nil, "", ""},
		{&tailstat.Result{Ratio: 1.8, Within: tailstat.Interval{Low: .9, High: 3}}, "~", "[0.90–3.00]"},
		{&tailstat.Result{Ratio: 1.8, Within: tailstat.Interval{High: math.Inf(1)}}, "~", ""},
		{
			&tailstat.Result{
				Ratio: 1.8, Within: tailstat.Interval{Low: 1.5, High: 12}, Verdict: tailstat.VerdictSlower,
			},
			"1.80x", "[1.50–12.0]",
		},
		{&tailstat.Result{
			Ratio: 1.003, Within: tailstat.Interval{Low: 1.002, High: 1.004},
			Verdict: tailstat.VerdictSlower,
		}, "1.0030x", "[1.0020–1.0040]"},
	} {
		if x, y := Ratio(tt.r), Bounds(tt.r); x != tt.ratio || y != tt.bounds {
			t.Errorf("%+v: %s %s", tt.r, x, y)
		}
	}
	for x, want := range map[float64]string{1.1: "+10%", 1.0123: "+1.2%", 1.354: "+35%", 30: "30.0x", 1: "<0.1%"} {
		if got := change(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

// TestJSON writes a ratio that is inconclusive as "~" and no number.
func TestJSON(t *testing.T) {
	var b bytes.Buffer
	c := twoVariants(t, 10)
	if err := cli.WriteJSON(&b, c.Data()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"text": "~"`, `"verdict": "slower"`, `"base": "a"`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%s lacks %s", b.String(), part)
		}
	}
	d := c.Data()
	if d.Base != "a" || d.Verdicts != 8 || len(d.Columns) != 2 || !d.Columns[1].Paired || d.Columns[0].Paired ||
		len(d.Columns[1].Runs) != 10 {
		t.Errorf("%+v", d)
	}
	for _, f := range d.Figures {
		switch x := f.Cells[1].Change; {
		case f.Cells[0].Change != nil || f.Cells[0].Cell == nil:
			t.Errorf("%s of the base: %+v", f.Name, f.Cells[0])
		case f.Name == "peak memory" && (x.Ratio != nil || x.Text != "~"):
			t.Errorf("%+v", x)
		case f.Name == "p99" && (x.Ratio == nil || !x.Within.Contains(*x.Ratio) ||
			x.Verdict != tailstat.VerdictSlower || x.Detectable == nil):
			t.Errorf("%+v", x)
		case f.Name == "max" && x != nil:
			t.Errorf("%s is judged: %+v", f.Name, x)
		}
	}
}

// TestLeast: a run of one request fewer is not judged, by tailstat's own count.
func TestLeast(t *testing.T) {
	for _, f := range tailstat.Figures()[:6] {
		n := Least(f.Name)
		var h loadgen.Histogram
		for range n - 1 {
			h.Record(time.Millisecond)
		}
		_, fewer := f.Of(&tailstat.Run{Latency: &h})
		h.Record(time.Millisecond)
		if _, err := f.Of(&tailstat.Run{Latency: &h}); n == 0 || err != nil || fewer == nil {
			t.Errorf("%s needs %d: %v; with one fewer: %v", f.Name, n, err, fewer)
		}
	}
	if n := Least("requests/s"); n != 0 {
		t.Errorf("requests/s needs %d", n)
	}
}

// TestGeneratorLimit: a run in which the load generator was at its own limit is not judged.
func TestGeneratorLimit(t *testing.T) {
	runs := slices.Concat(noisy(t, "a", 8, 1), noisy(t, "bb", 8, 1.5))
	for i := range runs {
		if runs[i].Label == "bb" {
			runs[i].Load.Failed, runs[i].Load.Failures = 3,
				[]loadgen.Failure{{Class: loadgen.ClassGenerator, Count: 3, Example: "too many open files"}}
		}
	}
	c := Files([]*runfile.File{{Runs: runs}}, []string{""})
	if f := c.findings(Limit{Figure: "p99", Ratio: 1.2})[0]; c.verdicts > 0 || f.err != cli.ErrInconclusive {
		t.Errorf("%d verdicts, %+v", c.verdicts, f)
	}
	if got := Spoilt(&runs[len(runs)-1]); !strings.Contains(got,
		"3 requests failed by the load generator's own limit") {
		t.Error(got)
	}
}
