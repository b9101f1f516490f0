package compare

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// Limit is a -fail-if.
type Limit struct {
	Text   string
	Figure string
	Ratio  float64 // to the base's
	Less   bool    // exceeded below Ratio, not above it
}

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
	if err := checkFigures([]string{l.Figure}); err != nil {
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

func (l Limits) Decided(c *Comparison) bool {
	return !slices.ContainsFunc(l, func(x Limit) bool {
		return slices.ContainsFunc(c.findings(x), func(f finding) bool {
			return f.err == cli.ErrInconclusive
		})
	})
}

// Check returns cli.ErrLimit if a limit is exceeded, else cli.ErrInconclusive if one is
// inconclusive.
func (l Limits) Check(c *Comparison) (lines []string, err error) {
	for _, x := range l {
		for _, f := range c.findings(x) {
			what := "kept"
			switch f.err {
			case cli.ErrLimit:
				what = "exceeded"
			case cli.ErrInconclusive:
				what = "inconclusive"
			}
			lines = append(lines, fmt.Sprintf("-fail-if %s: %s: %s", x.Text, what, f.text))
			if err == nil || f.err == cli.ErrLimit {
				err = f.err
			}
		}
	}
	return lines, err
}

type Flags struct {
	Base    string
	Figures []string // nil: the default
	FailIf  Limits
}

func (j *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&j.Base, "base", "", "`label` that ratios refer to (default: the first)")
	fs.Func("fail-if", "exit with 3 if a figure surely changed by more than this `limit`, such as 'p99 > +20%' or "+
		"'requests/s < -10%', and with 4 if that is inconclusive; repeatable", cli.Each(&j.FailIf, ParseLimit))
	fs.Func("figures", "judge only these `figures`, by their names in the table, separated by commas; fewer figures "+
		"have narrower intervals", func(text string) error {
		j.Figures = nil
		for n := range strings.SplitSeq(text, ",") {
			j.Figures = append(j.Figures, strings.TrimSpace(n))
		}
		return nil
	})
}

// Check also fills in the figures of -fail-if.
func (j *Flags) Check() error {
	limited := j.FailIf.Figures()
	if j.Figures == nil {
		j.Figures = limited
	}
	if i := slices.IndexFunc(limited, func(n string) bool { return !slices.Contains(j.Figures, n) }); i >= 0 {
		return fmt.Errorf("-fail-if is about %s, which -figures does not name", limited[i])
	}
	if err := checkFigures(j.Figures); err != nil {
		return fmt.Errorf("-figures: %w", err)
	}
	return nil
}

// Apply judges again, by figures that Check has accepted.
func (j *Flags) Apply(c *Comparison) error {
	if j.Figures != nil {
		c.figures = j.Figures
	}
	if j.Base != "" {
		if err := c.setBase(j.Base); err != nil {
			return fmt.Errorf("-base: %w", err)
		}
	}
	c.judge()
	return nil
}

// finding is what is known of a limit and a column. err is as of [Limits.Check].
type finding struct {
	err  error
	text string
}

func (c *Comparison) findings(l Limit) (list []finding) {
	row := c.Row(l.Figure)
	for k := range c.Columns {
		if k == c.Base {
			continue
		}
		f := finding{cli.ErrInconclusive, "not known of two runs of each at least, with as many requests " +
			"as it needs"}
		if row != nil && row.Results[k] != nil {
			f = c.check(l, k, row.Results[k])
		}
		f.text = fmt.Sprintf("%s of %q: %s", l.Figure, c.Columns[k].Label, f.text)
		list = append(list, f)
	}
	return list
}

func (c *Comparison) check(l Limit, column int, r *tailstat.Result) finding {
	bounds := Bounds(r)
	if bounds == "" {
		return finding{cli.ErrInconclusive, c.whyInconclusive(column, r)}
	}
	is := fmt.Sprintf("%s of %q's, within %s", textfmt.Ratio(r.Ratio), c.Columns[c.Base].Label, bounds)
	beyond, kept := r.Within.Low > l.Ratio, r.Within.High <= l.Ratio
	if l.Less {
		beyond, kept = r.Within.High < l.Ratio, r.Within.Low >= l.Ratio
	}
	switch {
	case beyond:
		return finding{cli.ErrLimit, is}
	case kept:
		return finding{nil, is}
	}
	// As noisy runs decide if they show as large a change from 1.
	text := is + "; the limit lies there"
	if n, ok := r.Needed(math.Exp(math.Abs(math.Log(r.Ratio / l.Ratio)))); ok {
		return finding{cli.ErrInconclusive, fmt.Sprintf("%s; some %d runs of each would tell", text, n)}
	}
	text = fmt.Sprintf("%s; %s runs of each would not tell", text, textfmt.Count(tailstat.MaxNeeded))
	return finding{cli.ErrInconclusive, text}
}
