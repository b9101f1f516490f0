package gctrace

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/golden"
)

const (
	µs  = time.Microsecond
	ms  = time.Millisecond
	mib = int64(1 << 20)
)

// compareValues lets go-cmp look into Value.
var compareValues = cmp.AllowUnexported(Value[int64]{}, Value[int]{}, Value[float64]{}, Value[time.Duration]{})

// forcedLine is a whole line as Go 1.26 prints it, and forcedCycle what it says.
const forcedLine = "gc 6 @0.044s 13%: 0.071+3.1+0.009 ms clock, 0.14+0/0.56/4.8+0.018 ms cpu, " +
	"11->12->8 MB, 20 MB goal, 1 MB stacks, 2 MB globals, 2 P (forced)"

var forcedCycle = Cycle{
	N: 6, At: 44 * ms, UtilPercent: 13,
	Wall:       WallPhases{71 * µs, 3100 * µs, 9 * µs},
	CPU:        CPUPhases{140 * µs, 0, 560 * µs, 4800 * µs, 18 * µs},
	HeapBefore: 11 * mib, HeapAfter: 12 * mib, HeapLive: 8 * mib, Goal: Of(20 * mib),
	Stacks: Of(mib), Globals: Of(2 * mib), Procs: 2, Forced: true,
}

func with(c Cycle, change func(*Cycle)) Cycle {
	change(&c)
	return c
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       Cycle
	}{
		{"forced", forcedLine, forcedCycle},
		{"newline", forcedLine + "\n", forcedCycle},
		{"CRLF", forcedLine + "\r\n", forcedCycle},
		{
			"automatic", strings.TrimSuffix(forcedLine, " (forced)"),
			with(forcedCycle, func(c *Cycle) { c.Forced = false }),
		},
		{
			"leak check", strings.Replace(forcedLine, "%:", "% (checking for goroutine leaks):", 1),
			with(forcedCycle, func(c *Cycle) { c.LeakCheck = true }),
		},
		{
			"without stacks and globals", strings.Replace(forcedLine, "1 MB stacks, 2 MB globals, ", "", 1),
			with(forcedCycle, func(c *Cycle) { c.Stacks, c.Globals = Value[int64]{}, Value[int64]{} }),
		},
		{
			"GOGC=off", strings.Replace(forcedLine, "20 MB goal", "8532210231537 MB goal", 1),
			with(forcedCycle, func(c *Cycle) { c.Goal = Value[int64]{} }),
		},
		{
			"GOGC=off as all ones", strings.Replace(forcedLine, "20 MB goal", "17592186044415 MB goal", 1),
			with(forcedCycle, func(c *Cycle) { c.Goal = Value[int64]{} }),
		},
		{
			"whole milliseconds", strings.Replace(forcedLine, "+3.1+", "+1234+", 1),
			with(forcedCycle, func(c *Cycle) { c.Wall.Mark = 1234 * ms }),
		},
		{
			"long-running", strings.Replace(forcedLine, "gc 6 @0.044s 13%", "gc 4294967295 @31536000.001s 0%", 1),
			with(forcedCycle, func(c *Cycle) { c.N, c.At, c.UtilPercent = 1<<32-1, 365*24*time.Hour+ms, 0 }),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got, compareValues); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestParseError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		offset     int
		have       string // in the message
	}{
		{"empty", "", 0, `""`},
		{"other text", "GC forced", 0, `"GC forced"`},
		{"text before", "x" + forcedLine, 0, `"xgc 6 @0.044s 13%: 0.071"`},
		{"text behind", forcedLine + " x", len(forcedLine), `" x"`},
		{"two newlines", forcedLine + "\n\n", len(forcedLine), `"\n"`},
		{"cut", forcedLine[:40], 33, `" ms clo"`},
		{"no number", strings.Replace(forcedLine, "gc 6", "gc x", 1), 3, `"x @0.044s `},
		{"number out of range", strings.Replace(forcedLine, "gc 6", "gc 4294967296", 1), 3, `"4294967296 @`},
		{"size out of range", strings.Replace(forcedLine, "11->", "99999999999999999999->", 1), 74, `"9999999`},
		{
			"time out of range", strings.Replace(forcedLine, "+3.1+", "+9223372036854775807+", 1), 24,
			`"9223372036854775807+`,
		},
		{"negative", strings.Replace(forcedLine, "+3.1+", "+-3.1+", 1), 24, `"-3.1+`},
		{"point without places", strings.Replace(forcedLine, "+3.1+", "+3.+", 1), 25, `".+0.009`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse([]byte(tt.line))
			if err == nil {
				t.Fatalf("Parse = %+v without an error", c)
			}
			start := fmt.Sprintf("gctrace: byte %d: %s", tt.offset, tt.have)
			if !strings.HasPrefix(err.Error(), start) {
				t.Errorf("message %q, want %q at its start", err, start)
			}
			if d := cmp.Diff(Cycle{}, c, compareValues); d != "" {
				t.Errorf("a cycle besides the error: %s", d)
			}
		})
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	line := []byte(forcedLine)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := Parse(line); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestCycleMethods(t *testing.T) {
	t.Parallel()
	c := forcedCycle
	if got, want := c.End(), 44*ms+3180*µs; got != want {
		t.Errorf("End = %v, want %v", got, want)
	}
	if got, want := c.Wall.Pause(), 80*µs; got != want {
		t.Errorf("Wall.Pause = %v, want %v", got, want)
	}
	if got, want := c.CPU.total(), 718*µs; got != want {
		t.Errorf("CPU.Total = %v, want %v: idle workers take nothing from the program", got, want)
	}
	if got, want := c.CPU.pause(), 158*µs; got != want {
		t.Errorf("CPU.Pause = %v, want %v", got, want)
	}
}

