package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// checkJudging finds, before anything is measured, a -base that is no variant, and a -fail-if that
// nothing could tell.
func (r *Runner) checkJudging() error {
	f, base := r.flags, r.flags.judging.Base
	switch {
	case len(f.judging.FailIf) == 0:
	case len(r.variants) < 2:
		return errors.New("-fail-if is about how variants differ; give each a -variant")
	case f.repeat < 2 && f.until.width == 0 && !f.aa:
		return errors.New("-fail-if takes more than one round to tell anything; write -repeat 10, or -until 10%")
	default:
		if err := cmp.Or(r.enoughRequests(), r.enoughRounds()); err != nil {
			return err
		}
	}
	if base == "" || slices.ContainsFunc(r.variants, func(v variant) bool { return v.label == base }) {
		return nil
	}
	return fmt.Errorf("-base %q is no -variant's label", base)
}

// enoughRequests finds a -fail-if whose figure takes more requests than each run sends.
func (r *Runner) enoughRequests() error {
	o := &r.load
	sent, known := plannedRequests(o)
	for _, l := range r.flags.judging.FailIf {
		least := float64(compare.Least(l.Figure))
		if !known || least <= sent {
			continue
		}
		raise := "load for longer"
		switch {
		case o.Requests > 0 && float64(o.Requests) < least || o.Duration == 0 && !o.Open():
			raise = fmt.Sprintf("write -n %.0f", least)
		case o.Rate > 0:
			need := least
			if o.Arrivals == loadgen.ArrivalsPoisson {
				need = math.Pow(poissonMargin/2+math.Sqrt(poissonMargin*poissonMargin/4+least), 2)
			}
			raise = fmt.Sprintf("write -z %s", time.Duration(math.Ceil(need/o.Rate))*time.Second)
		}
		return fmt.Errorf("-fail-if %s: %s needs %s requests a run, and this load sends %s; %s",
			l.Text, l.Figure, textfmt.Count(least), textfmt.Count(sent), raise)
	}
	return nil
}

// poissonMargin is by how many standard deviations fewer requests of random arrivals may come than
// on average.
const poissonMargin = 4

// plannedRequests returns how many requests a run sends, if the flags say that.
func plannedRequests(o *loadgen.Options) (n float64, known bool) {
	n = math.Inf(1)
	switch {
	case len(o.Times) > 0:
		n = float64(len(o.Times))
	case len(o.Stages) > 0:
		n = 0
		for _, s := range o.Stages {
			n += (s.From + s.To) / 2 * s.Duration.Seconds()
		}
	case o.Rate > 0 && o.Duration > 0:
		n = o.Rate * o.Duration.Seconds()
	case o.Duration == 0 && o.Requests == 0:
		n = load.DefaultRequests
	}
	if o.Arrivals == loadgen.ArrivalsPoisson && !math.IsInf(n, 1) {
		n -= poissonMargin * math.Sqrt(n)
	}
	if o.Requests > 0 {
		n = min(n, float64(o.Requests))
	}
	return math.Ceil(max(n, 0) - 1e-6), !math.IsInf(n, 1) // at constant gaps the first is due at once
}

// enoughRounds finds a -fail-if that so few rounds cannot tell, however clear the answer is.
func (r *Runner) enoughRounds() error {
	f := r.flags
	verdicts := len(f.judging.FailIf.Figures()) * (len(r.variants) - 1)
	if f.until.width == 0 {
		if least := compare.Fewest(verdicts, 0); f.repeat < least {
			return fmt.Errorf("-fail-if tells nothing by fewer than %d rounds of these variants; write -repeat %d, "+
				"or more", least, least)
		}
		return nil
	}
	round := time.Duration(len(r.variants)) * (r.load.Warmup + r.load.Duration) // and the service's start
	budget := time.Duration(cmp.Or(f.until.budget, cli.Period(defaultBudget)))
	if round == 0 {
		return nil
	}
	looks := int(budget / round)
	if least := compare.Fewest(verdicts, max(min(looks, tailstat.MaxRounds), 1)); looks < least {
		return fmt.Errorf("-fail-if tells nothing by fewer than %d rounds of these variants, and one takes %s at "+
			"least; write -budget %s, or more",
			least, round, time.Duration(least)*round)
	}
	return nil
}
