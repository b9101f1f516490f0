//go:build linux

package harness

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// judged returns the verdicts of claims about runs.
func judged(t *testing.T, runs []*Run, claims ...Claim) []figure {
	t.Helper()
	s := &set{out: t.Output()}
	s.judge(&Result{Case: &Case{Claims: claims}, Runs: runs, Out: t.Output()})
	return s.Figures
}

// runsOf returns a run of a way for each value.
func runsOf(way, figure string, xs ...float64) (runs []*Run) {
	for i, x := range xs {
		runs = append(runs, &Run{Way: way, Round: i + 1, Values: map[string]float64{figure: x}})
	}
	return runs
}

func TestJudge(t *testing.T) {
	claim := func(target Target) Claim { return Claim{Way: "a", Figure: "x", Target: target} }
	for _, tt := range []struct {
		name     string
		xs, over []float64
		claim    Claim
		want     verdict
		text     string
	}{
		{"reached", []float64{2.5, 3, 2.2, 2.1, 2}, nil, claim(AtLeast(2)), met, "2.2 [2..3]"},
		{"a count", []float64{1.01}, nil, claim(AtMost(1)), missed, "1.01"},
		{"three runs", []float64{2.5, 3, 2.2}, nil, claim(AtLeast(2)), inconclusive, "2.5 [2.2..3]"},
		{"wide", []float64{-1, 2, 3, 2.5, -2, 4}, nil, claim(AtMost(2)), inconclusive, "[-1..3.25]"},
		{"exceeded", []float64{3, 4, 5, 6, 7}, nil, claim(AtMost(2)), missed, "5 [3..7]"},
		{"alike", []float64{0, 0, 0}, nil, claim(AtMost(0)), met, "0 [0..0]"},
		{"between", []float64{-1, 0, 1, .5, 2}, nil, claim(Between(-5, 5)), met, "0.5 [-1..2]"},
		{"a sum", []float64{0, 0, 1}, nil, None("a", "", "x"), missed, "1"},
		{
			"one ratio",
			[]float64{1},
			[]float64{2},
			Claim{Way: "a", Over: "b", Figure: "x", Target: AtMost(1)},
			inconclusive, "0.5x",
		},
		{
			"differences",
			[]float64{3, 3, 3, 3, 3},
			[]float64{2, 2, 2, 2, 2},
			Claim{Way: "a", Minus: "b", Figure: "x", Target: AtMost(1)},
			met, "1 [1..1]",
		},
		{
			"ratios",
			[]float64{1, 1.1, 1, 1.2, 1.1},
			[]float64{2, 2, 2, 2, 2},
			Claim{Way: "a", Over: "b", Figure: "x", Target: AtMost(.7)},
			met, "0.55x [0.5..0.6]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judged(t, append(runsOf("a", "x", tt.xs...), runsOf("b", "x", tt.over...)...), tt.claim)
			if len(got) != 1 || got[0].Verdict != tt.want || !strings.Contains(got[0].text(), tt.text) {
				t.Errorf("%+v, want %s, %s", got, tt.want, tt.text)
			}
		})
	}
}

