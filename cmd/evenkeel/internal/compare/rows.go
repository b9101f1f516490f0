package compare

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// A footnote says how many runs would show this change.
const shownNeed = 1.1

func (c *Comparison) setBase(label string) error {
	var labels []string
	for i, col := range c.Columns {
		if col.Label == label {
			c.Base = i
			return nil
		}
		labels = append(labels, fmt.Sprintf("%q", col.Label))
	}
	return fmt.Errorf("no column is called %q; there are %s", label, strings.Join(labels, ", "))
}

func checkFigures(names []string) error {
	var all []string
	for _, f := range Figures {
		all = append(all, f.Name)
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return fmt.Errorf("no figure %q; there are: %s", n, strings.Join(all, ", "))
		}
	}
	return nil
}

func (c *Comparison) toJudge() []Figure {
	names := c.figures
	if names == nil {
		for _, f := range tailstat.Figures() {
			names = append(names, f.Name)
		}
	}
	return slices.DeleteFunc(slices.Clone(Figures), func(f Figure) bool { return !slices.Contains(names, f.Name) })
}

// tailstat decides. Each test has the level of Bonferroni's correction for the whole table.
func (c *Comparison) judge() {
	c.verdicts, c.against = 0, make([]*tailstat.Comparison, len(c.Columns))
	for i := range c.Rows {
		c.Rows[i].Results = make([]*tailstat.Result, len(c.Columns))
	}
	figures := c.toJudge()
	runs := make([][]tailstat.Run, len(c.Columns))
	for k := range c.Columns {
		runs[k] = statRuns(c.Columns[k].Runs, figures)
	}
	type pair struct {
		base, head []tailstat.Run
		figures    []tailstat.Figure // of all these runs
	}
	pairs := make([]pair, len(c.Columns))
	for k := range c.Columns {
		if k == c.Base {
			continue
		}
		p := &pairs[k]
		p.base, p.head = sides(runs[c.Base], runs[k], c.Columns[c.Base].file == c.Columns[k].file)
		p.figures = ofAll(figures, p.base, p.head)
		c.verdicts += len(p.figures)
	}
	for k, p := range pairs {
		if len(p.figures) == 0 {
			continue
		}
		share := float64(len(p.figures)) / float64(c.verdicts)
		r, err := tailstat.Compare(p.base, p.head, tailstat.Options{
			Figures: p.figures, Confidence: 1 - (1-confidence)*share, Rounds: c.looks,
		})
		if err != nil {
			c.note(c.Columns[k].Label + ": " + err.Error())
			continue
		}
		c.against[k] = r
		for i := range r.Result {
			if row := c.Row(r.Result[i].Figure); row != nil {
				row.Results[k] = &r.Result[i]
			}
		}
	}
}

func (r *Row) Judged() bool {
	return slices.ContainsFunc(r.Results, func(x *tailstat.Result) bool { return x != nil })
}

func (c *Comparison) Footnotes() (list []string) {
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if c.Repeats() > 1 {
		whole, left := 0, 0
		for i := range c.Columns {
			n := len(c.Columns[i].whole())
			whole, left = max(whole, n), left+len(c.Columns[i].Runs)-n
		}
		without := ""
		if left > 0 {
			without = fmt.Sprintf(", without %d interrupted", left)
		}
		add("median of %s%s", textfmt.Plural(whole, "repeat"), without)
	}
	if len(c.Columns) < 2 {
		return list
	}
	heads := len(c.Columns) - 1
	if c.verdicts == 0 {
		unknown := func(f Figure) bool { return c.Row(f.Name) == nil }
		switch known := slices.DeleteFunc(c.toJudge(), unknown); {
		case c.Repeats() > 1:
			add("no ratios: two runs of each variant must know a figure; a percentile needs ten requests beyond it " +
				"in each (use a longer -z)")
		case len(known) == 0:
			add("no ratios: no run knows any of the judged figures; a percentile needs ten requests beyond it (use " +
				"a longer -z)")
		default:
			add("no ratios: one run of each does not show how runs vary; use -repeat %d, or -figures p99 -repeat %d",
				c.fewest(len(known)*heads), c.fewest(heads))
		}
		return list
	}
	lead := c.Row("p99")
	if lead == nil || !lead.Judged() {
		i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Judged() })
		if i < 0 { // the notes say why
			return list
		}
		lead = &c.Rows[i]
	}
	together := "brackets hold the true ratio with a probability of 95%"
	if c.verdicts > 1 {
		together = fmt.Sprintf("all %d brackets hold their true ratios with a probability of 95%%", c.verdicts)
	}
	if n := c.looks; n > 0 {
		together += fmt.Sprintf(", at whichever of up to %d rounds you stop", n)
	}
	add("ratio to %q; %s; ~: inconclusive", c.Columns[c.Base].Label, together)
	if slices.ContainsFunc(c.against, func(a *tailstat.Comparison) bool { return a != nil && !a.Paired }) {
		add("not measured in rounds of random order, so a change of the machine can look like a change of the " +
			"program; evenkeel run -variant ... -variant ... measures in rounds")
	}
	for k, r := range lead.Results {
		if r == nil || r.Verdict != tailstat.VerdictInconclusive {
			continue
		}
		who := lead.Name
		if heads > 1 {
			who = c.Columns[k].Label + ": " + who
		}
		add("%s", who+": "+c.whyInconclusive(k, r))
	}
	return list
}

func (c *Comparison) whyInconclusive(column int, r *tailstat.Result) string {
	a := c.against[column]
	runs := fmt.Sprintf("%d runs against %d", a.Base, a.Head)
	if a.Paired {
		runs = textfmt.Plural(a.Base, "round")
	}
	if Bounds(r) == "" {
		n := c.fewest(c.verdicts)
		t := fmt.Sprintf("%s are too few for an interval; use %d rounds", runs, n)
		if m := c.fewest(len(c.Columns) - 1); m < n {
			t += fmt.Sprintf(", or %d of only one figure, as with -figures p99", m)
		}
		return t
	}
	t := runs + " as noisy as these show not even a thousandfold change"
	if x, ok := r.Detectable(0); ok {
		t = fmt.Sprintf("%s as noisy as these show %s in four of five cases", runs, change(x))
	}
	n, ok := r.Needed(shownNeed)
	switch {
	case ok && n <= min(a.Base, a.Head):
		return t
	case ok:
		return t + fmt.Sprintf("; %s takes %d", change(shownNeed), n)
	}
	return t + fmt.Sprintf("; %s takes more than %s", change(shownNeed), textfmt.Count(tailstat.MaxNeeded))
}

func (c *Comparison) fewest(verdicts int) int { return Fewest(verdicts, c.looks) }

func (c *Comparison) Fewest() int { return c.fewest(c.verdicts) }

// Fewest returns the least number of rounds for so many verdicts, or 0 if it is not known. looks is
// Plan.Looks.
func Fewest(verdicts, looks int) int {
	n, err := tailstat.Fewest(tailstat.Options{
		Confidence: 1 - (1-confidence)/float64(max(verdicts, 1)), Figures: tailstat.Figures()[:1], Rounds: looks,
	})
	if err != nil {
		return 0
	}
	return n
}
