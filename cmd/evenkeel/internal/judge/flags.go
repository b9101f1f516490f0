// Package judge has the flags and limits of compared runs.
package judge

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
)

// Flags choose what is judged, and against what.
type Flags struct {
	Base    string
	Figures string
	FailIf  Limits
}

func (j *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&j.Base, "base", "", "`label` that ratios refer to (default: the first)")
	fs.Func("fail-if", "exit with 3 if a figure surely changed by more than this `limit`, such as 'p99 > +20%' or "+
		"'requests/s < -10%', and with 4 if that is inconclusive; repeatable", cli.Each(&j.FailIf, ParseLimit))
	fs.StringVar(&j.Figures, "figures", "", "judge these `figures` alone, by their names in the table, separated by "+
		"commas; fewer figures have narrower intervals")
}

// Check finds wrong figures, and fills in those of -fail-if.
func (j *Flags) Check() error {
	limited := j.FailIf.Figures()
	if j.Figures == "" {
		j.Figures = strings.Join(limited, ",")
	}
	if i := slices.IndexFunc(limited, func(n string) bool { return !slices.Contains(j.Names(), n) }); i >= 0 {
		return fmt.Errorf("-fail-if is about %s, which -figures does not name", limited[i])
	}
	if err := compare.CheckFigures(j.Names()); err != nil {
		return fmt.Errorf("-figures: %w", err)
	}
	return nil
}

// Names returns the chosen figures, or nil.
func (j *Flags) Names() (names []string) {
	if j.Figures == "" {
		return nil
	}
	for n := range strings.SplitSeq(j.Figures, ",") {
		names = append(names, strings.TrimSpace(n))
	}
	return names
}

func (j *Flags) Apply(c *compare.Comparison) error {
	if j.Figures != "" {
		if err := c.SetFigures(j.Names()); err != nil {
			return fmt.Errorf("-figures: %w", err)
		}
	}
	if j.Base == "" {
		return nil
	}
	if err := c.SetBase(j.Base); err != nil {
		return fmt.Errorf("-base: %w", err)
	}
	return nil
}
