package gctrace

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

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
