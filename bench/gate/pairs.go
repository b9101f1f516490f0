package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
)

// announce says how long the parts take.
func (d *driver) announce(parts []string) {
	runs, beside := 0, time.Duration(0)
	for _, p := range parts {
		if t, ok := teams[p]; ok {
			runs += d.runs(t)
		}
		switch p {
		case "pairs":
			runs += len(d.loads) * 3 // of calibration
			for _, m := range d.modes {
				runs += d.roundsIn(m, d.rounds) * len(d.loads)
			}
		case "single":
			runs += d.rounds*(len(singleHigh)+len(singleBursty)) + 2
		case "cost":
			runs += 2 * d.rounds
		case "idle":
			runs += 2 * d.rounds
			beside += d.settle + d.idleFor
		case "polls":
			beside += time.Duration(len(pollings)) * (d.polledFor + 10*time.Second) // to fill the windows
		case "literal":
			beside += time.Duration(d.rounds*len(literalSizes)*len(literalPolicies)) * literalFor
		case "turns":
			runs += d.rounds * len(turnsWanted)
		case "push":
			beside += time.Duration(d.rounds) * pushRound
		}
	}
	fmt.Fprintf(d.out, "%d runs of %v and warm-up, and %v of other kinds: some %v\n", runs, d.length, beside, (d.estimate(runs) + beside).Round(time.Minute))
}

