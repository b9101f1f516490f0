package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
)

// helloRate is requests a second, of which each makes 10 MB of garbage.
const helloRate = 150

// gcigo is the mode of the original.
const gcigo = "gci-go"

// helloModes are the ways to run the hello of the original: one process, all cores, a gate with its
// default options.
func (d *driver) helloModes() []mode {
	modes := []mode{{name: "default", what: "the stock runtime"}}
	if d.original != "" {
		program, err := filepath.Abs(d.original)
		if err != nil {
			program = "./" + d.original // no working directory: its start says why
		}
		modes = append(modes, mode{name: gcigo, what: "the original", program: program})
	}
	for _, policy := range []string{"auto", "through", "idle", "shed"} {
		modes = append(modes, mode{name: policy, what: "policy " + policy, args: func(place) []string {
			return []string{"-gate", policy}
		}})
	}
	for i := range modes {
		m := &modes[i]
		m.all, m.path, m.work = true, "/", []string{}
		if !m.foreign() {
			m.program, m.work = "subject", []string{"-hello"}
		}
	}
	return modes
}

// helloTargets hold what auto chooses to what the original does.
var helloTargets = []target{
	{"auto", gcigo, "p99", 1, false},
	{"auto", gcigo, "peak memory", 1, false},
}

// hello measures the original's own example beside the original itself.
func (d *driver) hello(ctx context.Context) error {
	modes := d.helloModes()
	if info, err := buildinfo.ReadFile(d.original); err == nil {
		d.set.Versions["original"] = map[string]string{"program": info.Path, "go": info.GoVersion}
	}
	l := load{name: "hello", rate: helloRate}
	for round := 1; round <= d.rounds; round++ {
		for _, m := range order(modes, round) {
			if _, err := d.measure(ctx, m, 1, l, round); err != nil {
				return err
			}
		}
	}
	if d.original == "" {
		fmt.Fprintln(d.out, "gci-go itself was left out: name a program with it by -original")
	}
	d.helloFigures()
	return nil
}

func (d *driver) helloFigures() {
	const load = "hello"
	d.table(load, d.helloModes())
	d.ratios(load, helloTargets)
	var more []float64 // percentage points, by round
	ours, theirs := d.good("auto", load), d.good(gcigo, load)
	for i := range min(len(ours), len(theirs)) {
		more = append(more, 100*(ours[i].figure("failed")-theirs[i].figure("failed")))
	}
	if len(more) > 0 && !d.quick {
		d.set.AtMost("hello: refused by auto beyond "+gcigo, more, 0, " points")
	}
}
