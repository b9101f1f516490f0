package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// The policies that are measured on a single process.
var (
	singleHigh   = []string{"default", "through", "auto"}
	singleBursty = []string{"default", "idle", "auto"}
)

var singleTargets = map[string][]target{
	"single high":   {{"default", "through", "p99", 8, true}, {"default", "auto", "p99", 8, true}},
	"single bursty": {{"default", "idle", "p99", 2, true}, {"default", "auto", "p99", 2, true}},
}

// single measures one process without peers, under high load and in bursts of the same rate.
func (d *driver) single(ctx context.Context) error {
	defer d.singleFigures() // also of what was measured before an error
	d.lastRate = 0          // another way to the service
	high, err := d.calibrate(ctx, modeNamed(single, "default"), 1, load{name: "single high", share: .7})
	if err != nil {
		return err
	}
	bursty := load{name: "single bursty", rate: high.rate, burst: true}
	for round := 1; round <= d.rounds; round++ {
		for _, c := range []struct {
			l     load
			modes []string
		}{{high, singleHigh}, {bursty, singleBursty}} {
			for _, name := range c.modes {
				if _, err := d.measure(ctx, modeNamed(single, name), 1, c.l, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *driver) singleFigures() {
	for _, load := range []string{"single high", "single bursty"} {
		d.table(load, single)
		d.ratios(load, singleTargets[load])
	}
}

// cost measures what a gate costs that does not collect: tiny requests, nothing to collect.
func (d *driver) cost(ctx context.Context) error {
	work, ns := d.work, map[string][]float64(nil)
	defer func() { d.work = work; d.costFigures(ns) }() // also of what was measured before an error
	d.work = []string{"-shape", "flat", "-size", "64", "-batch", "1", "-window", "1000"}
	l := load{name: "cost", rate: 5000}
	for round := 1; round <= d.rounds; round++ {
		names := []string{"default", "through"}
		if round%2 == 0 {
			names = []string{"through", "default"}
		}
		for _, name := range names {
			if _, err := d.measure(ctx, modeNamed(single, name), 1, l, round); err != nil {
				return err
			}
		}
	}
	if d.quick {
		return nil
	}
	var err error
	if ns, err = d.enterExit(ctx); err == nil {
		d.set.Raw[enterExitKey] = ns
	}
	return err
}

const enterExitKey = "enter and exit, ns"

// costFigures has the times of Enter and Exit by benchmark; nil: they were not measured.
func (d *driver) costFigures(ns map[string][]float64) {
	d.ratios("cost", []target{{"through", "default", "p50", 1.02, false}})
	if len(ns["gate"]) > 0 {
		d.set.AtMost("Enter and Exit, 2 cores contended", ns["gate"], 25, " ns")
		fmt.Fprintf(d.out, "  one atomic counter beside it: %v ns\n", ns["counter"])
	}
}

var enterExitLine = regexp.MustCompile(`^BenchmarkEnterExit/(\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)

// enterExit runs the benchmark of Enter and Exit on two cores, beside one shared counter, and returns nanoseconds.
func (d *driver) enterExit(ctx context.Context) (map[string][]float64, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "EnterExit", "-cpu", "2", "-count", "5", "./gcgate")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench EnterExit: %w\n%s", err, out)
	}
	ns := map[string][]float64{}
	for sc := bufio.NewScanner(strings.NewReader(string(out))); sc.Scan(); {
		if m := enterExitLine.FindStringSubmatch(sc.Text()); m != nil {
			x, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return nil, err
			}
			ns[m[1]] = append(ns[m[1]], x)
		}
	}
	if len(ns["gate"]) == 0 {
		return nil, fmt.Errorf("go test -bench EnterExit: no BenchmarkEnterExit/gate in its output:\n%s", out)
	}
	return ns, nil
}
