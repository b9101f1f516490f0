package figure

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/tailstat"
)

func TestMedianAndRatios(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.xs); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.xs, got, c.want)
		}
	}
	if got := Ratios([]float64{2, 3, 4}, []float64{1, 0, 8, 9}); !slices.Equal(got, []float64{2, .5}) {
		t.Errorf("Ratios = %v", got)
	}
}

func TestSet(t *testing.T) {
	var out bytes.Buffer
	s := New("x")
	s.Out = &out
	s.AtLeast("speed", []float64{2.5, 3, 2.2, 2.1, 2}, 2, " MB/s")
	s.AtMost("cost", []float64{1.01}, 1, " µs")
	s.AtMost("ratio of one run", []float64{.5}, 1, "x")
	s.AtLeast("three runs", []float64{2.5, 3, 2.2}, 2, "")
	s.AtMost("six runs", []float64{-1, 2, 3, 2.5, -2, 4}, 2, "")
	s.AtMost("bad runs", []float64{3, 4, 5, 6, 7}, 2, "")
	s.AtMost("counts", []float64{0, 0, 0}, 0, "")
	s.Between("miss", []float64{-1, 0, 1, .5, 2}, -5, 5, " %")
	s.AtLeast("nothing", nil, 2, "")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range [][]string{
		{"speed", "2.2 MB/s [2..3], shows 3", ">= 2", " met"},
		{"cost", "1.01 µs", "<= 1", " missed"},
		{"ratio of one run", "0.5x", " cannot tell"},
		{"three runs", "2.5 [2.2..3]", ">= 2", " cannot tell"},
		{"six runs", "[-1..3.25]", "<= 2", " cannot tell"},
		{"bad runs", "5 [3..7]", " missed"},
		{"counts", "0 [0..0]", " met"},
		{"miss", "0.5 % [-1..2]", "-5 to 5", " met"},
		{"nothing", " missed"},
	} {
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %d is %q, without %q", i, lines[i], w)
			}
		}
	}
	if i := s.Figures[0].Interval; len(i) != 2 || math.Abs(i[0]-2) > 1e-9 || math.Abs(i[1]-3) > 1e-9 {
		t.Errorf("interval %+v", i)
	}
	dir := filepath.Join(t.TempDir(), "made by it")
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "x-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var back Set
	if err := json.Unmarshal(b, &back); err != nil || len(back.Figures) != 9 || back.Figures[0].Verdict != Met || back.Figures[1].Verdict != Missed || back.Figures[1].Interval != nil {
		t.Errorf("read back %+v, %v", back.Figures, err)
	}
}

// TestCheckSave: a work tree that differs from its commit gets no results.
func TestCheckSave(t *testing.T) {
	tree := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", tree, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
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
	s := &Set{Benchmark: "x", Started: time.Unix(0, 0).UTC(), Out: io.Discard}
	dir := filepath.Join(tree, "bench", "results") // not there yet
	if err := s.Save(dir); err != nil {
		t.Errorf("a clean tree: %v", err)
	}
	s.Benchmark = "y"
	if err := s.Save(dir); err != nil {
		t.Errorf("a tree with other results, not committed yet: %v", err)
	}
	write("package b")
	for _, dir := range []string{dir, filepath.Join(tree, "new", "folder")} {
		if err := errors.Join(CheckSave(dir), s.Save(dir)); err == nil || !strings.Contains(err.Error(), "commit the changes first") {
			t.Errorf("%s in a changed tree: %v", dir, err)
		}
	}
	if err := errors.Join(CheckSave(""), CheckSave(t.TempDir())); err != nil {
		t.Errorf("no results, and results outside of a tree: %v", err)
	}
	git("commit", "-q", "-a", "-m", "b")
	if err := CheckSave(dir); err != nil {
		t.Errorf("committed: %v", err)
	}
}

func TestMachine(t *testing.T) {
	said, ok := Machine().(json.RawMessage)
	var m struct{ Cores int }
	if err := json.Unmarshal(said, &m); !ok || err != nil || m.Cores == 0 {
		t.Errorf("%v, %v: %s", ok, err, said)
	}
}

