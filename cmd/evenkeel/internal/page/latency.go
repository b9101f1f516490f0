package page

import (
	"fmt"
	"math"
	"strings"

	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
)

// percentiles are the grid lines of the CCDF, as shares of slower requests.
var percentiles = []struct {
	slower float64
	name   string
}{{.5, "p50"}, {.1, "p90"}, {.01, "p99"}, {.001, "p99.9"}, {1e-4, "p99.99"}, {1e-5, "p99.999"}}

func ccdfChart(d *pageData) chart.Chart {
	x, y := d.ccdfAxes()
	c := chart.Chart{
		ID: "ccdf", Kind: "ccdf", Group: "latency", Class: "tall",
		Title:  "Share of requests slower than a latency",
		YLabel: "share of requests slower", XLabel: "latency",
		X: d.latencyTicks(),
		Y: y.YTicks(chart.LogTicks(y.Lo, y.Hi, 0), chart.LabelPercent),
	}
	for _, p := range percentiles {
		if p.slower >= y.Lo*(1-1e-9) {
			c.Marks = append(c.Marks, chart.Tick{At: chart.PercentAt(1 - y.Frac(p.slower)), Label: p.name})
		}
	}
	for i := range d.Columns {
		col := &d.Columns[i]
		if col.Count == 0 {
			continue
		}
		var p chart.Path
		p.Move(0, 0)
		for k, us := range col.CCDF.X {
			share := col.CCDF.Share[k]
			p.Step(chart.PlotX(x.Frac(us)), chart.PlotY(y.Frac(share)))
			if share < y.Lo {
				break // it left the plot
			}
		}
		c.Lines = append(c.Lines, chart.Line{Class: "series " + variantClass(i), Series: i, D: p.String()})
	}
	c.Desc = d.describe("Falling lines on two logarithmic axes, one a variant; further left is faster.",
		func(col *pageColumn) string {
			return fmt.Sprintf("1%% slower than %s",
				chart.LabelDuration(chart.Significant(col.CCDF.quantile(.01)*microsecond, 3)))
		})
	c.Message = d.noLatencies()
	return c
}

func (c *pageCCDF) quantile(slower float64) float64 {
	for i, s := range c.Share {
		if s <= slower {
			return c.X[i]
		}
	}
	return 0
}

func histChart(d *pageData) chart.Chart {
	x := d.latencyAxis()
	top := max(d.Top, .01)
	step := chart.RoundStep(top, 5)
	y := chart.Axis{Hi: math.Ceil(top/step*(1-1e-9)) * step}
	c := chart.Chart{
		ID: "hist", Kind: "hist", Group: "latency", Class: "middle",
		Title:  "Distribution of latency",
		YLabel: fmt.Sprintf("share of requests in each of %d bins", d.Bins), XLabel: "latency",
		X: d.latencyTicks(),
		Y: y.YTicks(chart.LinearTicks(0, y.Hi, step), chart.LabelPercent),
	}
	width := float64(chart.PlotWidth) / float64(d.Bins)
	for i := range d.Columns {
		col := &d.Columns[i]
		if col.Count == 0 {
			continue
		}
		var p chart.Path
		p.Move(0, chart.PlotHeight)
		for k, s := range col.Hist {
			p.Step(int(width*float64(k)), chart.PlotY(y.Frac(s)))
		}
		p.Step(chart.PlotWidth, chart.PlotHeight)
		c.Lines = append(c.Lines, chart.Line{Class: "series area " + variantClass(i), Series: i, D: p.String()})
	}
	c.Desc = d.describe("Outlines over a logarithmic axis of latency, one a variant.", func(col *pageColumn) string {
		most := 0
		for k, s := range col.Hist {
			if s > col.Hist[most] {
				most = k
			}
		}
		at := x.Value((float64(most) + .5) / float64(d.Bins))
		return "most around " + chart.LabelDuration(chart.Significant(at*microsecond, 2))
	})
	c.Message = d.noLatencies()
	return c
}

// describe gives the text of a chart.
func (d *pageData) describe(intro string, of func(*pageColumn) string) string {
	parts := []string{intro}
	for i := range d.Columns {
		col := &d.Columns[i]
		if col.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s of %s requests.", col.Label, of(col),
				textfmt.Count(float64(col.Count))))
		}
	}
	return strings.Join(parts, " ")
}

func (d *pageData) noLatencies() string {
	for i := range d.Columns {
		if d.Columns[i].Count > 0 {
			return ""
		}
	}
	if d.partial {
		return "these runs have some percentiles alone, which are in the table"
	}
	return "no request was answered"
}