// TestFailedRun: a run that failed misses a claim of none, and leaves the other claims alone.
func TestFailedRun(t *testing.T) {
	runs := append(runsOf("a", "x", 0, 0), &Run{Way: "a", Round: 3, Error: "it ended"})
	got := judged(t, runs, None("a", "", "x"), Claim{Way: "a", Figure: "x", Target: AtMost(0)})
	if len(got) != 2 || got[0].Verdict != missed || got[1].Verdict != met {
		t.Errorf("%+v", got)
	}
	if got := judged(t, runs[2:], None("a", "", "x")); len(got) != 1 || got[0].Verdict != missed {
		t.Errorf("only the run that failed: %+v", got)
	}
	if got := judged(t, nil, None("a", "", "x")); len(got) != 0 {
		t.Errorf("nothing was measured: %+v", got)
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		hits, trials float64
		target       Target
		want         verdict
	}{
		{4, 100, AtMost(5), inconclusive},
		{400, 10_000, AtMost(5), met},
		{600, 10_000, AtMost(5), missed},
		{95, 100, AtLeast(80), met},
		{950, 1000, Between(93, 97), met},
	} {
		runs := []*Run{{Way: "a", Round: 1, Values: map[string]float64{"hit": tt.hits, "all": tt.trials}}}
		got := judged(t, runs, Claim{Way: "a", Figure: "hit", Of: "all", Target: tt.target})
		if len(got) != 1 || got[0].Verdict != tt.want {
			t.Errorf("%v: %+v, want %s", tt, got, tt.want)
		}
	}
	if low, high := wilson(10, 100); math.Abs(low-6.07) > .1 || math.Abs(high-16.1) > .1 {
		t.Errorf("%v %v", low, high)
	}
}

// TestAllWays: a share or a total without a way and a load is of all of them.
func TestAllWays(t *testing.T) {
	run := func(way, load, err string) *Run {
		return &Run{Way: way, Load: load, Error: err, Values: map[string]float64{"hit": 1, "all": 1}}
	}
	runs := []*Run{run("a", "low", ""), run("b", "high", ""), run("b", "low", ""), run("c", "low", "it ended")}
	got := judged(
		t, runs, Claim{Figure: "hit", Of: "all", Target: AtLeast(50)},
		Claim{Load: "low", Figure: "hit", Total: true, Target: AtMost(2)},
	)
	if len(got) != 2 || got[0].Name != "all: hit of all" || got[0].Measured != 100 || got[1].Measured != 3 {
		t.Errorf("%+v", got)
	}
}

// TestRun runs a case whose ways say what they were asked, and reads its results back.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	seen := map[string]int{}
	c := Case{
		Name: "x/y", What: "nothing", Rounds: 5, Length: time.Millisecond,
		Ways: []string{"control", "a", "gone", "bad"}, Loads: []string{"low", "high"},
		Skip: func(way, load string) bool { return way == "a" && load == "high" },
		Open: func(_ context.Context, r *Run) (func(), error) {
			r.Set("rate", 7)
			return func() { seen["closed"]++ }, nil
		},
		Run: func(_ context.Context, r *Run) error {
			seen[r.Way+" "+r.Load]++
			switch r.Way {
			case "gone":
				return NotHere(errors.New("no such thing"))
			case "bad":
				return errors.New("it fails")
			}
			r.Set("rate", r.Prepared["rate"])
			r.Set("x", float64(r.Round))
			r.Said = r.Load
			return nil
		},
		Claims: []Claim{
			{Load: "low", Way: "a", Over: "control", Figure: "x", Target: Between(1, 1)},
			{Load: "high", Way: "a", Figure: "x", Target: AtMost(0)}, // it is skipped
		},
	}
	h := &Harness{Cases: []Case{c}, Out: &out, Quick: true}
	err := h.Run(t.Context(), "x")
	if err == nil || !strings.Contains(err.Error(), "2 runs failed") {
		t.Errorf("two runs of one way fail: %v", err)
	}
	h.Quick = false
	h.Results = filepath.Join(t.TempDir(), "made by it")
	out.Reset()
	if err := h.Run(t.Context(), "x/*"); err == nil {
		t.Error("runs failed, and Run reports none")
	}
	if seen["a low"] != 6 || seen["a high"] != 0 || seen["control high"] != 6 || seen["closed"] != 2 {
		t.Errorf("runs %v", seen)
	}
	for _, want := range []string{
		"gone is left out: no such thing", "low: a: x over control", "1x", "met",
		"results: ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	files, err := filepath.Glob(filepath.Join(h.Results, "x-y.*.json.gz"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	printed := out.String()
	out.Reset()
	if err := h.Judge(files[0]); err != nil || !strings.Contains(printed, out.String()) {
		t.Errorf("%v; judged again:\n%s\nnot in\n%s", err, out.String(), printed)
	}
	saved := printed[strings.Index(printed, "low: a: x over control"):]
	out.Reset()
	if err := (&Harness{Out: &out}).Judge(files[0]); err != nil || !strings.HasPrefix(saved, out.String()) {
		t.Errorf("%v; saved figures:\n%s\nnot in\n%s", err, out.String(), saved)
	}
	if err := h.Judge("harness.go"); err == nil {
		t.Error("a file that is not of results was judged")
	}
	if err := h.Run(t.Context(), "z"); err == nil || !strings.Contains(err.Error(), "-list") {
		t.Errorf("a case that there is not: %v", err)
	}
	out.Reset()
	if h.List(); !strings.Contains(out.String(), "x/y") {
		t.Error(out.String())
	}
}

