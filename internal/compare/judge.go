package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evenkeel.dev/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

// confidence is the probability with which all intervals of a comparison hold together.
const confidence = .95

// shownNeed is the change of which a footnote says how many runs would show it.
const shownNeed = 1.1

// SetBase has ratios refer to the column of that label.
func (c *Comparison) SetBase(label string) error {
	var labels []string
	for i, col := range c.Columns {
		if col.Label == label {
			c.Base = i
			c.judge()
			return nil
		}
		labels = append(labels, fmt.Sprintf("%q", col.Label))
	}
	return fmt.Errorf("no column is called %q; there are %s", label, strings.Join(labels, ", "))
}

// SetFigures has these rows judged, in place of tailstat's figures: the fewer there are, the narrower are the
// intervals.
func (c *Comparison) SetFigures(names []string) error {
	if err := CheckFigures(names); err != nil {
		return err
	}
	c.figures = names
	c.judge()
	return nil
}

// CheckFigures returns an error that lists the figures there are if one of the names is none.
func CheckFigures(names []string) error {
	for _, n := range names {
		if !slices.ContainsFunc(Figures, func(f Figure) bool { return f.Name == n }) {
			var all []string
			for _, f := range Figures {
				all = append(all, f.Name)
			}
			return fmt.Errorf("no figure %q; there are: %s", n, strings.Join(all, ", "))
		}
	}
	return nil
}

// toJudge returns the figures that are to be judged, each once: tailstat's where nobody has chosen.
func (c *Comparison) toJudge() []Figure {
	names := c.figures
	if names == nil {
		for _, f := range tailstat.Figures() {
			names = append(names, f.Name)
		}
	}
	return slices.DeleteFunc(slices.Clone(Figures), func(f Figure) bool { return !slices.Contains(names, f.Name) })
}

// judge compares each column with the base. Its figures are corrected for the number of verdicts in the whole table:
// each test has the level that Bonferroni's correction asks for, however many of them are of one column.
func (c *Comparison) judge() {
	c.verdicts, c.against = 0, make([]*tailstat.Comparison, len(c.Columns))
	for i := range c.Rows {
		c.Rows[i].results = make([]*tailstat.Result, len(c.Columns))
	}
	figures := c.toJudge()
	runs := make([][]tailstat.Run, len(c.Columns))
	for k := range c.Columns {
		runs[k] = statRuns(c.Columns[k].Runs, figures)
	}
	type pair struct {
		base, head []tailstat.Run
		figures    []tailstat.Figure // that all of these runs have
	}
	pairs := make([]pair, len(c.Columns))
	for k := range c.Columns {
		if k == c.Base {
			continue
		}
		p := &pairs[k]
		p.base, p.head = sides(runs[c.Base], runs[k], c.Columns[c.Base].file == c.Columns[k].file)
		for _, f := range figures {
			if len(p.base) > 1 && len(p.head) > 1 && haveAll(f.Name, p.base) && haveAll(f.Name, p.head) {
				p.figures = append(p.figures, tailstat.Value(f.Name, f.More()))
			}
		}
		c.verdicts += len(p.figures)
	}
	for k, p := range pairs {
		if len(p.figures) == 0 {
			continue
		}
		share := float64(len(p.figures)) / float64(c.verdicts)
		r, err := tailstat.Compare(p.base, p.head, tailstat.Options{
			Figures: p.figures, Confidence: 1 - (1-confidence)*share, Rounds: c.looks(),
		})
		if err != nil { // what it refuses was left out
			c.note(c.Columns[k].Label + ": " + err.Error())
			continue
		}
		c.against[k] = r
		for i := range r.Result {
			if row := c.Row(r.Result[i].Figure); row != nil {
				row.results[k] = &r.Result[i]
			}
		}
	}
	c.measureFloor(figures)
}

// looks returns after how many rounds, at most, the runs were judged while they were measured.
func (c *Comparison) looks() int {
	if len(c.plans) != 1 || c.plans[0] == nil {
		return 0
	}
	return c.plans[0].Looks
}

// Row returns the row of that name, nil if there is none.
func (c *Comparison) Row(name string) *Row {
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Rows[i]
}

