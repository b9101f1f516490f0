package gctrace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/internal/golden"
)

// recorded is what a .json file holds of the log beside it: enough to see a change by eye.
type recorded struct {
	Stats   Stats    `json:"stats"`
	First   []Cycle  `json:"first_cycles"`
	Lines   []string `json:"lines"` // all cycles, printed again
	Summary Summary  `json:"summary"`
}

// TestGolden reads the standard error of real programs of real Go releases
// (testdata/gen.sh). -update writes the .json files anew.
func TestGolden(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, log := range logs {
		t.Run(filepath.Base(log), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(log)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s := NewScanner(f)
			var g recorded
			g.Summary = Summarize(func(yield func(Cycle) bool) {
				for c := range s.All() {
					g.Lines = append(g.Lines, format(c))
					if len(g.First) < 2 {
						g.First = append(g.First, c)
					}
					if !yield(c) {
						return
					}
				}
			}, Window{})
			g.Stats = s.Stats()
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			checkLog(t, log, g)
			golden.JSON(t, strings.TrimSuffix(filepath.Base(log), ".log")+".json", g)
		})
	}
}

// checkLog wants what any log of gen has, golden file or not.
func checkLog(t *testing.T, log string, g recorded) {
	st := g.Stats
	torn := strings.Contains(log, "-lines") || strings.Contains(log, "-pieces")
	if torn != (st.Recovered > 0) {
		t.Errorf("%d of %d cycles recovered", st.Recovered, st.Cycles)
	}
	if strings.Contains(log, "-lines") && st.Lost > 0 {
		t.Errorf("%d cycles lost between whole lines", st.Lost)
	}
	leaks := 0
	for _, l := range g.Lines {
		if strings.Contains(l, "leaks") {
			leaks++
		}
	}
	if leak := strings.Contains(log, "-leak"); leak != (leaks > 0) {
		t.Errorf("%d leak checks", leaks)
	}
	if forced, _ := g.Summary.Forced.Get(); forced == 0 && !st.Truncated {
		t.Error("no forced collection")
	}
	if off := strings.Contains(log, "-off"); off == g.Summary.Heap.Goal.Last.Known() {
		t.Errorf("goal %+v", g.Summary.Heap.Goal.Last)
	}
}
