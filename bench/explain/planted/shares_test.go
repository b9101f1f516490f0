//go:build linux

package planted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// some returns a suite of some of the plants.
func some(names ...string) *suite {
	s := &suite{}
	for _, name := range names {
		s.plants = append(s.plants, *(&suite{plants: plants}).plant(name))
	}
	return s
}

// sharesCase takes causes away. What the slowest 1% save is the truth about a cause's share.
func sharesCase() harness.Case {
	s := some("assist", "stopped", "mutex-asks", "bursts", "read", "middleware", "worker-sleeps")
	c := s.newCase("shares", "the share of a planted cause, next to what its absence saves")
	c.Rounds, c.Run = 5, s.share
	c.Figures = []string{"share", "saved", "distance", "median", "p99+", "unknown"}
	for _, way := range c.Ways {
		c.Claims = append(c.Claims,
			harness.Claim{Way: way, Figure: "distance", Target: harness.AtMost(10), Unit: " points"},
			harness.Claim{Way: way, Figure: "unknown", Target: harness.AtMost(1), Unit: "%"})
	}
	return c
}

// share traces a plant with its cause and without it, in an order that changes with the round.
func (s *suite) share(ctx context.Context, r *harness.Run) error {
	if r.Quick && r.Way != "mutex-asks" {
		return harness.NotHere(errOnePlant)
	}
	p := *s.plant(r.Way)
	var reports [2]*reqtrace.Report // with, without
	for i := range 2 {
		without := (i + r.Round) % 2
		env, q := s.behind.env, p
		if without == 1 {
			env = append(slices.Clone(env), "WITHOUT=1")
			q.load.alike = r.Way != "assist" // of which the collector goes
		}
		t, err := q.traced(ctx, r, env...)
		if err != nil {
			return err
		}
		if reports[without], err = t.report(ctx); err != nil {
			return noRequests(r, err)
		}
	}
	with, without := reports[0], reports[1]
	causes := p.truth.causes
	if r.Way == "assist" {
		causes = collector
	}
	share := 100 * with.Tail.Share(causes...)
	saved := 100 * float64(with.Tail.Mean-without.Tail.Mean) / float64(max(with.Tail.Mean-with.Median.Mean, 1))
	r.Set("share", share)
	r.Set("saved", saved)
	r.Set("distance", math.Abs(share-saved))
	r.Set("median", with.Median.Mean.Seconds()*1e3)
	r.Set("p99+", with.Tail.Mean.Seconds()*1e3)
	r.Set("unknown", 100*with.Tail.Parts.Share(reqtrace.CauseUnknown))
	return nil
}

var errOnePlant = errors.New("a quick run has one plant")

// noRequests returns an error, but not that a short trace of a quick run has no requests.
func noRequests(r *harness.Run, err error) error {
	if r.Quick && errors.Is(err, reqtrace.ErrNoRequests) {
		return nil
	}
	return err
}

const (
	diffTraces = 3   // of each side
	diffMore   = 1.2 // how much longer a plant takes in the new version
)

// diffCase compares groups of traces.
func diffCase() harness.Case {
	s := some("mutex-asks", "middleware", "worker-sleeps", "bursts")
	c := s.newCase("diff", "groups of three traces of the same program, and with a cause that takes a fifth longer")
	c.Rounds, c.Loads, c.Ways, c.Run = 10, c.Ways, []string{"the same", "a fifth longer"}, s.compare
	c.Figures = []string{"named", "right", "more"}
	c.Claims = []harness.Claim{
		harness.None("the same", "", "named"),
		{Way: "a fifth longer", Figure: "right", Of: "pairs", Target: harness.AtLeast(90)},
	}
	return c
}

// compare traces a program as it is, and one with the way's strength, in turns.
func (s *suite) compare(ctx context.Context, r *harness.Run) error {
	if r.Quick && r.Load != "mutex-asks" {
		return harness.NotHere(errOnePlant)
	}
	p := s.plant(r.Load)
	strength := "STRENGTH=1"
	if r.Way != "the same" {
		strength = fmt.Sprint("STRENGTH=", diffMore)
	}
	var sides [2][]*reqtrace.Report
	for i := range 2 * harness.Unless(r, diffTraces, 1) {
		side := (i + i/2 + r.Round) % 2 // neither is always the first
		env := s.behind.env
		if side == 1 {
			env = append(slices.Clone(env), strength)
		}
		t, err := p.traced(ctx, r, env...)
		if err != nil {
			return err
		}
		report, err := t.report(ctx)
		if err != nil {
			return noRequests(r, err)
		}
		sides[side] = append(sides[side], report)
	}
	c, err := verdict.Compare(sides[0], sides[1], "old", "new")
	if err != nil {
		return noRequests(r, err)
	}
	r.Keep("said", c.Sentence)
	r.Set("pairs", 1)
	r.Set("named", number(c.Named))
	r.Set("right", number(c.Named && c.Causes[0].Slow.More > 0 && slices.Contains(p.truth.causes, c.Causes[0].Cause) &&
		(len(p.truth.at) == 0 || slices.Contains(p.truth.at, function(c.Causes[0].Site)))))
	r.Set("more", 100*(float64(c.Slow.New)/float64(max(c.Slow.Old, 1))-1))
	return nil
}
