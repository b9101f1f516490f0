//go:build cgo && unix

package main

import (
	"evenkeel.dev/bench/figure"
	"evenkeel.dev/fastc"
)

// judge adds the figures of all parts that the raw results hold, as each part does when it was measured.
func judge(set *figure.Set, raw figure.Recorded) error {
	b := &bench{set: set}
	var ns map[string]map[string][]float64
	var allocs *float64
	if _, err := raw.Read("wrapper_allocations", &allocs); err != nil {
		return err
	}
	if ok, err := raw.Read("ns_a_call", &ns); err != nil {
		return err
	} else if ok {
		b.callFigures(ns, allocs)
	}
	for _, way := range []string{"fast", "technique"} {
		var report string
		if ok, err := raw.Read("crash by "+way, &report); err != nil {
			return err
		} else if ok {
			b.crashFigure(way, report)
		}
	}
	var stops []stopped
	if _, err := raw.Read("stops", &stops); err != nil {
		return err
	}
	b.stopFigures(stops)
	for _, oneIn := range rareOnes {
		var seconds []float64
		if _, err := raw.Read(divertedKey(oneIn), &seconds); err != nil {
			return err
		}
		b.rareFigure(oneIn, seconds)
	}
	var within fastc.Stats
	if ok, err := raw.Read("site_within_budget", &within); err != nil {
		return err
	} else if ok {
		b.withinFigure(within)
	}
	var p99 map[string][]float64
	if _, err := raw.Read("stopping_p99_ns", &p99); err != nil {
		return err
	}
	b.budgetFigures(p99)
	var server []sample
	if _, err := raw.Read("server", &server); err != nil {
		return err
	}
	b.serverFigures(server)
	return nil
}
