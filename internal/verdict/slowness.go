package verdict

import (
	"cmp"
	"math"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

const slowest = .01

// slowness says how much a request counts in the difference between two means of the slowest 1%.
//
// Let S(x) be the share of a side's requests that take longer than x. The mean of the slowest 1%
// is the area under S cut off at 1%, over 1%. So the difference is an area between two curves:
//
//	1% ┼────────╮· · · · ╭ new, cut off           φ   0 │ part of it │ 1
//	   │        │░░░░░░░░╰──╮
//	   │    old ╰──╮░░░░░░░░╰────╮
//	   │           ╰────────╮░░░░╰─────╮
//	   └────────┴───────────┴──────────────> x
//	          p99 old    p99 new
//
// Right of both 99th percentiles all of S'(x) - S(x) counts (φ = 1), left of both none, and
// between them the part below 1%. A request of length X counts ∫φ from 0 to X. If each side's
// slowest 1% stood alone, a new cause would push others out of it, and these would seem to take
// less.
type slowness struct {
	times []time.Duration // at which the curves fall, in order
	upTo  []float64       // ns that a request of that time counts
	tails [2]float64      // ns: means of the slowest 1%
}

// newSlowness needs the slowest 1% of each side and of each trace.
func newSlowness(sides [2][]*reqtrace.Report) *slowness {
	var all []slowRequest
	for s, reports := range sides {
		all = append(all, slowRequests(reports, s)...)
	}
	slices.SortStableFunc(all, bySlowness)
	x := &slowness{}
	var above [2]float64 // S, of the step that ends at a time
	var steps []float64  // ∫φ over it
	for i, q := range all {
		above[q.side] += q.weight
		if i+1 < len(all) && all[i+1].Time == q.Time {
			continue
		}
		below := time.Duration(0)
		if i+1 < len(all) {
			below = all[i+1].Time
		}
		width := float64(q.Time - below)
		cut := [2]float64{min(above[0], slowest), min(above[1], slowest)}
		phi := 0.
		switch d := above[1] - above[0]; {
		case d != 0:
			phi = (cut[1] - cut[0]) / d
		case cut[0] == above[0]:
			phi = 1
		}
		for s := range cut {
			x.tails[s] += cut[s] / slowest * width
		}
		x.times, steps = append(x.times, q.Time), append(steps, phi*width)
	}
	slices.Reverse(x.times)
	slices.Reverse(steps)
	sum := 0.
	for _, d := range steps {
		sum += d
		x.upTo = append(x.upTo, sum)
	}
	return x
}

func (x *slowness) of(d time.Duration) float64 {
	i, _ := slices.BinarySearch(x.times, d)
	return x.upTo[min(i, len(x.upTo)-1)]
}

// slowRequest is a slow request and the share of its side's requests for which it stands.
type slowRequest struct {
	*reqtrace.SlowRequest
	side   int
	weight float64
}

func slowRequests(reports []*reqtrace.Report, side int) (all []slowRequest) {
	for _, r := range reports {
		for i := range r.Blocks {
			for k := range r.Blocks[i].Slow {
				q := &r.Blocks[i].Slow[k]
				all = append(all, slowRequest{q, side, float64(q.Weight) / float64(r.Requests) / float64(len(reports))})
			}
		}
	}
	return all
}

func bySlowness(p, q slowRequest) int { return cmp.Compare(q.Time, p.Time) }

// slowestParts returns the mean of the slowest 1% of a side.
func slowestParts(reports []*reqtrace.Report) reqtrace.Parts {
	all, left, parts := slowRequests(reports, 0), slowest, map[reqtrace.Cause]float64{}
	slices.SortStableFunc(all, bySlowness)
	for _, q := range all {
		weight := min(q.weight, left)
		left -= weight
		for _, p := range q.Parts {
			parts[kin(p.Cause)] += float64(p.Time) * weight / slowest
		}
	}
	return partsOfNS(parts)
}

func partsOfNS(ns map[reqtrace.Cause]float64) (p reqtrace.Parts) {
	for c, x := range ns {
		p.Add(c, time.Duration(math.Round(x)))
	}
	return p
}