// TestJudge judges a file of before there were intervals: the figure whose runs are there gets one, that whose runs are gone
// keeps what it was with what its range says, and no other byte changes.
func TestJudge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x-1.json")
	old := `{
 "benchmark": "x",
 "figures": [
  {"name": "lost", "measured": 2, "range": [1, 3], "unit": "x", "target": "\u003e= 2.5", "met": true},
  {"name": "kept", "measured": 9, "range": [8, 9], "target": "\u003e= 2", "met": false},
  {"name": "word", "measured": 1, "target": "first", "met": true}
 ],
 "raw": {"a": [3, 4,5,   6, 7e0], "odd": "<>"}
}
`
	if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	judge := func(s *Set, r Recorded) error {
		var xs []float64
		if ok, err := r.Read("a", &xs); !ok || err != nil || len(r.Keys("o")) != 1 {
			t.Errorf("%v %v %v", ok, err, r.Keys("o"))
		}
		if ok, err := r.Read("none", &xs); ok || err != nil {
			t.Errorf("%v %v", ok, err)
		}
		s.AtLeast("new", xs, 8, "")
		s.AtLeast("kept", xs, 2, "")
		return nil
	}
	var out bytes.Buffer
	for range 2 { // again, what was written
		if err := (Again{name, true}).Judge("x", &out, judge); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if raw := old[strings.Index(old, `"raw"`):]; !strings.HasSuffix(string(b), raw) {
		t.Errorf("the raw results changed:\n%s", b)
	}
	var back struct{ Figures []Figure }
	if err := json.Unmarshal(b, &back); err != nil || len(back.Figures) != 4 {
		t.Fatalf("%v\n%s", err, b)
	}
	f := back.Figures
	if f[0].Name != "lost" || f[0].Verdict != CannotTell || f[0].Note == "" || f[1].Verdict != Met || len(f[1].Interval) != 2 || f[2].Verdict != Met || f[3].Name != "new" || f[3].Verdict != Missed {
		t.Errorf("%+v", f)
	}
	if err := (Again{File: name}).Judge("y", &out, judge); err == nil || !strings.Contains(err.Error(), `benchmark "x"`) {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "lost") || !strings.Contains(out.String(), "the raw results do not have") {
		t.Error(out.String())
	}
}

// TestShare holds shares of trials against their bounds.
func TestShare(t *testing.T) {
	var out bytes.Buffer
	s := New("x")
	s.Out = &out
	s.Share("few", 4, 100, 0, 5)
	s.Share("many", 400, 10_000, 0, 5)
	s.Share("wrong", 600, 10_000, 0, 5)
	s.Share("power", 95, 100, 80, 100)
	s.Share("coverage", 950, 1000, 93, 97)
	for i, want := range []Verdict{CannotTell, Met, Missed, Met, Met} {
		if got := s.Figures[i]; got.Verdict != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if low, high := Wilson(10, 100); math.Abs(low-6.07) > .1 || math.Abs(high-16.1) > .1 {
		t.Errorf("%v %v", low, high)
	}
}

// TestNotSlower: what is six times as slow misses the target, and does not meet it where the rounds are too few to tell anything.
func TestNotSlower(t *testing.T) {
	for _, tt := range []struct {
		rounds int
		factor time.Duration
		want   Verdict
	}{{2, 1, CannotTell}, {2, 6, CannotTell}, {6, 6, CannotTell}, {7, 6, Missed}, {12, 6, Missed}, {12, 1, Met}} {
		var base, runs []tailstat.Run
		for i := range tt.rounds {
			d, change := time.Millisecond, time.Duration(i+1)*time.Microsecond
			if i%2 == 0 {
				change = -change
			}
			base = append(base, Tail(i+1, d, 2*d))
			runs = append(runs, Tail(i+1, tt.factor*(d+change), tt.factor*(2*d+change)))
		}
		s := Set{Out: io.Discard}
		s.NotSlower("x", "y", base, runs)
		if len(s.Figures) != 2 || s.Figures[0].Verdict != tt.want || s.Figures[1].Verdict != tt.want {
			t.Errorf("%d rounds, %d times: %v, want %v", tt.rounds, tt.factor, s.Figures, tt.want)
		}
	}
}
