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

// checkJudging finds, before measuring, a wrong -base and a -fail-if that cannot be decided.
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

func (r *Runner) enoughRequests() error {
	o := &r.load
	sent := load.Planned(o)
	if o.Arrivals == loadgen.ArrivalsPoisson && sent != float64(o.Requests) && !math.IsInf(sent, 1) {
		sent = math.Ceil(max(sent-poissonMargin*math.Sqrt(sent), 0))
	}
	for _, l := range r.flags.judging.FailIf {
		least := float64(compare.Least(l.Figure))
		if least <= sent {
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

// poissonMargin is how many standard deviations fewer requests may come than on average.
const poissonMargin = 4

func (r *Runner) enoughRounds() error {
	f := r.flags
	verdicts := len(f.judging.FailIf.Figures()) * (len(r.variants) - 1)
	if f.until.width == 0 {
		if least := compare.Fewest(verdicts, 0); f.repeat < least {
			return fmt.Errorf("-fail-if tells nothing by fewer than %d rounds of these variants; write -repeat %d",
				least, least)
		}
		return nil
	}
	round := time.Duration(len(r.variants)) * (r.load.Warmup + r.load.Duration) // without the service's start
	budget := time.Duration(cmp.Or(f.until.budget, cli.Period(defaultBudget)))
	if round == 0 {
		return nil
	}
	looks := int(budget / round)
	if least := compare.Fewest(verdicts, max(min(looks, tailstat.MaxRounds), 1)); looks < least {
		return fmt.Errorf("-fail-if tells nothing by fewer than %d rounds, and one takes %s at least; write -budget %s",
			least, round, time.Duration(least)*round)
	}
	return nil
}