// pairs measures two replicas in every mode under each load.
func (d *driver) pairs(ctx context.Context) error {
	need := 2 * (d.live + int64(mostGrowth*(d.length+d.warmup).Seconds())) // GOGC=off
	if free := machine.Memory("MemAvailable"); free > 0 && free < need {
		return fmt.Errorf("GOGC=off may take %d MB in %v and %d are available: shorten it with -length", need/1e6, d.length, free/1e6)
	}
	defer d.pairFigures() // also of what was measured before an error, as judge adds them
	for i := range d.loads {
		var err error
		if d.loads[i], err = d.calibrate(ctx, modeNamed(modes, "default"), 2, d.loads[i]); err != nil {
			return err
		}
	}
	for round := 1; round <= d.rounds; round++ {
		for _, l := range d.loads {
			for _, m := range order(d.modes, round) {
				if round > d.roundsIn(m, d.rounds) {
					continue
				}
				if _, err := d.measure(ctx, m, 2, l, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mostGrowth bounds what one replica allocates a second: half a core's worth.
const mostGrowth = 400e6

// target is a ratio that must be reached.
type target struct {
	over, under string // modes
	quantile    string
	bound       float64
	atLeast     bool
}

var pairTargets = map[string][]target{
	"moderate": {
		{"default", "gated", "p99", 20, true},
		{"default", "gated", "p99.9", 6, true},
		{"gated", "off", "p99", .8, false},
		{"gated", "off", "p99.9", 1.1, false},
		{"in-band", "off, no balancer", "p99", 1, false},
		{"in-band", "off, no balancer", "p99.9", 1.5, false},
		{"gated", "default", "peak memory", 1.15, false},
	},
	"high": {
		{"default", "gated", "p99", 40, true},
		{"default", "gated", "p99.9", 12, true},
		{"gated", "off", "p99", .8, false},
		{"gated", "off", "p99.9", 1.1, false},
		{"in-band", "off, no balancer", "p99", 1, false},
		{"in-band", "off, no balancer", "p99.9", 1.5, false},
		{"gated", "default", "peak memory", 1.15, false},
	},
}

// pairLoads are the loads on two replicas, in order.
var pairLoads = []string{"moderate", "high"}

func (d *driver) pairFigures() {
	for _, name := range pairLoads {
		d.table(name, modes)
	}
	for _, load := range pairLoads {
		d.ratios(load, pairTargets[load])
		d.beside(load, "gated", "floor")
	}
	for _, mode := range []string{"gated", "in-band"} {
		var failed, met []float64
		for _, s := range d.good(mode, "") {
			if !slices.Contains(pairLoads, s.Load) {
				continue
			}
			failed = append(failed, float64(s.Failed))
			if len(s.Met) > 0 { // older results do not know
				met = append(met, float64(sum(s.Met)+sum(s.MetOther)))
			}
		}
		if len(failed) > 0 && !d.quick {
			d.set.AtMost(mode+": failed requests a run", failed, 0, "")
		}
		if len(met) > 0 && !d.quick {
			d.set.AtMost(mode+": requests that met a collection, a run", met, 0, "")
		}
	}
}

// ratios adds the figures of targets whose modes were measured.
func (d *driver) ratios(load string, targets []target) {
	if d.quick { // it measures nothing
		return
	}
	for _, t := range targets {
		over, under := d.column(t.over, load, t.quantile), d.column(t.under, load, t.quantile)
		xs := figure.Ratios(over, under)
		if len(xs) == 0 {
			continue
		}
		name := fmt.Sprintf("%s: %s / %s, %s", load, t.over, t.under, t.quantile)
		if t.atLeast {
			d.set.AtLeast(name, xs, t.bound, "x")
		} else {
			d.set.AtMost(name, xs, t.bound, "x")
		}
	}
}

// beside prints ratios of two modes that were measured, which have no target.
func (d *driver) beside(load, over, under string) {
	for _, q := range []string{"p99", "p99.9"} {
		if xs := figure.Ratios(d.column(over, load, q), d.column(under, load, q)); len(xs) > 0 {
			fmt.Fprintf(d.out, "beside it (not a target): %s: %s / %s, %s %.2fx\n", load, over, under, q, figure.Median(xs))
		}
	}
}

// good returns the samples of a mode that count, by round; load "" is all.
func (d *driver) good(mode, load string) []sample {
	var ss []sample
	for i, s := range d.samples {
		void := i+1 < len(d.samples) && d.samples[i+1].Try > s.Try // it was repeated
		if s.Mode == mode && (s.Load == load || load == "") && !void {
			ss = append(ss, s)
		}
	}
	return ss
}

// column returns one figure of a mode, by round.
func (d *driver) column(mode, load, what string) []float64 {
	var xs []float64
	for _, s := range d.good(mode, load) {
		xs = append(xs, s.figure(what))
	}
	return xs
}

// overlap returns how many requests met a collection in all these runs.
func overlap(ss []sample) (n int64) {
	for _, s := range ss {
		n += sum(s.Met) + sum(s.MetOther)
	}
	return n
}

// table prints the medians of the modes under one load, if there was any.
func (d *driver) table(load string, ms []mode) {
	if !slices.ContainsFunc(d.samples, func(s sample) bool { return s.Load == load }) {
		return
	}
	fmt.Fprintf(d.out, "\n%-20s %9s %9s %9s %12s %10s %10s   medians of the rounds\n", load, "p50 µs", "p99 µs", "p99.9 µs", "peak MB each", "failed", "overlap")
	for _, m := range ms {
		ss := d.good(m.name, load)
		if len(ss) == 0 {
			continue
		}
		failed, all, met := int64(0), int64(0), "-" // only a gate counts those that met a collection
		for _, s := range ss {
			failed, all = failed+s.Failed, all+s.Requests
		}
		if len(ss[0].Met) > 0 {
			met = fmt.Sprintf("%.3g%%", 100*float64(overlap(ss))/float64(max(all, 1)))
		}
		median := func(what string) float64 { return figure.Median(d.column(m.name, load, what)) }
		fmt.Fprintf(d.out, "%-20s %9.0f %9.0f %9.0f %12.0f %10s %10s   %s\n", m.name, median("p50")*1e6, median("p99")*1e6, median("p99.9")*1e6,
			median("peak memory")/1e6, fmt.Sprintf("%.3g%%", 100*float64(failed)/float64(all)), met, m.what)
	}
	fmt.Fprintln(d.out)
}
