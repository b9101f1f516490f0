//go:build linux

package main

import (
	"context"
	"fmt"

	"evenkeel.dev/bench/figure"
)

// busy are services that do more for a request than hello, and what a recorder that is always on may take of their CPU time.
var busy = []worker{
	{program: "search", path: "/search?term=president&cnn=on&bbc=on&nyt=on", rate: 300},
	{program: "msgpush", path: "/push", rate: 500},
}

const (
	busyCPU   = 1.03      // of that without
	latencyOf = "msgpush" // whose latencies are compared as well
)

// services measures them without a recorder and with one that is always on, one after the other in each round.
func (d *driver) services(ctx context.Context) error {
	for round := 1; round <= d.rounds; round++ {
		for _, w := range busy {
			w.length = d.length / 2
			if d.quick && w.program == latencyOf {
				w.args = []string{"-window", "20000"}
			}
			order := modes[:2]
			if round%2 == 0 {
				order = []mode{modes[1], modes[0]}
			}
			for _, m := range order {
				if err := d.costOf(ctx, w, m.name, m.args, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// serviceFigures adds the recorder's share of the service's CPU time, and prints how much of that
// is its analysis.
func (d *driver) serviceFigures() {
	for _, w := range busy {
		xs := d.against(w.program, "full", func(s, off *sample) float64 { return s.perRequest() / off.perRequest() })
		if len(xs) == 0 {
			continue
		}
		d.set.AtMost(w.program+", always on: CPU, of that without", xs, busyCPU, "x")
		analysis := d.against(w.program, "full", func(s, off *sample) float64 {
			return 100 * float64(s.Stats.Cost.Analysis) / float64(max(s.Requests, 1)) / 1000 / off.perRequest()
		})
		fmt.Fprintf(d.set.Out, "  of it, the analysis: %.1f%% of the CPU without\n", figure.Median(analysis))
		if w.program == latencyOf {
			d.sameLatency(w.program+", always on", w.program, "full")
		}
	}
}
