package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/bench/figure"
)

// pushTime is how long each benchmark of the message push runs, pushRound all of them once.
const (
	pushTime  = time.Second
	pushRound = 60 * time.Second
)

var pushLine = regexp.MustCompile(`(?m)^BenchmarkMessagePush\S+\s+\d+\s+([0-9.]+) ns/op`)

// pushes are the benchmarks, the stock runtime's before those that stand beside it.
func (d *driver) pushes() (groups [][]string) {
	sizes := []string{"1KB", "10KB", "100KB", "1MB"}
	if d.quick {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		groups = append(groups, []string{"_NoGCI" + size, "_GCI" + size})
	}
	for _, size := range sizes {
		var group []string
		for _, policy := range []string{"NoGCI", "auto", "through", "idle"} {
			group = append(group, "Literal/"+policy+"/"+size)
		}
		groups = append(groups, group)
	}
	return groups
}

// push runs the message push of the original, with a window that lives and literally, each with
// and without a gate right after another, in a process of its own.
func (d *driver) push(ctx context.Context) error {
	program := filepath.Join(d.dir, "push.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "evenkeel.dev/gcgate")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	benchtime := pushTime.String()
	if d.quick {
		benchtime = "1x"
	}
	ns := map[string][]float64{}
	for round := 1; round <= d.rounds; round++ {
		for _, group := range d.pushes() {
			if round%2 == 0 {
				slices.Reverse(group)
			}
			for _, name := range group {
				x, err := runPush(ctx, program, name, benchtime)
				if err != nil {
					return err
				}
				ns[name] = append(ns[name], x)
			}
		}
	}
	d.set.Raw["message push, ns"] = ns
	for _, group := range d.pushes() {
		for _, name := range group {
			fmt.Fprintf(d.out, "message push%-24s %12.0f ns [%.0f..%.0f], %.2f of %s\n", name, figure.Median(ns[name]),
				slices.Min(ns[name]), slices.Max(ns[name]), figure.Median(figure.Ratios(ns[name], ns[group[0]])), group[0])
		}
	}
	return nil
}

// runPush runs one benchmark, and returns the nanoseconds of an operation.
func runPush(ctx context.Context, program, name, benchtime string) (float64, error) {
	argv := nicer(program, "-test.run=^$", "-test.bench=^BenchmarkMessagePush"+name+"$", "-test.benchtime="+benchtime)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	m := pushLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%v: no result in its output\n%s", cmd, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
