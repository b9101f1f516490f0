package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

type Goal struct {
	Text     string
	quantile float64
	limit    time.Duration
}

const goalForm = "write it as pQUANTILE < DURATION, such as 'p99 < 20ms' or 'p99.9<1s'"

func (g *Goal) String() string { return g.Text }

func (g *Goal) Set(text string) error {
	l, err := ParseLimit(text)
	q, ok := l.quantile()
	if err != nil || !ok || !l.less || l.class != "" || l.bound <= 0 {
		return errors.New(goalForm)
	}
	d := time.Duration(math.Round(l.bound * 1e9))
	*g = Goal{Text: fmt.Sprintf("%s < %s", l.figure, textfmt.Duration(d)), quantile: q, limit: d}
	return nil
}

const (
	// findStretches is how many observations a step gives, the fewest that decide.
	findStretches = 5
	findLevel     = .9               // of a step's interval
	findStep      = 10 * time.Second // without -z
	findProbe     = 2 * time.Second  // to guess a start
	findWarmup    = time.Second      // without -warmup
)

type step struct {
	load      *loadgen.Result
	stretches [findStretches]loadgen.Histogram // by when requests were due
}

func judgeByStretches(g Goal, s *step) (rateVerdict, string) {
	refused, timed := int64(0), int64(0)
	for status, n := range s.load.Statuses {
		if status >= 500 {
			refused += n
		}
	}
	for i := range s.stretches {
		timed += s.stretches[i].Count()
	}
	bad := s.load.Failed + refused
	if share := float64(bad) / float64(max(s.load.Requests(), 1)); share > 1-g.quantile {
		return rateFails, fmt.Sprintf("%.1f%% failed", 100*share)
	}
	// Failures and answers of 5xx take the highest ranks, so the quantile of the others is lower.
	requests := float64(s.load.Requests())
	above := (1-g.quantile)*requests - float64(max(s.load.Requests()-timed, 0)+refused)
	quantile := min(max(1-above/float64(max(timed, 1)), g.quantile), 1)
	var over []float64 // logarithms
	for i := range s.stretches {
		if s.stretches[i].Count() > 0 {
			q := max(s.stretches[i].Quantile(quantile), 1)
			over = append(over, math.Log(float64(q)/float64(g.limit)))
		}
	}
	if len(over) < findStretches || s.load.Requests() < enough(g.quantile) {
		return rateUnknown, fmt.Sprintf("%s requests are too few for it: more -z",
			textfmt.Count(float64(s.load.Requests())))
	}
	low, high, err := tailstat.SignedRank(over, findLevel)
	switch {
	case err != nil:
		return rateUnknown, err.Error()
	case high < 0:
		return rateHolds, ""
	case low >= 0:
		return rateFails, ""
	}
	at := func(log float64) string { return textfmt.Duration(time.Duration(math.Exp(log) * float64(g.limit))) }
	return rateUnknown, fmt.Sprintf("%s to %s", at(low), at(high))
}

// enough requests give each stretch one beyond the quantile.
func enough(quantile float64) int64 {
	return int64(math.Ceil(findStretches / (1 - quantile) * (1 - 1e-9)))
}

// Finder searches the highest rate that holds.
type Finder struct {
	app     *cli.App
	goal    Goal
	measure func(ctx context.Context, o loadgen.Options, label string) (*loadgen.Result, error)
	load    loadgen.Options
	service runfile.Watched
	file    *runfile.File
}

// NewFinder returns a search. The load goes to service.
func NewFinder(a *cli.App, g Goal, o loadgen.Options, service runfile.Watched) *Finder {
	return &Finder{
		app: a, goal: g, load: o, service: service,
		file: &runfile.File{Version: runfile.Version, Tool: runfile.Tool(), Machine: runfile.ThisMachine()},
		measure: func(ctx context.Context, o loadgen.Options, label string) (*loadgen.Result, error) {
			return NewProgress(a, label).Run(ctx, o)
		},
	}
}

// Find searches and writes all steps to the output.
func (f *Finder) Find(ctx context.Context, output string) error {
	o := &f.load
	start := o.Rate
	if o.Duration == 0 {
		o.Duration, o.Drain = findStep, drain
	}
	if o.Warmup == 0 {
		o.Warmup = findWarmup
	}
	if start == 0 {
		probe := *o
		probe.Rate, probe.Duration, probe.Warmup, probe.Arrivals = 0, findProbe, 0, loadgen.ArrivalsConstant
		res, err := f.measure(ctx, probe, "closed loop")
		if err != nil {
			return err
		}
		if err := CheckRuns(&runfile.File{Runs: []runfile.Run{{Load: res}}}); err != nil {
			return err
		}
		start = min(loadgen.MaxRate, max(1, res.Throughput()/2))
		fmt.Fprintf(f.app.Stderr, "closed loop: %s requests/s; the search begins at half of that\n",
			textfmt.Count(res.Throughput()))
	}
	lowest := min(loadgen.MaxRate, max(loadgen.MinRate, float64(enough(f.goal.quantile))/o.Duration.Seconds()))
	found, err := searchRate(ctx, max(start, lowest), lowest, f.step)
	if ctx.Err() != nil {
		err = cli.ErrInterrupted
	}
	if len(f.file.Runs) > 0 {
		err = errors.Join(err, f.app.Save(f.file, output))
	}
	if output != cli.ToStdout {
		_, werr := fmt.Fprintln(f.app.Stdout, foundText(f.goal, found))
		err = errors.Join(err, werr)
	}
	if err == nil && found.holds == 0 {
		err = fmt.Errorf("no rate was found at which %s holds", f.goal.Text)
	}
	return err
}

