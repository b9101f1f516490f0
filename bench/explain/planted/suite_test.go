//go:build linux

// Package planted tests package reqtrace on services whose slowest requests have a known cause:
// does it name that cause, with its place and the holder of the lock? By default each test is short
// and asks only whether a request waits where the cause was planted. -full traces each plant often
// enough to judge how often the verdict is right:
//
//	go test -timeout 3h ./explain/planted -full -run 'TestCases/explain/(plants|shares|diff|real|asserts)'
package planted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

var full = harness.TestFlags()

// TestCases runs the cases of plants.
func TestCases(t *testing.T) {
	full.Run(t, plantsCase(), realCase(), sharesCase(), diffCase(), assertsCase())
}

// traceLength is so long that the slowest 1% of 200 requests per second are the ten that a verdict
// asks for.
const traceLength = 6 * time.Second

// suite is a case of plants.
type suite struct {
	plants []plant
	behind *services
}

// newCase returns a case of plants with what all have in common.
func (s *suite) newCase(name, what string) harness.Case {
	c := harness.Case{
		Name: "explain/" + name, What: what, Length: traceLength, Warmup: time.Second, Open: s.open, Run: s.run,
	}
	for _, p := range s.plants {
		c.Ways = append(c.Ways, p.name)
	}
	return c
}

func (s *suite) open(context.Context, *harness.Run) (end func(), err error) {
	if s.behind, err = serveUpstreams(); err != nil {
		return nil, err
	}
	return s.behind.end, nil
}

// plant returns the plant of a name.
func (s *suite) plant(name string) *plant {
	return &s.plants[slices.IndexFunc(s.plants, func(p plant) bool { return p.name == name })]
}

// The loads of the plants.
const (
	quiet = "quiet"
	busy  = "busy"
	procs = "GOMAXPROCS="
)

func plantsCase() harness.Case {
	s := &suite{plants: plants}
	c := s.newCase("plants", "causes that were planted into a service, and those that explain names, next to the truth")
	c.Rounds, c.Loads = 3, []string{quiet, procs + "1", procs + "2", busy}
	c.Skip = func(way, load string) bool { return strings.HasPrefix(load, procs) && s.plant(way).load.procs != "" }
	c.Figures = []string{"right", "holder right", "named"}
	for _, load := range c.Loads {
		least := 90.
		if load == busy {
			least = 80
		}
		c.Claims = append(c.Claims, rightIn(load, least)...)
	}
	c.Claims = append(c.Claims,
		harness.Claim{Figure: "named", Of: "nothing", Target: harness.AtMost(100. / 60)},
		harness.None("", "", "collector named, and none ran"))
	c.Report = wrong
	return c
}

// rightIn are the claims about all plants under a load.
func rightIn(load string, least float64) []harness.Claim {
	return []harness.Claim{
		{Load: load, Figure: "right", Of: "planted", Target: harness.AtLeast(least)},
		{Load: load, Figure: "holder right", Of: "held", Target: harness.AtLeast(least)},
	}
}

func realCase() harness.Case {
	s := &suite{plants: slices.Clone(realPrograms)}
	for i := range s.plants {
		s.plants[i].program = "bench/explain/real/" + s.plants[i].program
	}
	c := s.newCase("real", "causes planted behind or next to programs that others wrote, and those that explain names")
	c.Needs = "the modules of Caddy, etcd, gRPC, SQLite and Prometheus"
	c.Rounds, c.Figures, c.Claims, c.Report = 3, []string{"right", "holder right", "named"}, rightIn("", 90), wrong
	return c
}

// wrong prints what was said where it was not right.
func wrong(res *harness.Result) {
	for _, r := range res.Runs {
		v := r.Values
		if v["planted"] > v["right"] || v["held"] > v["holder right"] || v["named"] > 0 {
			fmt.Fprintf(res.Out, "%s %s: %v\n", r.Way, r.Load, r.Said)
		}
	}
}

