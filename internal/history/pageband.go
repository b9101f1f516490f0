package history

import (
	"fmt"
	"math"
	"time"

	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
)

func (b *band) chart(h *History, now time.Time) chart.Chart {
	most := uint64(1)
	for _, bin := range b.bins {
		most = max(most, sumOf(bin))
	}
	step := max(chart.RoundStep(float64(most), 4), 1)
	x := chart.Axis{Hi: float64(int64(len(b.bins)) * b.width)}
	y := chart.Axis{Hi: step * math.Ceil(float64(most)/step)}
	c := chart.Chart{
		ID: "over-time", Class: "band", Title: "Slow requests over time, by cause", YLabel: "slow requests in " +
			widthText(b.width),
		Desc: fmt.Sprintf("%s at most in %s.", requestsText(most), widthText(b.width)),
		Y:    y.YTicks(chart.LinearTicks(0, y.Hi, step), chart.LabelNumber), X: b.xTicks(x, now),
	}
	paths := make([]chart.Path, len(b.bins[0]))
	for i, bin := range b.bins {
		left, right := chart.PlotX(float64(i)/float64(len(b.bins))), chart.PlotX(float64(i+1)/float64(len(b.bins)))
		gap := (right - left) / 10
		below := uint64(0)
		for _, cause := range verdict.Causes(0) {
			n := bin[cause]
			if n == 0 {
				continue
			}
			bottom, top := chart.PlotY(y.Frac(float64(below))), chart.PlotY(y.Frac(float64(below+n)))
			below += n
			paths[cause].Box(left+gap, top, max(right-left-2*gap, 1), max(bottom-top, 1))
		}
	}
	for _, cause := range verdict.Causes(0) {
		if d := paths[cause].String(); d != "" {
			c.Lines = append(c.Lines, chart.Line{Class: "k " + causeClass(cause), D: d})
		}
	}
	var builds chart.Path
	for i, build := range h.buildNames() {
		if at := x.Frac(float64(h.builds[build].first.Unix() - b.from)); i > 0 && at > 0 && at < 1 {
			builds.Rect(chart.PlotX(at), 1, chart.PlotHeight)
		}
	}
	if d := builds.String(); d != "" {
		c.Lines = append(c.Lines, chart.Line{Class: "build", D: d})
	}
	return c
}

func (b *band) xTicks(x chart.Axis, now time.Time) (ticks []chart.Tick) {
	step := int64(chart.TimeStep(max(x.Hi, 360), 6)) // no less than a minute
	_, zone := now.Zone()
	shift := int64(zone) // or days would begin at the zone's noon
	for at := floor(b.from+shift, step) - shift; float64(at-b.from) <= x.Hi; at += step {
		if at < b.from {
			continue
		}
		t := time.Unix(at, 0).In(now.Location())
		text := clock(t, now)
		if step >= 24*3600 {
			text = t.Format("2 Jan")
		}
		ticks = append(ticks, chart.Tick{
			At: chart.PercentAt(x.Frac(float64(at - b.from))), Label: text,
			Minor: len(ticks)%2 == 1,
		})
	}
	return ticks
}

func (b *band) legend() (rows []legendRow) {
	for _, cause := range verdict.Causes(0) {
		n := uint64(0)
		for _, bin := range b.bins {
			n += bin[cause]
		}
		if n > 0 {
			rows = append(rows, legendRow{causeClass(cause), fmt.Sprintf("%s (%s)", verdict.Phrase(cause),
				textfmt.Count(float64(n)))})
		}
	}
	return rows
}

func sumOf(bin []uint64) (n uint64) {
	for _, x := range bin {
		n += x
	}
	return n
}

func widthText(seconds int64) string {
	switch {
	case seconds == 60:
		return "a minute"
	case seconds < 3600:
		return fmt.Sprintf("%d minutes", seconds/60)
	case seconds == 3600:
		return "an hour"
	}
	return fmt.Sprintf("%d hours", seconds/3600)
}
