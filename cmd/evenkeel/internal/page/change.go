package page

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/tailstat"
)

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

// forest returns nil if no figure is judged.
func forest(c *compare.Comparison) *chart.Chart {
	var rows []*compare.Row
	reach := 1.
	for i := range c.Rows {
		r := &c.Rows[i]
		for _, x := range r.Results {
			if compare.Bounds(x) != "" {
				reach = max(reach, x.Within.High, 1/x.Within.Low)
			}
		}
		if r.Judged() {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	scale := ratioScales[len(ratioScales)-1]
	if i := slices.IndexFunc(ratioScales, func(s ratioScale) bool { return s.top >= reach }); i >= 0 {
		scale = ratioScales[i]
	}
	x := chart.Axis{Lo: 1 / scale.top, Hi: scale.top, Log: true}
	band := forestLine*(len(c.Columns)-1) + forestGap
	f := &chart.Chart{
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
		n := 0
		for k := range c.Columns {
			if k == c.Base {
				continue
			}
			y := chart.PlotY(1 - top - share*(float64(forestGap)/2+forestLine*(float64(n)+.5))/float64(band))
			n++
			result := r.Results[k]
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