// note adds a note that is not there yet: what is judged anew finds the same again.
func (c *Comparison) note(text string) {
	if !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

func haveAll(figure string, runs []tailstat.Run) bool {
	return !slices.ContainsFunc(runs, func(r tailstat.Run) bool { return r.Values[figure] == 0 })
}

// sides returns the runs of two columns as they are compared. Runs of one file whose order was drawn by lot are in
// rounds; then a round that lacks one of the two is left out.
func sides(base, head []tailstat.Run, sameFile bool) (b, h []tailstat.Run) {
	b, h = slices.Clone(base), slices.Clone(head)
	none := func(r tailstat.Run) bool { return r.Round == 0 }
	if !sameFile || slices.ContainsFunc(b, none) || slices.ContainsFunc(h, none) {
		for _, set := range [][]tailstat.Run{b, h} {
			for i := range set {
				set[i].Round = 0
			}
		}
		return b, h
	}
	alone := func(other []tailstat.Run) func(tailstat.Run) bool {
		return func(r tailstat.Run) bool {
			return !slices.ContainsFunc(other, func(o tailstat.Run) bool { return o.Round == r.Round })
		}
	}
	return slices.DeleteFunc(b, alone(head)), slices.DeleteFunc(h, alone(base))
}

// statRuns returns runs with the figures that they have, without those that were cut short.
func statRuns(runs []*runfile.Run, figures []Figure) (list []tailstat.Run) {
	for _, r := range runs {
		if r.Load.Interrupted {
			continue
		}
		s := tailstat.Run{Round: r.Round, Values: map[string]float64{}}
		for i := range figures {
			if x, ok := figures[i].Of(r); ok && x > 0 && !math.IsInf(x, 0) && enough(&figures[i], r) {
				s.Values[figures[i].Name] = x
			}
		}
		list = append(list, s)
	}
	return list
}

// quantiles need requests beyond them, or they say nothing of a run.
var quantiles = map[string]float64{"p50": .5, "p90": .9, "p99": .99, "p99.9": .999}

func enough(f *Figure, r *runfile.Run) bool {
	q, is := quantiles[f.Name]
	if !is {
		return true
	}
	_, err := tailstat.Quantile(q).Of(&tailstat.Run{Latency: &r.Load.Latency})
	return err == nil
}

// Result returns how a column's figure compares with the base's; nil where it is not judged.
func (r *Row) Result(column int) *tailstat.Result { return r.results[column] }

// Judged reports whether any figure has a verdict, "cannot tell" being one.
func (c *Comparison) Judged() bool { return c.verdicts > 0 }

// Ratio returns a result's ratio as people read it: "~" where 1 lies within its interval.
func Ratio(r *tailstat.Result) string {
	switch {
	case r == nil:
		return ""
	case r.Verdict == tailstat.VerdictCannotTell:
		return "~"
	case math.Abs(r.Ratio-1) < .005: // a certain change is not written as none
		return fmt.Sprintf("%.4fx", r.Ratio)
	}
	return textfmt.Ratio(r.Ratio)
}

// Bounds returns a result's interval as people read it, "" where there is none.
func Bounds(r *tailstat.Result) string {
	if r == nil || r.Within.Low <= 0 || math.IsInf(r.Within.High, 0) {
		return ""
	}
	low, high := textfmt.Ratio(r.Within.Low), textfmt.Ratio(r.Within.High)
	if r.Verdict != tailstat.VerdictCannotTell && (low == "1.00x" || high == "1.00x") {
		low, high = fmt.Sprintf("%.4f", r.Within.Low), fmt.Sprintf("%.4f", r.Within.High)
	}
	return "[" + strings.TrimSuffix(low, "x") + "–" + strings.TrimSuffix(high, "x") + "]"
}

// Lead returns the row that stands for all: p99 if it is judged, else the first that is.
func (c *Comparison) Lead() *Row {
	var first *Row
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.floor == nil && !slices.ContainsFunc(r.results, func(x *tailstat.Result) bool { return x != nil }) {
			continue
		}
		if r.Name == "p99" {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// Footnotes say what the table's cells and ratios are, and what it would take to tell more.
func (c *Comparison) Footnotes() (list []string) {
	add := func(format string, a ...any) { list = append(list, fmt.Sprintf(format, a...)) }
	if n := c.Repeats(); n > 1 {
		add("median of %d repeats", n)
	}
	if x := c.Lead(); x != nil && x.floor != nil {
		add("floor: the smallest change that %s show on this machine in four of five cases, by one variant measured against itself; smaller ones are not coloured",
			textfmt.Plural(x.floorRounds, "round"))
	}
	if len(c.Columns) < 2 {
		return list
	}
	heads := len(c.Columns) - 1
	lead := c.Lead()
	if !c.Judged() && c.Repeats() > 1 {
		add("no ratios: no figure that is to be judged is known of two runs of each at least")
		return list
	}
	if !c.Judged() {
		add("no ratios: one run of each says nothing about how runs vary; -repeat %d tells, or -figures p99 -repeat %d",
			c.fewest(len(c.toJudge())*heads), c.fewest(heads))
		return list
	}
	together := "the true ratio lies within the brackets with a probability of 95%"
	if c.verdicts > 1 {
		together = fmt.Sprintf("the true ratio lies within the brackets, all %d of them together with a probability of 95%%", c.verdicts)
	}
	if n := c.looks(); n > 0 {
		together += fmt.Sprintf(" at whichever of up to %d rounds one stops", n)
	}
	add("ratio to %q; %s; ~: 1 lies within, so these runs cannot tell the two apart", c.Columns[c.Base].Label, together)
	if slices.ContainsFunc(c.against, func(a *tailstat.Comparison) bool { return a != nil && !a.Paired }) {
		add("not in rounds whose order was drawn by lot: what the machine did meanwhile can look like a change; evenkeel run -variant ... -variant ... interleaves")
	}
	for k, r := range lead.results {
		if r == nil || r.Verdict != tailstat.VerdictCannotTell {
			continue
		}
		who := lead.Name
		if heads > 1 {
			who = c.Columns[k].Label + ": " + who
		}
		add("%s", who+": "+c.canTell(k, r))
	}
	return list
}

// canTell says of a figure that shows no change what its runs could have shown.
func (c *Comparison) canTell(column int, r *tailstat.Result) string {
	a := c.against[column]
	runs := fmt.Sprintf("%d runs against %d", a.Base, a.Head)
	if a.Paired {
		runs = textfmt.Plural(a.Base, "round")
	}
	if Bounds(r) == "" {
		n := c.fewest(c.verdicts)
		t := fmt.Sprintf("%s are too few to tell anything; %d rounds may", runs, n)
		if m := c.fewest(len(c.Columns) - 1); m < n {
			t += fmt.Sprintf(", or %d of one figure alone, as with -figures p99", m)
		}
		return t
	}
	t := runs + " as noisy as these show not even a thousandfold change"
	if x, ok := r.Detectable(); ok {
		t = fmt.Sprintf("%s as noisy as these show %s in four of five cases", runs, Change(x))
	}
	n, ok := r.Needed(shownNeed)
	switch {
	case ok && n <= min(a.Base, a.Head):
		return t
	case ok:
		return t + fmt.Sprintf("; %s takes %d", Change(shownNeed), n)
	}
	return t + fmt.Sprintf("; %s takes more than %s", Change(shownNeed), textfmt.Count(tailstat.MaxNeeded))
}

// Change writes a ratio of 1 or more as the change that it is: +35%.
func Change(ratio float64) string {
	switch {
	case ratio >= 10:
		return textfmt.Ratio(ratio)
	case ratio < 1.001:
		return "<0.1%"
	}
	percent := 100 * (ratio - 1)
	if percent < 9.95 {
		return fmt.Sprintf("%+.2g%%", percent)
	}
	return fmt.Sprintf("%+.0f%%", percent)
}

// fewest returns the number of rounds below which so many verdicts cannot be told, 0 where that is not known.
func (c *Comparison) fewest(verdicts int) int {
	n, err := tailstat.Fewest(tailstat.Options{
		Confidence: 1 - (1-confidence)/float64(max(verdicts, 1)), Figures: tailstat.Figures()[:1], Rounds: c.looks(),
	})
	if err != nil {
		return 0
	}
	return n
}

// Fewest returns the number of rounds without which nothing can be told of the figures that are judged.
func (c *Comparison) Fewest() int { return c.fewest(c.verdicts) }
