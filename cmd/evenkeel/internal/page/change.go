package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

type changes struct {
	Base   string
	Forest chart.Chart
	Runs   chart.Chart
	Figure string
	Floor  bool
	Spoilt []string
}

func changesOf(c *compare.Comparison) *changes {
	lead := c.Lead()
	if !c.Judged() || lead == nil {
		return nil
	}
	x := &changes{Base: c.Columns[c.Base].Label, Forest: forest(c), Figure: lead.Name, Floor: c.HasFloor()}
	x.Runs, x.Spoilt = runsChart(c, lead)
	return x
}

// ratioScale goes from 1/top to top, with ticks at these ratios and their inverses.
type ratioScale struct {
	top   float64
	ticks []float64
}

var ratioScales = []ratioScale{
	{1.05, []float64{1.02, 1.05}},
	{1.1, []float64{1.05, 1.1}},
	{1.2, []float64{1.1, 1.2}},
	{1.5, []float64{1.2, 1.5}},
	{2, []float64{1.4, 2}},
	{3, []float64{1.5, 3}},
	{5, []float64{2, 5}},
	{10, []float64{3, 10}},
	{20, []float64{5, 20}},
	{100, []float64{10, 100}},
	{1000, []float64{30, 1000}},
}

// Pixels of the forest plot.
const (
	forestLine = 16
	forestGap  = 14
)

func forest(c *compare.Comparison) chart.Chart {
	var rows []*compare.Row
	reach := 1.
	for i := range c.Rows {
		r, judged := &c.Rows[i], false
		for k := range c.Columns {
			x := r.Result(k)
			judged = judged || x != nil
			if x != nil && compare.Bounds(x) != "" {
				reach = max(reach, x.Within.High, 1/x.Within.Low)
			}
		}
		if least, ok := r.Floor(); ok && judged {
			reach = max(reach, least)
		}
		if judged {
			rows = append(rows, r)
		}
	}
	scale := ratioScales[len(ratioScales)-1]
	if i := slices.IndexFunc(ratioScales, func(s ratioScale) bool { return s.top >= reach }); i >= 0 {
		scale = ratioScales[i]
	}
	x := chart.Axis{Lo: 1 / scale.top, Hi: scale.top, Log: true}
	band := forestLine*(len(c.Columns)-1) + forestGap
	f := chart.Chart{
		ID: "forest", Class: "forest", Title: "Ratios to " + c.Columns[c.Base].Label,
		YLabel: "ratio to " + c.Columns[c.Base].Label, XLabel: "less ← ratio → more",
		Height: fmt.Sprint(band * len(rows)),
	}
	at := []float64{1}
	for _, t := range scale.ticks {
		at = append(at, t, 1/t)
	}
	f.X = x.XTicks(at, textfmt.Ratio)
	for i := range f.X {
		f.X[i].Minor = false
	}
	share := 1 / float64(len(rows))
	var lines []chart.Line
	parts := []string{"Intervals of the ratios on a logarithmic axis."}
	for i, r := range rows {
		top := float64(i) * share
		f.Y = append(f.Y, chart.Tick{At: chart.PercentAt(top + share/2), Label: r.Name})
		if least, ok := r.Floor(); ok {
			from, to := chart.PlotX(x.Frac(1/least)), chart.PlotX(x.Frac(least))
			var p chart.Path
			p.Box(from, chart.PlotY(1-top-.1*share), to-from, int(.8*share*chart.PlotHeight))
			f.Lines = append(f.Lines, chart.Line{Class: "floorband", Series: -1, D: p.String()})
		}
		n := 0
		for k := range c.Columns {
			if k == c.Base {
				continue
			}
			y := chart.PlotY(1 - top - share*(float64(forestGap)/2+forestLine*(float64(n)+.5))/float64(band))
			n++
			result := r.Result(k)
			lines = append(lines, intervalLines(x, y, k, result, r.Shown(k))...)
			if result != nil {
				parts = append(parts, fmt.Sprintf("%s, %s: %s %s.", r.Name, c.Columns[k].Label, compare.Ratio(result),
					compare.Bounds(result)))
			}
		}
	}
	var one chart.Path
	one.Move(chart.PlotX(.5), 0)
	one.Line(chart.PlotX(.5), chart.PlotHeight)
	f.Lines = append(f.Lines, chart.Line{Class: "one", Series: -1, D: one.String()})
	f.Lines = append(f.Lines, lines...)
	f.Desc = strings.Join(parts, " ")
	if len(lines) == 0 {
		f.Message = "too few runs for an interval"
	}
	return f
}

