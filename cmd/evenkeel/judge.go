package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/internal/compare"
)

// judgeFlags are the flags of run and compare that choose what is judged, and against what.
type judgeFlags struct {
	base    string
	figures string
	failIf  changeLimits
}

func (j *judgeFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&j.base, "base", "", "the `label` that ratios refer to (default: the first)")
	fs.Func("fail-if", "exit with code 3 when a figure has changed by more than this `limit` for certain, with 4 when the runs cannot tell: 'FIGURE > +N%' or 'FIGURE < -N%'; may be repeated", each(&j.failIf, parseChangeLimit))
	fs.StringVar(&j.figures, "figures", "", "judge these `figures` alone, by their names in the table with commas between: fewer of them have narrower intervals (default those of -fail-if, else p50, p90, p99, p99.9, slowest 1%, slowest 0.1%, requests/s, CPU/request, peak memory)")
}

// check finds figures that are not, or not judged, and fills in those of -fail-if.
func (j *judgeFlags) check() error {
	limited := j.failIf.figures()
	if j.figures == "" {
		j.figures = strings.Join(limited, ",")
	}
	if i := slices.IndexFunc(limited, func(n string) bool { return !slices.Contains(j.names(), n) }); i >= 0 {
		return fmt.Errorf("-fail-if is about %s, which -figures does not name", limited[i])
	}
	if err := compare.CheckFigures(j.names()); err != nil {
		return fmt.Errorf("-figures: %w", err)
	}
	return nil
}

// names returns the figures that were chosen, nil for none.
func (j *judgeFlags) names() (names []string) {
	if j.figures == "" {
		return nil
	}
	for n := range strings.SplitSeq(j.figures, ",") {
		names = append(names, strings.TrimSpace(n))
	}
	return names
}

func (j *judgeFlags) apply(c *compare.Comparison) error {
	if j.figures != "" {
		if err := c.SetFigures(j.names()); err != nil {
			return fmt.Errorf("-figures: %w", err)
		}
	}
	if j.base == "" {
		return nil
	}
	if err := c.SetBase(j.base); err != nil {
		return fmt.Errorf("-base: %w", err)
	}
	return nil
}

// checkJudging finds, before anything is measured, a -base that is no variant, and a -fail-if that nothing could tell.
func (r *runner) checkJudging() error {
	f, base := r.flags, r.flags.judging.base
	switch {
	case len(f.judging.failIf) == 0:
	case len(r.variants) < 2:
		return errors.New("-fail-if is about how variants differ; give each a -variant")
	case f.repeat < 2 && f.until.width == 0 && !f.aa:
		return errors.New("-fail-if takes more than one round to tell anything; write -repeat 10, or -until 10%")
	}
	if base == "" || slices.ContainsFunc(r.variants, func(v variant) bool { return v.label == base }) {
		return nil
	}
	return fmt.Errorf("-base %q is no -variant's label", base)
}
