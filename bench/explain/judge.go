//go:build linux

package main

import (
	"fmt"
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
	var cost analysisCost
	if _, err := raw.Read("analysis", &cost); err != nil {
		return err
	}
	d.analysisFigures(cost)
	for _, size := range speedSizes {
		var c speedCost
		if ok, err := raw.Read(fmt.Sprint(speedKey, size), &c); err != nil {
			return err
		} else if ok {
			d.speedFigures(c)
		}
	}
	var marks middlewareCost
	ok, err := raw.Read("middleware", &marks)
	if ok {
		d.middlewareFigures(marks)
	}
	return err
}