func (f *Finder) step(ctx context.Context, rate float64) (rateVerdict, error) {
	o := f.load
	o.Rate = rate
	s := &step{}
	var began time.Time
	var watch *runfile.Watch
	o.OnMeasure = func() { began, watch = time.Now(), runfile.NewWatch(f.service) }
	o.OnLatency = func(due time.Time, latency time.Duration) {
		i := int(due.Sub(began) * findStretches / o.Duration)
		s.stretches[min(max(i, 0), findStretches-1)].Record(latency)
	}
	res, err := f.measure(ctx, o, textfmt.Count(rate)+"/s")
	if err != nil {
		return 0, err
	}
	s.load = res
	run := runfile.Run{Label: textfmt.Count(rate) + "/s", Repeat: 1, Load: res}
	if watch != nil { // nil: interrupted
		run.Disturbance = watch.End()
	}
	f.file.Runs = append(f.file.Runs, run)
	if res.Interrupted {
		return 0, cli.ErrInterrupted
	}
	v, why := judgeByStretches(f.goal, s)
	if v == rateFails && f.goal.missedHere(res, why) {
		v, why = rateUnknown,
			"the load generator did not keep this rate itself, so nothing is known of the service"
	}
	if spoilt := compare.Spoilt(&run); spoilt != "" {
		why = strings.TrimPrefix(why+"; "+spoilt, "; ")
	}
	if why != "" {
		why = " (" + why + ")"
	}
	fmt.Fprintf(f.app.Stderr, "%s requests/s: %s is %s, %s %v%s\n", textfmt.Count(rate), strings.Fields(f.goal.Text)[0],
		textfmt.Duration(res.Latency.Quantile(f.goal.quantile)), f.goal.Text, v, why)
	return v, nil
}

// missedHere reports whether the load generator itself missed the goal. whyFailed is the service's
// failure, or "".
func (g *Goal) missedHere(l *loadgen.Result, whyFailed string) bool {
	if l.FailedBy(loadgen.ClassGenerator) > 0 {
		return true
	}
	late := l.Pacer.Quantile(g.quantile)
	return whyFailed == "" && late > loadgen.LateAfter && l.Latency.Quantile(g.quantile)-late < g.limit
}

type rateVerdict int

const (
	rateUnknown rateVerdict = iota
	rateHolds
	rateFails
)

func (v rateVerdict) String() string { return [...]string{"inconclusive", "holds", "fails"}[v] }

const (
	searchSteps = 12
	// searchWithin is how far the next rate may lie above the result, half of the promised 5%,
	// because a verdict close to the limit may be wrong by chance.
	searchWithin = 1.025
)

// foundRates are 0 if there is no such rate.
type foundRates struct {
	holds   float64 // highest
	fails   float64 // lowest
	unknown float64 // lowest
	steps   int
}

// searchRate looks for the highest rate that holds. It goes up or down by factors of 2, 4 and then
// 8 until one rate holds and a higher one does not. Then it bisects the logarithm.
func searchRate(
	ctx context.Context, start, lowest float64, step func(context.Context, float64) (rateVerdict, error),
) (f foundRates, err error) {
	rate, factor := start, 2.0
	for f.steps < searchSteps && ctx.Err() == nil {
		v, err := step(ctx, rate)
		if err != nil {
			return f, err
		}
		f.add(rate, v)
		bound := lower(f.fails, f.unknown)
		switch {
		case f.holds > 0 && bound > 0:
			if bound <= f.holds*searchWithin {
				return f, nil
			}
			rate = math.Sqrt(f.holds * bound)
			continue
		case f.holds > 0 && rate >= loadgen.MaxRate, f.holds == 0 && rate <= lowest:
			return f, nil
		case f.holds > 0:
			rate = min(rate*factor, loadgen.MaxRate)
		default:
			rate = max(rate/factor, lowest)
		}
		factor = min(2*factor, 8)
	}
	return f, ctx.Err()
}

// add keeps holds below fails and unknown.
func (f *foundRates) add(rate float64, v rateVerdict) {
	f.steps++
	switch v {
	case rateHolds:
		f.holds = max(f.holds, rate)
	case rateFails:
		f.fails = lower(f.fails, rate)
	default:
		f.unknown = lower(f.unknown, rate)
	}
}

func lower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

func foundText(g Goal, f foundRates) string {
	if f.holds == 0 {
		return fmt.Sprintf("%s holds at none of the %d rates tried", g.Text, f.steps)
	}
	t := fmt.Sprintf("%s holds up to %s requests/s", g.Text, textfmt.Count(f.holds))
	if f.unknown > 0 {
		t += fmt.Sprintf(", is inconclusive at %s/s", textfmt.Count(f.unknown))
	}
	if f.fails > 0 {
		t += fmt.Sprintf(", fails at %s/s", textfmt.Count(f.fails))
	}
	if f.unknown == 0 && f.fails == 0 {
		t += ", the highest tried"
	}
	return fmt.Sprintf("%s (%d steps)", t, f.steps)
}
