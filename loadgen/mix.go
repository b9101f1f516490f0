package loadgen

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev"
)

// Limits of a mix of targets.
const (
	MaxTargets = 1 << 20 // also requests of one round: the sum of the weights, in lowest terms
	MaxClasses = 64      // classes of targets that have figures of their own
)

// OtherTargets is the class of the targets without a class name, if there are more than MaxClasses.
const OtherTargets = "other targets"

// Round returns the order of the targets that Run repeats, as indexes. A target of weight 3 is in
// it three times, as far apart as can be. Its errors are *evenkeel.OptionError.
func Round(targets []Target) ([]int, error) {
	if len(targets) > MaxTargets {
		return nil, evenkeel.NewOptionError("loadgen.Options", "Targets", "%d; there may be %d", len(targets),
			MaxTargets)
	}
	common := 0
	for i := range targets {
		w := targets[i].Weight
		if w < 0 || w > MaxTargets {
			return nil, evenkeel.NewOptionError("loadgen.Options", fmt.Sprintf("Targets[%d].Weight", i),
				"%d; it goes from 1 to %d, or is 0 for 1", w, MaxTargets)
		}
		common = greatestCommon(common, targets[i].weight())
	}
	// turn is a request of the round. Its place is half an interval after the last of its target.
	type turn struct {
		place  float64 // 0 to 1
		target int
	}
	var turns []turn
	for i := range targets {
		w := targets[i].weight() / common
		if len(turns)+w > MaxTargets {
			return nil, evenkeel.NewOptionError("loadgen.Options", "Targets",
				"a round of their weights has over %d requests: write smaller weights", MaxTargets)
		}
		for k := range w {
			turns = append(turns, turn{(float64(k) + .5) / float64(w), i})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.place, b.place) })
	round := make([]int, len(turns))
	for i, t := range turns {
		round[i] = t.target
	}
	return round, nil
}

// mix returns the order of the targets, or nil for their own order, and their classes, or none if
// there is one.
func mix(targets []Target) (round []int, c classes, err error) {
	if slices.ContainsFunc(targets, func(t Target) bool { return t.Weight != 0 }) || len(targets) > MaxTargets {
		if round, err = Round(targets); err != nil {
			return nil, c, err
		}
	}
	if c, err = classesOf(targets); len(c.names) < 2 {
		c = classes{}
	}
	return round, c, err
}

// weight returns the share of a target, 1 or more.
func (t *Target) weight() int { return max(t.Weight, 1) }

func greatestCommon(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// classes are the targets of a run by class.
type classes struct {
	of    []int // class of each target
	names []string
	share []float64 // of the requests
}

// classesOf returns the classes that targets name, and "METHOD URL" for the others.
func classesOf(targets []Target) (classes, error) {
	var c classes
	index := map[string]int{}
	enter := func(name string) {
		if _, ok := index[name]; !ok {
			index[name] = len(c.names)
			c.names = append(c.names, name)
		}
	}
	for i := range targets {
		enter(targets[i].class())
	}
	lump := len(c.names) > MaxClasses
	if lump {
		c.names = nil
		clear(index)
		for i := range targets {
			enter(cmp.Or(targets[i].Class, OtherTargets))
		}
		if len(c.names) > MaxClasses {
			return c, evenkeel.NewOptionError("loadgen.Options", "Targets", "%d classes; there may be %d", len(c.names),
				MaxClasses)
		}
	}
	c.share = make([]float64, len(c.names))
	total := 0.
	for i := range targets {
		name := targets[i].class()
		if lump {
			name = cmp.Or(targets[i].Class, OtherTargets)
		}
		k := index[name]
		c.of = append(c.of, k)
		c.share[k] += float64(targets[i].weight())
		total += float64(targets[i].weight())
	}
	for k := range c.share {
		c.share[k] /= total
	}
	return c, nil
}

// class returns the name of a target's class.
func (t *Target) class() string { return cmp.Or(t.Class, cmp.Or(t.Method, "GET")+" "+t.URL) }