// An interval is faint if the table does not colour it.
func intervalLines(x chart.Axis, y, column int, r *tailstat.Result, shown tailstat.Verdict) []chart.Line {
	if r == nil || compare.Bounds(r) == "" {
		return nil
	}
	class := " " + variantClass(column)
	if shown == tailstat.VerdictInconclusive {
		class += " unsure"
	}
	var bar, dot chart.Path
	bar.Move(chart.PlotX(x.Frac(r.Within.Low)), y)
	bar.Line(chart.PlotX(x.Frac(r.Within.High)), y)
	dot.Move(chart.PlotX(x.Frac(r.Ratio)), y)
	dot.Line(chart.PlotX(x.Frac(r.Ratio)), y)
	return []chart.Line{
		{Class: "interval" + class, Series: column, D: bar.String()},
		{Class: "dot" + class, Series: column, D: dot.String()},
	}
}

type measured struct {
	run    *runfile.Run
	column int
	value  float64
}

func inOrder(c *compare.Comparison, row *compare.Row) (list []measured) {
	for k, col := range c.Columns {
		for _, r := range col.Runs {
			if x, ok := row.Of(r); ok && x > 0 && !math.IsInf(x, 0) {
				list = append(list, measured{r, k, x})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b measured) int { return a.run.Load.Started.Compare(b.run.Load.Started) })
	return list
}

func runsChart(c *compare.Comparison, row *compare.Row) (chart.Chart, []string) {
	runs := inOrder(c, row)
	y, ticks := valueAxis(runs)
	x := chart.Axis{Lo: .5, Hi: float64(len(runs)) + .5}
	g := chart.Chart{
		ID: "runs", Class: "middle runs", Title: row.Name + " of each run, in the order in which they were measured",
		YLabel: row.Name, XLabel: "run, in the order in which they were measured",
		X: x.XTicks(chart.LinearTicks(1, float64(len(runs)), max(chart.RoundStep(float64(len(runs)), 10), 1)),
			chart.LabelNumber),
		Y: y.YTicks(ticks, row.Format),
	}
	dots, rings := make([]chart.Path, len(c.Columns)), make([]chart.Path, len(c.Columns))
	var spoilt []string
	for i, m := range runs {
		px, py := chart.PlotX(x.Frac(float64(i+1))), chart.PlotY(y.Frac(m.value))
		dots[m.column].Move(px, py)
		dots[m.column].Line(px, py)
		why := compare.Spoilt(m.run)
		if m.run.Load.Interrupted {
			why = "cut short, and not judged"
		}
		if why != "" {
			rings[m.column].Move(px, py)
			rings[m.column].Line(px, py)
			spoilt = append(spoilt, fmt.Sprintf("run %d, %s: %s", i+1, c.Columns[m.column].Label, why))
		}
	}
	for k := range c.Columns {
		if d := rings[k].String(); d != "" {
			g.Lines = append(g.Lines, chart.Line{Class: "ring", Series: k, D: d},
				chart.Line{Class: "gap", Series: k, D: d})
		}
	}
	for k := range c.Columns {
		if d := dots[k].String(); d != "" {
			g.Lines = append(g.Lines, chart.Line{Class: "dot " + variantClass(k), Series: k, D: d})
		}
	}
	g.Desc = fmt.Sprintf("%s of %s, a dot each.", row.Name, textfmt.Plural(len(runs), "run"))
	return g, spoilt
}

// valueAxis is linear if the values are near each other.
func valueAxis(runs []measured) (chart.Axis, []float64) {
	lo, hi := math.Inf(1), 0.
	for _, m := range runs {
		lo, hi = min(lo, m.value), max(hi, m.value)
	}
	if hi == 0 {
		lo, hi = 1, 2
	}
	if hi > 3*lo {
		a := chart.LogAxis(lo, hi)
		return a, chart.LogTicks(a.Lo, a.Hi, 7)
	}
	step := chart.RoundStep(max(hi-lo, hi/10), 5)
	a := chart.Axis{Lo: math.Floor(lo/step) * step, Hi: math.Ceil(hi/step) * step}
	if a.Hi == a.Lo {
		a.Hi += step
	}
	return a, chart.LinearTicks(a.Lo, a.Hi, step)
}
