// Package judge has the flags and limits of compared runs.
package judge

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
)

// Limit is a -fail-if.
type Limit struct {
	compare.Limit
	Text string
}

// Limits are those of a command.
type Limits []Limit

const changeLimitForm = "write it as 'FIGURE > +N%' or 'FIGURE < -N%', such as 'p99.9 > +20%' or 'requests/s < -10%'"

// ParseLimit reads FIGURE > +N% and FIGURE < -N%. Figures may contain these signs.
func ParseLimit(s string) (Limit, error) {
	l := Limit{Text: s}
	i := strings.LastIndexAny(s, "<>")
	if i < 0 {
		return l, fmt.Errorf("neither < nor > in it; %s", changeLimitForm)
	}
	l.Figure, l.Less = strings.TrimSpace(s[:i]), s[i] == '<'
	if err := compare.CheckFigures([]string{l.Figure}); err != nil {
		return l, err
	}
	number := strings.TrimSpace(s[i+1:])
	digits, ok := strings.CutSuffix(number, "%")
	if !ok {
		return l, fmt.Errorf("%q does not end in %%; %s", number, changeLimitForm)
	}
	percent, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	switch {
	case err != nil || math.IsNaN(percent) || math.Abs(percent) > 1e6:
		return l, fmt.Errorf("%q is not a change; %s", number, changeLimitForm)
	case l.Less && !(percent < 0 && percent > -100):
		return l, fmt.Errorf("below %s: what falls changes by less than 0%% and more than -100%%; %s", number,
			changeLimitForm)
	case !l.Less && percent < 0:
		return l, fmt.Errorf("above %s: what rises changes by 0%% or more; %s", number, changeLimitForm)
	}
	l.Ratio = 1 + percent/100
	return l, nil
}

// Figures returns the limited figures, each once.
func (l Limits) Figures() (names []string) {
	for _, x := range l {
		if !slices.Contains(names, x.Figure) {
			names = append(names, x.Figure)
		}
	}
	return names
}

// Told reports whether each limit is decided.
func (l Limits) Told(c *compare.Comparison) bool {
	return !slices.ContainsFunc(l, func(x Limit) bool {
		return slices.ContainsFunc(c.Check(x.Limit), func(f compare.Finding) bool {
			return f.Outcome == compare.OutcomeUnknown
		})
	})
}

// Undecided returns the limit that needs most rounds, and how many. 0: each is decided.
func (l Limits) Undecided(c *compare.Comparison) (most Limit, rounds int) {
	for _, x := range l {
		for _, f := range c.Check(x.Limit) {
			if f.Rounds > rounds {
				most, rounds = x, f.Rounds
			}
		}
	}
	return most, rounds
}

// Check returns cli.ErrLimit if a limit is exceeded, else cli.ErrInconclusive if one is
// inconclusive.
func (l Limits) Check(c *compare.Comparison) (lines []string, err error) {
	for _, x := range l {
		for _, f := range c.Check(x.Limit) {
			what := "kept"
			switch {
			case f.Outcome == compare.OutcomeExceeded:
				what, err = "exceeded", cli.ErrLimit
			case f.Outcome == compare.OutcomeUnknown:
				what = "inconclusive"
				if err == nil {
					err = cli.ErrInconclusive
				}
			}
			lines = append(lines, fmt.Sprintf("-fail-if %s: %s: %s", x.Text, what, f.Text))
		}
	}
	return lines, err
}

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

// Check also fills in the figures of -fail-if.
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