// run has a plant explained, and sets what of it is right.
func (s *suite) run(ctx context.Context, r *harness.Run) error {
	p := s.plant(r.Way)
	if p.program != "" {
		if r.Quick {
			return harness.NotHere(errors.New("a quick run downloads and builds no programs of others"))
		}
		if _, err := r.Program(ctx, p.program); err != nil {
			return harness.NotHere(err)
		}
	}
	if r.Quick && r.Load != "" && r.Load != quiet {
		return harness.NotHere(errors.New("a quick run has only the load " + quiet))
	}
	env := s.behind.env
	if n, ok := strings.CutPrefix(r.Load, procs); ok {
		env = append(slices.Clone(env), "GOMAXPROCS="+n)
	}
	if r.Load == busy {
		end, err := machine.BusyLoops(ctx, 2)
		if err != nil {
			return err
		}
		defer end()
	}
	t, err := p.traced(ctx, r, env...)
	if err != nil {
		return err
	}
	report, err := t.report(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v := &verdict.Verdict{}
	if err != nil {
		r.Said = err.Error()
	} else {
		v = verdict.Of(report)
	}
	p.judge(r, v, report)
	return nil
}

// judge holds a verdict against the truth. What cannot be explained is not right.
func (p *plant) judge(r *harness.Run, v *verdict.Verdict, report *reqtrace.Report) {
	t, said := &p.truth, strings.Join(append([]string{v.Sentence}, v.LeftOut...), " ")
	if said != "" {
		r.Said = said
	}
	first := verdict.NamedCause{}
	if v.Named {
		first = v.Causes[0]
	}
	words := strings.Contains(said, t.words)
	accused := v.Named && slices.Contains(collector, first.Cause) &&
		!slices.ContainsFunc(report.Spans, func(s reqtrace.Span) bool { return !s.Stopped })
	r.Set("collector named, and none ran", number(accused))
	if len(t.causes) == 0 {
		r.Set("nothing", 1)
		busyHost := r.Load == busy && slices.Contains(ofLoops, first.Cause)
		r.Set("named", number(v.Named && !busyHost || !words))
		return
	}
	among := func(list []string, what string) bool { return len(list) == 0 || slices.Contains(list, what) }
	r.Set("planted", 1)
	cause := v.Named && slices.Contains(t.causes, first.Cause)
	op := t.op == "" || slices.Contains(strings.Split(t.op, "|"), first.Op)
	r.Set("right", number(cause && op && words && among(t.at, function(first.Site))))
	if len(t.holder) > 0 {
		r.Set("held", 1)
		doing := t.doing == reqtrace.CauseUnknown || first.Doing == t.doing
		r.Set("holder right", number(v.Named && slices.Contains(t.holder, function(first.Holder)) && doing))
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// function returns a place without its file, without the closures in it, and without the name of
// the service's package: main.f.func1 is f.
func function(place string) string {
	name, _, _ := strings.Cut(place, " (")
	for _, own := range []string{"main.", "planted."} {
		name = strings.TrimPrefix(name, own)
	}
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return name
		}
		last := strings.TrimPrefix(name[dot+1:], "func")
		if last == "" || strings.Trim(last, "0123456789") != "" {
			return name
		}
		name = name[:dot]
	}
}

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
	if _, none := errors.AsType[*reqtrace.NoRequestsError](err); none && r.Quick {
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
	r.Said = c.Sentence
	r.Set("pairs", 1)
	r.Set("named", number(c.Named))
	r.Set("right", number(c.Named && c.Causes[0].Slow.More > 0 && slices.Contains(p.truth.causes, c.Causes[0].Cause) &&
		(len(p.truth.at) == 0 || slices.Contains(p.truth.at, function(c.Causes[0].Site)))))
	r.Set("more", 100*(float64(c.Slow.New)/float64(max(c.Slow.Old, 1))-1))
	return nil
}