// TestInterrupted: what was measured before an interrupt is judged.
func TestInterrupted(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	c := Case{
		Name: "x/y", Rounds: 9, Ways: []string{"a"}, Length: time.Millisecond,
		Run: func(ctx context.Context, r *Run) error {
			if r.Round == 3 {
				cancel()
				return ctx.Err()
			}
			r.Set("x", 1)
			return nil
		},
		Claims: []Claim{{Way: "a", Figure: "x", Target: AtMost(1)}},
	}
	h := &Harness{Cases: []Case{c}, Out: &out}
	err := h.Run(ctx, "")
	if err == nil || !strings.Contains(err.Error(), "round 3 of 9") || !strings.Contains(out.String(), "met") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestMeasured: of several cases those that are measured at this commit are left out, and a part of
// the rounds does not replace them.
func TestMeasured(t *testing.T) {
	runs := map[string]int{}
	whole := Case{
		Name: "x/whole", Rounds: 1, Ways: []string{"a"}, Length: time.Millisecond,
		Run: func(_ context.Context, r *Run) error { runs["whole"]++; r.Set("x", 1); return nil },
	}
	fails := whole
	fails.Name = "x/fails"
	fails.Run = func(_ context.Context, r *Run) error { runs["fails"]++; r.Set("x", 1); return errors.New("no") }
	h := &Harness{Cases: []Case{whole, fails}, Out: t.Output(), Results: t.TempDir()}
	for _, pattern := range []string{"", "x", "x/whole"} {
		if err := h.Run(t.Context(), pattern); (err == nil) != (pattern == "x/whole") {
			t.Error(err)
		}
	}
	h.Rounds = 2
	_ = h.Run(t.Context(), "x/whole")
	_ = h.Run(t.Context(), "x/*")
	if want := map[string]int{"whole": 1 + 1 + 2, "fails": 2 + 2}; !maps.Equal(runs, want) {
		t.Errorf("runs %v, want %v", runs, want)
	}
}

// TestMissed: a claim that is missed is an error of a test in full.
func TestMissed(t *testing.T) {
	c := Case{
		Name: "x/y", Rounds: 2, Ways: []string{"a"}, Length: time.Millisecond,
		Run:    func(_ context.Context, r *Run) error { r.Set("x", 2); return nil },
		Claims: []Claim{{Way: "a", Figure: "x", Target: AtMost(1)}, {Way: "a", Figure: "x", Target: AtMost(3)}},
	}
	h := &Harness{Cases: []Case{c}, Out: t.Output()}
	if err := h.Run(t.Context(), ""); err != nil || len(h.missed) != 1 {
		t.Errorf("%v, missed %v", err, h.missed)
	}
}

// TestCheckSave: a work tree that differs from its commit gets no results.
func TestCheckSave(t *testing.T) {
	tree := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=a", "-c", "user.email=a@b"},
			args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tree, "code.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("package a")
	git("add", "code.go")
	git("commit", "-q", "-m", "a")
	dir := filepath.Join(tree, "bench", "results") // not there yet
	if err := checkSave(dir); err != nil {
		t.Errorf("a clean tree: %v", err)
	}
	before, err := commit(tree, "httpd/hello", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		file, text      string
		byTest, changes bool
	}{
		{"bench/results/case.json.gz", "", false, false},
		{"bench/aio/cases.go", "", false, false},
		{"gcgate/gate.go", "", false, false},
		{"httpd/conn_test.go", "", false, false},
		{"bench/httpd/cases.go", "", false, true},
		{"bench/httpd/cases_test.go", "", false, false},
		{"aio/internal/uring/ring.go", "", false, true},
		{"bench/go.mod", "github.com/valyala/fasthttp v1.0.0\n", false, true},
		{"bench/go.mod", "github.com/valyala/fasthttp v1.0.0\ngithub.com/ebitengine/purego v0.1.0\n", false, false},
		{"bench/httpd/burst_test.go", "", true, true},
		{"httpd/burst_test.go", "", true, false},
	} {
		name := filepath.Join(tree, x.file)
		err1 := os.MkdirAll(filepath.Dir(name), 0o755)
		if err := errors.Join(err1, os.WriteFile(name, []byte(x.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "-q", "-m", x.file)
		after, err := commit(tree, "httpd/hello", x.byTest)
		if err != nil || (after != before) != x.changes {
			t.Errorf("with a change of %s httpd is of %s %v, and of %s before", x.file, after, err, before)
		}
		before = after
	}
	if err := os.WriteFile(filepath.Join(dir, "case.json.gz"), []byte("again"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkSave(dir); err != nil {
		t.Errorf("new results: %v", err)
	}
	write("package b")
	for _, dir := range []string{dir, filepath.Join(tree, "new", "folder")} {
		if err := checkSave(dir); err == nil || !strings.Contains(err.Error(), "commit the changes first") {
			t.Errorf("%s in a changed tree: %v", dir, err)
		}
	}
	if err := checkSave(t.TempDir()); err != nil {
		t.Errorf("results outside of a tree: %v", err)
	}
}

// TestChild starts a program, reads what it says and ends it.
func TestChild(t *testing.T) {
	r := (&Harness{}).newRun(&Case{}, Run{})
	const script = `echo noise; echo "$WORD 7"; read line; echo "heard $line"`
	c, err := r.Start(t.Context(), 0, []string{"WORD=ready"}, "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if rest, err := c.Await("ready (.*)"); rest != "7" || err != nil {
		t.Fatalf("%q %v", rest, err)
	}
	if err := c.Say("this"); err != nil {
		t.Fatal(err)
	}
	if line, err := c.Line(0); line != "heard this" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	if line, err := c.Line(0); err == nil {
		t.Errorf("after its end it said %q", line)
	}
	if m := string(thisMachine()); !strings.HasPrefix(m, "{") {
		t.Error(m)
	}
}

func TestChildDoesNotStart(t *testing.T) {
	r := (&Harness{}).newRun(&Case{}, Run{})
	if c, err := r.Start(t.Context(), AnyCore, nil, filepath.Join(t.TempDir(), "none")); c != nil || err == nil {
		t.Errorf("%v and %v, want an error alone", c, err)
	}
}

// TestFreeAddr asks for as many addresses as a case with several servers needs: no two are alike.
func TestFreeAddr(t *testing.T) {
	seen := map[string]bool{}
	for range 300 {
		addr, err := FreeAddr()
		if err != nil || seen[addr] {
			t.Fatalf("%s after %d others, %v", addr, len(seen), err)
		}
		seen[addr] = true
	}
}

// TestPageOfNothing: without results the page names the cases that are not measured.
func TestPageOfNothing(t *testing.T) {
	var out bytes.Buffer
	h := &Harness{Cases: []Case{{Name: "x/y", What: "nothing", Ways: []string{"a"}}}, Out: &out}
	if err := h.Page(t.TempDir()); err != nil || !strings.HasSuffix(out.String(), "## Not measured\n\n- x/y\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}
