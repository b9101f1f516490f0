package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/figure"
)

const (
	pushTime  = time.Second      // of each benchmark
	pushRound = 50 * time.Second // all of them, once
)

var pushLine = regexp.MustCompile(`^BenchmarkMessagePush(\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// push runs the message push of the original, with a window that lives and literally, each beside
// the stock runtime.
func (d *driver) push(ctx context.Context) error {
	benchtime := pushTime.String()
	if d.quick {
		benchtime = "1x"
	}
	ns := map[string][]float64{}
	var names []string // in the order of the benchmarks
	for range d.rounds {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "MessagePush", "-benchtime", benchtime, "./gcgate")
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %w\n%s", cmd, err, out)
		}
		names = pushed(string(out), ns)
	}
	if len(names) == 0 {
		return fmt.Errorf("go test -bench MessagePush: no result in its output")
	}
	d.set.Raw["message push, ns"] = ns
	for _, name := range names {
		fmt.Fprintf(d.out, "message push%-28s %12.0f ns [%.0f..%.0f]\n", name, figure.Median(ns[name]), slices.Min(ns[name]), slices.Max(ns[name]))
	}
	return nil
}

// pushed adds what the benchmarks print to ns, and returns their names in order.
func pushed(out string, ns map[string][]float64) (names []string) {
	for line := range strings.Lines(out) {
		m := pushLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue // 1.2.3 is no figure of a benchmark
		}
		names = append(names, m[1])
		ns[m[1]] = append(ns[m[1]], x)
	}
	return names
}
