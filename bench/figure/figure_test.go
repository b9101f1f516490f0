package figure

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	s.AtMost("cost", []float64{1.01}, 1, "x")
	s.AtLeast("three runs", []float64{2.5, 3, 2.2}, 2, "")
	s.AtMost("six runs", []float64{-1, 2, 3, 2.5, -2, 4}, 2, "")
	s.AtMost("bad runs", []float64{3, 4, 5, 6, 7}, 2, "")
	s.AtMost("counts", []float64{0, 0, 0}, 0, "")
	s.Between("miss", []float64{-1, 0, 1, .5, 2}, -5, 5, " %")
	s.AtLeast("nothing", nil, 2, "")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range [][]string{
		{"speed", "2.2 MB/s [2..3], shows 3", ">= 2", " met"},
		{"cost", "1.01x", "<= 1", " missed"},
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
	dir := t.TempDir()
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
	if err := json.Unmarshal(b, &back); err != nil || len(back.Figures) != 8 || back.Figures[0].Verdict != Met || back.Figures[1].Verdict != Missed || back.Figures[1].Interval != nil {
		t.Errorf("read back %+v, %v", back.Figures, err)
	}
}

func TestMachine(t *testing.T) {
	said, ok := Machine().(json.RawMessage)
	var m struct{ Cores int }
	if err := json.Unmarshal(said, &m); !ok || err != nil || m.Cores == 0 {
		t.Errorf("%v, %v: %s", ok, err, said)
	}
}
