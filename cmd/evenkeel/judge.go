package main

import (
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
}

func (j *judgeFlags) register(fs *flag.FlagSet) {
	fs.StringVar(&j.base, "base", "", "the `label` that ratios refer to (default: the first)")
	fs.StringVar(&j.figures, "figures", "", "judge these `figures` alone, by their names in the table with commas between: fewer of them have narrower intervals (default p50, p90, p99, p99.9, slowest 1%, slowest 0.1%, requests/s, CPU/request, peak memory)")
}

func (j *judgeFlags) check() error {
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

// checkBase finds a -base that is no variant before anything is measured.
func (r *runner) checkBase() error {
	base := r.flags.judging.base
	if base == "" || slices.ContainsFunc(r.variants, func(v variant) bool { return v.label == base }) {
		return nil
	}
	return fmt.Errorf("-base %q is no -variant's label", base)
}
