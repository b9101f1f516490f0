//go:build linux

package main

import (
	"fmt"
	"time"
)

// of returns the runs of a service under a mode, by round.
func (d *driver) of(service, mode string) (list []*sample) {
	for i := range d.samples {
		if d.samples[i].Service == service && d.samples[i].Mode == mode {
			list = append(list, &d.samples[i])
		}
	}
	return list
}

// against returns a figure of each round of one mode and of the same round without a recorder.
func (d *driver) against(service, mode string, of func(s, off *sample) float64) (xs []float64) {
	off := d.of(service, "off")
	for i, s := range d.of(service, mode) {
		if i < len(off) {
			xs = append(xs, of(s, off[i]))
		}
	}
	return xs
}

// quantiles are the latencies of a run that are compared.
var quantiles = []struct {
	name string
	of   func(*sample) time.Duration
}{
	{"p50", func(s *sample) time.Duration { return s.P50 }},
	{"p99", func(s *sample) time.Duration { return s.P99 }},
	{"p99.9", func(s *sample) time.Duration { return s.P999 }},
}

// sameLatency adds figures that are met where no difference of 10% can be.
func (d *driver) sameLatency(name, service, mode string) {
	for _, q := range quantiles {
		d.set.Between(name+": "+q.name+", of that without", d.against(service, mode, func(s, off *sample) float64 { return float64(q.of(s)) / float64(q.of(off)) }), .9, 1.1, "x")
	}
}

func (d *driver) costFigures() {
	for _, m := range modes {
		if len(d.of("", m.name)) == 0 { // its first round was interrupted, or another part was measured
			return
		}
	}
	more := func(s, off *sample) float64 { return s.perRequest() - off.perRequest() }
	d.set.AtMost("always on: CPU, more than without", d.against("", "full", more), 20, " µs a request")
	d.set.AtMost("always on: memory, more", d.against("", "full", func(s, off *sample) float64 { return float64(s.RSS-off.RSS) / (1 << 20) }), 15, " MB")
	d.set.Between("always on: tracing, counted of what was measured", d.against("", "full", func(s, off *sample) float64 {
		return float64(s.Stats.Cost.Tracing) / 1000 / float64(s.Requests) / max(more(s, off), .01)
	}), .5, 2, "x")
	d.set.AtMost("within its budget: CPU, of that without", d.against("", "budget", func(s, off *sample) float64 {
		return (s.perRequest() + float64(s.Stats.Cost.Analysis)/1000/float64(s.Requests)) / off.perRequest()
	}), 1.02, "x")
	var covered, counted []float64
	var failed, all int64
	for _, s := range d.of("", "budget") {
		covered = append(covered, 100*s.Stats.Coverage())
		counted = append(counted, float64(s.Stats.Cost.Total())/float64(max(s.Stats.Cost.Budget, 1)))
	}
	for _, s := range d.samples {
		if s.Service == "" {
			failed, all = failed+s.Failed, all+s.Requests
		}
	}
	d.set.AtMost("within its budget: counted, of what it may", counted, 1.1, "x")
	d.set.AtLeast("within its budget: recorded, of the time", covered, 1, "%")
	d.sameLatency("always on", "", "full")
	d.sameLatency("within its budget", "", "budget")
	var analysis []float64
	for _, s := range d.of("", "full") {
		analysis = append(analysis, 100*s.Stats.Cost.Analysis.Seconds()/max(s.Stats.Passed.Seconds(), 1))
	}
	d.set.AtMost("always on: analysis, of a core", analysis, 1, "%")
	d.set.AtMost(fmt.Sprintf("failed of %d requests", all), []float64{float64(failed)}, 0, "")
}

func (d *driver) plantedFigures() {
	p := d.plant
	for _, cause := range []string{"lock", "sleep", "network"} {
		d.set.Between("planted "+cause+": its share, less the truth", []float64{100 * (p.Said[cause] - p.Truth[cause])}, -5, 5, " points")
	}
	if p.NewAfter > 0 {
		d.set.AtMost("the third cause: said to be new after", []float64{p.NewAfter.Seconds()}, 30, " s")
	} else {
		d.set.AtMost("the third cause: explained after", []float64{p.SeenAfter.Seconds()}, 30, " s")
	}
	d.set.Add("slow requests that are accounted for", []float64{float64(p.Accounted)}, "", fmt.Sprintf("all of %d", p.Slow), p.Accounted == p.Slow)
	d.set.Share("seen of the slow requests", int(p.Seen), int(p.Slow), 1, 100)
}
