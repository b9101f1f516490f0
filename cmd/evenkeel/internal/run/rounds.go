package run

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/load"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

type untilFlags struct {
	width  float64 // a share; 0: -repeat
	figure string  // the first of -figures
	budget cli.Period
}

const (
	defaultBudget = 10 * time.Minute
	defaultFigure = "p99"

	// timedRounds are measured before the number of looks is fixed. They decide nothing.
	timedRounds = 2
)

func (u *untilFlags) register(fs *flag.FlagSet) {
	fs.Func("until", "add rounds until the ratio of p99, or of the first of -figures, is known to ± this `share`, "+
		"such as 10%, or clearly differs from 1; with -fail-if until each limit is decided", func(text string) error {
		digits, ok := strings.CutSuffix(text, "%")
		n, err := strconv.ParseFloat(digits, 64)
		if !ok || err != nil || !(n > 0 && n <= 1000) {
			return errors.New("write a share above 0%, such as 10%")
		}
		u.width = n / 100
		return nil
	})
	fs.Var(&u.budget, "budget", "end -until after this `duration` (default 10m)")
}

func (r *Runner) checkUntil() error {
	f := r.flags
	u, names := &f.until, f.judging.Figures
	switch {
	case u.width == 0 && u.budget > 0:
		return errors.New("-budget is how long -until may take; say what for, such as -until 10%")
	case u.width == 0:
	case len(r.variants) < 2:
		return errors.New("-until is about the ratio of two variants; give each a -variant")
	default:
		if u.budget == 0 {
			u.budget = cli.Period(defaultBudget)
		}
		if names == nil {
			names = []string{defaultFigure}
		}
		u.figure = names[0]
	}
	if len(r.variants) < 2 {
		return nil
	}
	if f.load.Shape.Seed != 0 {
		f.seed = f.load.Shape.Seed
	}
	for f.seed == 0 {
		f.seed = uint64(rand.Uint32()) // exact in JSON readers
	}
	r.File.Plan = &runfile.Plan{Seed: f.seed, Base: f.judging.Base, Figures: names}
	for _, v := range r.variants {
		r.File.Plan.Variants = append(r.File.Plan.Variants, v.label)
	}
	return nil
}

// draw returns the order of a round. The statistics need each order to be equally likely.
func (r *Runner) draw(round int) []variant {
	if r.File.Plan == nil {
		return r.variants
	}
	rng := rand.New(rand.NewPCG(r.flags.seed, uint64(round)))
	order, labels := slices.Clone(r.variants), []string(nil)
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, v := range order {
		labels = append(labels, v.label)
	}
	r.File.Plan.Order = append(r.File.Plan.Order, labels)
	return order
}

func (r *Runner) MeasureAll(ctx context.Context) error {
	defer cli.OutlivePipe()()
	begun := r.now()
	for i := 1; ; i++ {
		if err := r.round(ctx, i); err != nil {
			return err
		}
		spent := r.now().Sub(begun)
		why := ""
		switch {
		case r.flags.until.width == 0 && i == r.flags.repeat:
			return nil
		case r.flags.until.width > 0 && i >= timedRounds:
			if i == timedRounds {
				r.fixLooks(spent / timedRounds)
			}
			why = r.look(spent)
		}
		if why != "" {
			fmt.Fprintf(r.app.Stderr, "ended after %s: %s\n", textfmt.Plural(i, "round"), why)
			return nil
		}
	}
}

func (r *Runner) round(ctx context.Context, number int) error {
	for _, v := range r.draw(number) {
		if err := r.add(ctx, v, number, &r.File.Runs); err != nil {
			if len(r.variants) > 1 {
				err = fmt.Errorf("%s: %w", v.label, err)
			}
			return err
		}
	}
	return nil
}

// add measures a run, which may be part of an interrupted round.
func (r *Runner) add(ctx context.Context, v variant, round int, to *[]runfile.Run) error {
	run, err := r.take(ctx, v, round)
	if run != nil {
		if r.File.Plan != nil {
			run.Round = round
		}
		*to = append(*to, *run)
	}
	if err == nil && ctx.Err() != nil {
		err = cli.ErrInterrupted
	}
	return err
}

// fixLooks limits the rounds of -until, before a look decides anything.
func (r *Runner) fixLooks(round time.Duration) {
	budget := time.Duration(r.flags.until.budget)
	looks := min(max(int(budget/max(round, 1)), timedRounds), tailstat.MaxRounds)
	r.File.Plan.Looks = looks
	if n := r.Compared().Fewest(); n > looks {
		fmt.Fprintf(r.app.Stderr, "a round takes %s, so -budget %s has room for %d, but %d decide; write -budget %s\n",
			textfmt.Duration(round), budget, looks, n, (time.Duration(n) * round).Round(time.Second))
	}
}

func (r *Runner) Compared() *compare.Comparison {
	return compare.Files([]*runfile.File{&r.File}, []string{r.flags.load.Output})
}

// look says why measuring ends, or "".
func (r *Runner) look(spent time.Duration) (why string) {
	u, c := r.flags.until, r.Compared()
	row := c.Row(u.figure)
	narrow, clear, known := true, true, []string(nil)
	for k, col := range c.Columns {
		if k == c.Base {
			continue
		}
		var x *tailstat.Result
		if row != nil {
			x = row.Results[k]
		}
		done := x != nil && x.Within.HalfWidth() <= u.width
		narrow = narrow && done
		clear = clear && (done || x != nil && x.Verdict != tailstat.VerdictInconclusive)
		if b := compare.Bounds(x); b != "" {
			known = append(known, fmt.Sprintf("%s %s", col.Label, b))
		}
	}
	if limits := r.flags.judging.FailIf; len(limits) > 0 { // a ratio other than 1 does not answer them
		clear = limits.Decided(c)
	}
	if r.soFar = fmt.Sprintf(" of %d at most", r.File.Plan.Looks); len(known) > 0 {
		r.soFar = fmt.Sprintf(", %s of %s", u.figure, strings.Join(known, ", "))
	}
	switch {
	case narrow:
		return fmt.Sprintf("the ratio of %s is known to within %g%%", u.figure, 100*u.width)
	case clear:
		return "the answer is clear"
	case spent >= time.Duration(u.budget):
		return fmt.Sprintf("-budget %s is spent", time.Duration(u.budget))
	case len(r.File.Plan.Order) >= r.File.Plan.Looks:
		return fmt.Sprintf("-budget %s has no room for another", time.Duration(u.budget))
	}
	return ""
}

// checkJudging finds a wrong -base, and a -fail-if that no measuring can decide.
func (r *Runner) checkJudging() error {
	f, base := r.flags, r.flags.judging.Base
	switch {
	case len(f.judging.FailIf) == 0:
	case len(r.variants) < 2:
		return errors.New("-fail-if is about how variants differ; give each a -variant")
	case f.repeat < 2 && f.until.width == 0:
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
