//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// The services of this part have one processor for requests, the recorder and the collector. One
// request a second is slow, in addition to the load.
const analysisRate = 2000. // requests per second

// oneCores are the services: one without data of its own, and one with as much as many services have.
var oneCores = []struct {
	name string // in the raw results
	args []string
}{
	{"one core", nil},
	{"one core, 64 MB live", []string{"-ballast", "64"}},
}

// analysisModes are recorders that record all of the time and take a snapshot every second. The
// first keeps its snapshots.
var analysisModes = []mode{
	{"off", nil},
	{"full", []string{"-in-process"}},
}

// analysis measures what in-process analyses do to the service's requests.
func (d *driver) analysis(ctx context.Context) error {
	lot := rand.New(rand.NewPCG(uint64(d.set.Started.UnixNano()), 2))
	for round := 1; round <= d.rounds; round++ {
		for _, i := range lot.Perm(len(analysisModes) * len(oneCores)) {
			m, s := analysisModes[i%len(analysisModes)], oneCores[i/len(analysisModes)]
			w := worker{
				program: "plant", rate: unless(d, analysisRate, 100), length: d.length / 2,
				args: slices.Concat([]string{"-plain", "-procs", "1", "-slow", "20ms", "-every", "1s", "-recorder-cpu", "1"}, s.args),
				beside: func(ctx context.Context, s *service) {
					for each(ctx, time.Second) {
						_ = s.sleep(ctx, 30*time.Millisecond)
					}
				},
			}
			if err := d.costOf(ctx, w, m.name, m.args, round); err != nil {
				return err
			}
			d.samples[len(d.samples)-1].Service = s.name
		}
	}
	return nil
}

func (d *driver) analysisFigures() {
	for _, one := range oneCores {
		full := d.of(one.name, "full")
		if len(full) == 0 {
			continue
		}
		name := one.name + ", an analysis each second"
		d.sameLatency(name, one.name, "full")
		d.set.AtMost(name+": memory, more", d.against(one.name, "full", func(s, off *sample) float64 {
			return float64(s.RSS-off.RSS) / (1 << 20)
		}), mostAnalysis, " MB")
		n, took := uint64(0), time.Duration(0)
		for _, s := range full {
			n, took = n+s.Stats.Analyzed, took+s.Stats.Cost.Analysis
		}
		fmt.Fprintf(d.set.Out, "  %d analyses of %v each\n", n, took/time.Duration(max(n, 1)))
	}
}