// FuzzParse holds Parse against format: what Parse took, printed as the runtime prints it,
// reads the same again but for places that the runtime would not have printed.
func FuzzParse(f *testing.F) {
	f.Add([]byte(forcedLine))
	f.Add([]byte("gc 1 @0.000s 0%: 0+0+0 ms clock, 0+0/0/0+0 ms cpu, 0->0->0 MB, 4 MB goal, 1 P\r\n"))
	f.Add([]byte(strings.Replace(forcedLine, "%:", "% (checking for goroutine leaks):", 1)))
	f.Add([]byte(strings.Replace(forcedLine, "20 MB goal", "8796093022207 MB goal", 1)))
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := Parse(line)
		if err != nil {
			return
		}
		if c.End() < c.At || c.CPU.total() < 0 || c.HeapBefore < 0 || c.HeapAfter < 0 || c.HeapLive < 0 {
			t.Fatalf("overflow in %+v", c)
		}
		printed := format(c)
		again, err := Parse([]byte(printed))
		if err != nil {
			t.Fatalf("%q was printed as %q: %v", line, printed, err)
		}
		if second := format(again); second != printed {
			t.Fatalf("%q was printed as %q, then as %q", line, printed, second)
		}
		if cut := c.Wall.Mark - again.Wall.Mark; cut < 0 || cut >= quantum(c.Wall.Mark) {
			t.Fatalf("%q: marking %v became %v", line, c.Wall.Mark, again.Wall.Mark)
		}
		if string(trimCR(bytes.TrimSuffix(line, []byte("\n")))) == printed {
			if d := cmp.Diff(c, again, compareValues); d != "" {
				t.Fatalf("the same line read twice:\n%s", d)
			}
		}
	})
}

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
	if forced, _ := g.Summary.Forced.Get(); forced == 0 && !strings.Contains(log, "-lines") { // two end before it
		t.Error("no forced collection")
	}
	if off := strings.Contains(log, "-off"); off != g.Summary.Heap.Goal.Last.IsZero() {
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
