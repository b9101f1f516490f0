//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// The service of this part has one processor for requests, its recorder and its collector. One
// request a second is slow, in addition to the load.
const (
	oneCore      = "one core" // the service's name in the raw results
	analysisRate = 2000.      // requests per second
)

// analysisModes are two recorders that record all of the time. No request reaches the threshold of
// the first. The second takes and analyses a snapshot every second.
var analysisModes = []mode{
	{"off", []string{"-slow", "1m"}},
	{"full", []string{"-slow", "20ms"}},
}

// analysis measures what in-process analyses do to the service's requests.
func (d *driver) analysis(ctx context.Context) error {
	lot := rand.New(rand.NewPCG(uint64(d.set.Started.UnixNano()), 2))
	for round := 1; round <= d.rounds; round++ {
		for _, i := range lot.Perm(len(analysisModes)) {
			m := analysisModes[i]
			w := worker{
				program: "plant", args: []string{"-plain", "-procs", "1", "-every", "1s", "-recorder-cpu", "1"}, rate: unless(d, analysisRate, 100), length: d.length / 2,
				beside: func(ctx context.Context, s *service) {
					for each(ctx, time.Second) {
						_ = s.sleep(ctx, 30*time.Millisecond)
					}
				},
			}
			if err := d.costOf(ctx, w, m.name, m.args, round); err != nil {
				return err
			}
			d.samples[len(d.samples)-1].Service = oneCore
		}
	}
	return nil
}

func (d *driver) analysisFigures() {
	full := d.of(oneCore, "full")
	if len(full) == 0 {
		return
	}
	d.sameLatency("one core, an analysis each second", oneCore, "full")
	d.set.AtMost("one core, an analysis each second: memory, more", d.against(oneCore, "full", func(s, off *sample) float64 {
		return float64(s.RSS-off.RSS) / (1 << 20)
	}), mostAnalysis, " MB")
	n, took := uint64(0), time.Duration(0)
	for _, s := range full {
		n, took = n+s.Stats.Analyzed, took+s.Stats.Cost.Analysis
	}
	fmt.Fprintf(d.set.Out, "  %d analyses of %v each\n", n, took/time.Duration(max(n, 1)))
}
