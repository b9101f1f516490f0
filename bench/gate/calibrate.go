package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Where calibration begins and ends.
const (
	firstRate = 500 // requests a second a replica
	mostRate  = 50_000
	nearShare = .06 // of the share that is asked for
)

// moderate is the share of each replica's core that the stock runtime takes under a moderate load.
const moderate = .22

// mostBusy is how busy the stock runtime may make the machine. Beyond it the cores have no room
// for a replica that collects on all of one while the other does the work of both, and client
// and balancer theirs; then a queue is measured, and no collector.
const mostBusy = .65

// calibrate finds the rate at which the stock runtime uses a share of each replica's core. The
// collector's part comes in lumps, so each step is measured over as long as a run.
func (d *driver) calibrate(ctx context.Context, m mode, n int, l load) (load, error) {
	l.rate = float64(firstRate * n)
	if d.lastRate > 0 {
		l.rate = d.lastRate * l.share / d.lastShare // what is known of the other load
	}
	for step, void := 1, 0; ; step++ {
		s, err := d.measureOnce(ctx, m, n, load{name: l.name, rate: l.rate})
		if err != nil {
			return l, fmt.Errorf("calibrating %s: %w", l.name, err)
		}
		if s.disturbed() && void < mostTries && !d.quick {
			void, step = void+1, step-1
			continue
		}
		used := 0.0
		for _, x := range s.CPU {
			used += x / float64(len(s.CPU))
		}
		fmt.Fprintf(d.out, "calibrating %s: at %.0f/s the stock runtime uses %.1f%% of a core (%.1f%% wanted), the machine is %.0f%% busy (%.0f%% at most)\n",
			l.name, l.rate, 100*used, 100*l.share, 100*s.Busy, 100*mostBusy)
		reached := max(used/l.share, s.Busy/mostBusy)
		off := reached - 1
		if used <= 0 {
			return l, fmt.Errorf("calibrating %s: no CPU time was used at %.0f requests/s", l.name, l.rate)
		}
		if off < nearShare && off > -nearShare || step == d.steps {
			d.lastRate, d.lastShare = l.rate, used
			d.set.Raw["rate "+l.name] = map[string]float64{"requests_per_second": l.rate, "stock_cpu_share": used, "machine_busy": s.Busy}
			return l, nil
		}
		// Towards the goal, by at most four times: what a request costs changes with the rate.
		l.rate = min(l.rate*min(max(1/reached, .25), 4), mostRate)
	}
}

// estimate says how long a number of runs takes.
func (d *driver) estimate(runs int) time.Duration {
	const startUp = 6 * time.Second // replicas fill their windows, make their first collection, and stop
	warmup := d.warmup
	if !d.quick {
		warmup = (d.warmup + mostWarmup) / 2 // see warm
	}
	return time.Duration(runs) * (d.length + warmup + startUp)
}

// order returns modes in an order that changes with the round, so that none is always first;
// those that need the memory of others stay behind them.
func order(ms []mode, round int) []mode {
	first, then := []mode{}, []mode{}
	for _, m := range ms {
		if m.memory {
			then = append(then, m)
		} else {
			first = append(first, m)
		}
	}
	if round%2 == 0 {
		slices.Reverse(first)
		slices.Reverse(then)
	}
	return append(first, then...)
}
