package gctrace

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

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

// format prints a cycle as the runtime does, without the newline: the oracle of the tests
// that go from a Cycle to a line and back.
func format(c Cycle) string {
	s := ""
	for _, t := range tokens(c) {
		s += t
	}
	return s
}

// tokens are the runtime's single writes for a cycle, without the newline (Go 1.26).
func tokens(c Cycle) []string {
	mib := func(bytes int64) string { return strconv.FormatInt(bytes>>20, 10) }
	ts := []string{
		"gc ", fmt.Sprint(c.N), " @", itoaDiv(uint64(c.At/time.Millisecond), 3), "s ",
		fmt.Sprint(c.UtilPercent), "%",
	}
	if c.LeakCheck {
		ts = append(ts, " (checking for goroutine leaks)")
	}
	ts = append(ts, ": ",
		formatMS(c.Wall.SweepTermination), "+", formatMS(c.Wall.Mark), "+", formatMS(c.Wall.MarkTermination),
		" ms clock, ",
		formatMS(c.CPU.SweepTermination), "+", formatMS(c.CPU.Assist), "/", formatMS(c.CPU.Background), "/",
		formatMS(c.CPU.Idle), "+", formatMS(c.CPU.MarkTermination), " ms cpu, ",
		mib(c.HeapBefore), "->", mib(c.HeapAfter), "->", mib(c.HeapLive), " MB, ")
	goal, ok := c.Goal.Get()
	if !ok {
		goal = math.MaxInt64
	}
	ts = append(ts, mib(goal), " MB goal, ")
	if stacks, ok := c.Stacks.Get(); ok {
		globals, _ := c.Globals.Get()
		ts = append(ts, mib(stacks), " MB stacks, ", mib(globals), " MB globals, ")
	}
	ts = append(ts, fmt.Sprint(c.Procs), " P")
	if c.Forced {
		ts = append(ts, " (forced)")
	}
	return ts
}

// formatMS prints milliseconds with what precision the runtime gives them.
func formatMS(d time.Duration) string {
	us := uint64(d / time.Microsecond)
	switch {
	case us == 0:
		return "0"
	case us >= 10_000:
		return strconv.FormatUint(us/1000, 10)
	case us >= 1000:
		return itoaDiv(us/100, 1)
	case us >= 100:
		return itoaDiv(us/10, 2)
	}
	return itoaDiv(us, 3)
}

// itoaDiv prints n with a decimal point before its last places digits.
func itoaDiv(n uint64, places int) string {
	s := fmt.Sprintf("%0*d", places+1, n)
	return s[:len(s)-places] + "." + s[len(s)-places:]
}

// quantum is what formatMS may have cut off a time that reads d.
func quantum(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Millisecond:
		return time.Millisecond
	case d >= time.Millisecond:
		return 100 * time.Microsecond
	case d >= 100*time.Microsecond:
		return 10 * time.Microsecond
	}
	return time.Microsecond
}
