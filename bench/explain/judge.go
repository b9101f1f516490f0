//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"

	"evenkeel.dev/bench/figure"
)

// judge adds the figures of all parts that the raw results hold, as each part does when it was measured.
func judge(set *figure.Set, raw figure.Recorded) error {
	d := &driver{set: set, out: set.Out}
	grown := map[string][]*pair{}
	for _, key := range raw.Keys(plantKey) {
		var pairs []*pair
		if _, err := raw.Read(key, &pairs); err != nil {
			return err
		}
		grown[strings.TrimPrefix(key, plantKey)] = pairs
	}
	d.plantFigures(grown)
	var found []float64
	if ok, err := raw.Read(foundKey, &found); err != nil {
		return err
	} else if ok {
		d.foundFigure(found)
	}
	for _, refresh := range refreshes {
		var runs []*sample
		if ok, err := raw.Read(refreshKey+refresh, &runs); err != nil {
			return err
		} else if ok {
			d.refreshFigure(refresh, runs)
		}
	}
	if err := d.judgeWhatIf(raw); err != nil {
		return err
	}
	var cost analysisCost
	if _, err := raw.Read("analysis", &cost); err != nil {
		return err
	}
	d.analysisFigures(cost)
	var marks middlewareCost
	ok, err := raw.Read("middleware", &marks)
	if ok {
		d.middlewareFigures(marks)
	}
	return err
}

// judgeWhatIf adds the figures of forecasts without a collector: of the intervals, and of results before there were some.
func (d *driver) judgeWhatIf(raw figure.Recorded) error {
	all := map[string]*loaded{}
	for _, key := range raw.Keys(forecastKey) {
		l := &loaded{}
		if _, err := raw.Read(key, l); err != nil {
			return err
		}
		all[key] = l
	}
	d.forecastFigure(all)
	var off []float64
	within := 0.
	for _, key := range raw.Keys(whatIfKey) {
		var p struct{ Error float64 }
		if _, err := raw.Read(key, &p); err != nil {
			return err
		}
		off = append(off, 100*math.Abs(p.Error))
		if math.Abs(p.Error) <= .20 {
			within++
		}
	}
	if len(off) > 0 {
		fmt.Fprintf(d.out, "what-if p99 error, median of the points: %.0f %%\n", figure.Median(off))
		d.set.AtLeast("what-if p99 error at most 20 %, of 8 points", []float64{within}, 6, "")
	}
	return nil
}
