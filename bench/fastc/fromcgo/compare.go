//go:build cgo && linux

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/bench/figure"
)

var benchLine = regexp.MustCompile(`(?m)^Benchmark(FromCgo\S*?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// compare runs the benchmarks of both, round by round, in turns.
func (w *work) compare(m module, set *figure.Set, rounds int) error {
	cgo, fast := filepath.Join(w.dir, m.name, "cgo"), filepath.Join(w.dir, m.name, "fastc")
	times := map[string]map[string][]float64{}
	for _, dir := range []string{cgo, fast} {
		times[dir] = map[string][]float64{}
		if _, err := w.run(filepath.Join(dir, m.folder), "go", "test", "-c", "-o", "bench.test", "."); err != nil {
			return err
		}
	}
	for round := range rounds {
		dirs := []string{cgo, fast}
		if round%2 == 1 {
			slices.Reverse(dirs)
		}
		for _, dir := range dirs {
			folder := filepath.Join(dir, m.folder)
			out, err := w.run(folder, filepath.Join(folder, "bench.test"), "-test.run=^$", "-test.bench=^BenchmarkFromCgo", "-test.benchtime=200ms")
			if err != nil {
				return err
			}
			for _, l := range benchLine.FindAllStringSubmatch(out, -1) {
				ns, err := strconv.ParseFloat(l[2], 64)
				if err != nil {
					return err
				}
				times[dir][l[1]] = append(times[dir][l[1]], ns)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(times[cgo])) {
		a, b := times[cgo][name], times[fast][name]
		key := m.name + " " + name
		set.Raw[key] = nanoseconds{a, b}
		nanoseconds{a, b}.judge(set, key)
		if name == "FromCgo"+m.leaf {
			fmt.Fprintf(w.out, "  %s: %.4g calls/s by cgo, %.4g by fastc (medians of %s)\n",
				m.leaf, 1e9/figure.Median(a), 1e9/figure.Median(b), rounded(rounds))
		}
	}
	return nil
}

// nanoseconds are those of a call, of each round.
type nanoseconds struct {
	Cgo   []float64 `json:"cgo ns"`
	Fastc []float64 `json:"fastc ns"`
}

// judge adds the figure of a function, which the key of its raw results names.
func (n nanoseconds) judge(set *figure.Set, key string) {
	text := fmt.Sprintf("%s, cgo %.4g ns, fastc %.4g ns: cgo/fastc", strings.Replace(key, " FromCgo", " ", 1), figure.Median(n.Cgo), figure.Median(n.Fastc))
	set.AtLeast(text, figure.Ratios(n.Cgo, n.Fastc), 0.98, "")
}

// judge adds the figures of all functions that the raw results hold.
func judge(set *figure.Set, raw figure.Recorded) error {
	for _, key := range raw.Keys("") {
		var n nanoseconds
		if _, err := raw.Read(key, &n); err != nil {
			return err
		}
		n.judge(set, key)
	}
	return nil
}

func rounded(rounds int) string {
	if rounds == 1 {
		return "1 round"
	}
	return strconv.Itoa(rounds) + " rounds"
}
