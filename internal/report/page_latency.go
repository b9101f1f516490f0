package report

import (
	"fmt"
	"strings"
)

// percentiles are the grid lines of the CCDF, as shares of slower requests.
var percentiles = []struct {
	slower float64
	name   string
}{{.5, "p50"}, {.1, "p90"}, {.01, "p99"}, {.001, "p99.9"}, {1e-4, "p99.99"}, {1e-5, "p99.999"}}

// maxTicks is how many labels fit under the width of a page.
const maxTicks = 16

// ccdfChart draws how many requests were slower than each latency.
func ccdfChart(d *pageData) chart {
	x, y := d.ccdfAxes()
	c := chart{
		ID: "ccdf", Kind: "ccdf", Group: "latency", Class: "tall",
		Title:  "Share of requests slower than a latency",
		YLabel: "share of requests slower", XLabel: "latency",
		X: d.latencyTicks(),
		Y: y.yTicks(logTicks(y.lo, y.hi, 0), labelPercent),
	}
	for _, p := range percentiles {
		if p.slower >= y.lo*(1-1e-9) {
			c.Percentiles = append(c.Percentiles, tick{At: percentAt(1 - y.frac(p.slower)), Label: p.name})
		}
	}
	for i := range d.Columns {
		col := &d.Columns[i]
		if col.Count == 0 {
			continue
		}
		var p path
		p.move(0, 0)
		for k, us := range col.CCDF.X {
			share := col.CCDF.Share[k]
			p.step(plotX(x.frac(us)), plotY(y.frac(share)))
			if share < y.lo {
				break // it left the plot
			}
		}
		c.Lines = append(c.Lines, line{Class: "series " + variantClass(i), Variant: i, D: p.String()})
	}
	c.Desc = d.describe("Falling lines on two logarithmic axes, one a variant; further left is faster.", func(col *pageColumn) string {
		return fmt.Sprintf("1%% slower than %s", labelDuration(significant(col.CCDF.quantile(.01)*microsecond, 3)))
	})
	c.Message = d.noLatencies()
	return c
}

// quantile returns the latency that the given share is slower than.
func (c *pageCCDF) quantile(slower float64) float64 {
	for i, s := range c.Share {
		if s <= slower {
			return c.X[i]
		}
	}
	return 0
}

// histChart draws the share of requests by latency.
func histChart(d *pageData) chart {
	x := d.latencyAxis()
	top := max(d.Top, .01)
	step := roundStep(top, 5)
	y := axis{hi: step}
	for y.hi < top*(1-1e-9) {
		y.hi += step
	}
	c := chart{
		ID: "hist", Kind: "hist", Group: "latency", Class: "middle",
		Title:  "Distribution of latency",
		YLabel: fmt.Sprintf("share of requests in each of %d bins", d.Bins), XLabel: "latency",
		X: d.latencyTicks(),
		Y: y.yTicks(linearTicks(0, y.hi, step), labelPercent),
	}
	width := float64(plotWidth) / float64(d.Bins)
	for i := range d.Columns {
		col := &d.Columns[i]
		if col.Count == 0 {
			continue
		}
		var p path
		p.move(0, plotHeight)
		for k, s := range col.Hist {
			p.step(int(width*float64(k)), plotY(y.frac(s)))
		}
		p.step(plotWidth, plotHeight)
		c.Lines = append(c.Lines, line{Class: "series area " + variantClass(i), Variant: i, D: p.String()})
	}
	c.Desc = d.describe("Outlines over a logarithmic axis of latency, one a variant.", func(col *pageColumn) string {
		most := 0
		for k, s := range col.Hist {
			if s > col.Hist[most] {
				most = k
			}
		}
		at := x.value((float64(most) + .5) / float64(d.Bins))
		return "most around " + labelDuration(significant(at*microsecond, 2))
	})
	c.Message = d.noLatencies()
	return c
}

func (d *pageData) latencyTicks() []tick {
	x := d.latencyAxis()
	return x.xTicks(logTicks(x.lo, x.hi, maxTicks), labelMicroseconds)
}

func labelMicroseconds(us float64) string { return labelDuration(us * microsecond) }

// describe says in words what a chart shows.
func (d *pageData) describe(intro string, of func(*pageColumn) string) string {
	parts := []string{intro}
	for i := range d.Columns {
		col := &d.Columns[i]
		if col.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s of %s requests.", col.Label, of(col), FormatCount(float64(col.Count))))
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
	return "no request was answered"
}
