package page

import (
	"fmt"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

type panel struct {
	pageVariant
	Caption string
	Lanes   *chart.Chart
	Latency chart.Chart
}

func panels(c *compare.Comparison, d *pageData) (list []panel) {
	y := latencyOverTimeAxis(c)
	for i, v := range pageVariants(c) {
		run := c.Columns[i].Median()
		list = append(list, panel{
			v, panelCaption(&c.Columns[i], run), lanesPanel(d, c, i), latencyPanel(d, i, run, y),
		})
	}
	return list
}

func panelCaption(col *compare.Column, run *runfile.Run) string {
	t := fmt.Sprintf("%s requests in %s", textfmt.Count(float64(run.Load.Answered)),
		textfmt.Duration(run.Load.Duration))
	if run.Load.Failed > 0 {
		t += fmt.Sprintf(", %s failed", textfmt.Count(float64(run.Load.Failed)))
	}
	if run.GC != nil {
		t += fmt.Sprintf(", %s collections", textfmt.Count(float64(len(run.GC.Collections))))
	}
	if run.Load.Interrupted {
		t += ", interrupted"
	}
	if len(col.Runs) > 1 {
		t = fmt.Sprintf("repeat %d of %d: %s", run.Repeat, len(col.Runs), t)
	}
	return t
}

func timeEnd(c *compare.Comparison) float64 {
	end := time.Duration(0)
	for i := range c.Columns {
		r := c.Columns[i].Median()
		s := &r.Load.Series
		end = max(end, r.Load.Duration, time.Duration(len(s.Points))*s.Interval-s.Interval/2)
		if r.GC != nil {
			for _, k := range r.GC.Collections {
				end = max(end, k.At)
			}
		}
	}
	if end <= 0 {
		return 1
	}
	return chart.Significant(end.Seconds(), 6)
}

func latencyOverTimeAxis(c *compare.Comparison) chart.Axis {
	lo, hi := time.Duration(0), time.Duration(0)
	for i := range c.Columns {
		for _, p := range c.Columns[i].Median().Load.Series.Points {
			if p.Count == 0 || p.P50 <= 0 {
				continue
			}
			if lo == 0 || p.P50 < lo {
				lo = p.P50
			}
			hi = max(hi, p.P50, p.Max)
		}
	}
	if lo == 0 {
		lo, hi = time.Millisecond, time.Second
	}
	return chart.LogAxis(float64(lo)/microsecond, float64(hi)/microsecond)
}

func newPageSeries(s *loadgen.Series) pageSeries {
	r := pageSeries{Step: s.Interval.Seconds(), Failed: map[int]int64{}}
	us := func(d time.Duration) float64 { return chart.Significant(float64(d)/microsecond, 3) }
	for i, p := range s.Points {
		if p.Count == 0 {
			p.P50, p.P99, p.Max = 0, 0, 0
		}
		r.P50, r.P99, r.Max = append(r.P50, us(p.P50)), append(r.P99, us(p.P99)), append(r.Max, us(p.Max))
		if p.Failed > 0 {
			r.Failed[i] = p.Failed
		}
	}
	return r
}

func (s *pageSeries) at(i int, x chart.Axis) int {
	return chart.PlotX(x.Frac((float64(i) + .5) * s.Step))
}

func latencyPanel(d *pageData, column int, run *runfile.Run, y chart.Axis) chart.Chart {
	x, s := d.timeAxis(), &d.Columns[column].Series
	label := d.Columns[column].Label
	c := chart.Chart{
		ID: fmt.Sprintf("time-%d", column), Kind: "time", Group: "time", Class: "panel",
		Title:  "Latency over time: " + label,
		YLabel: "latency", XLabel: "time since the first request",
		X: d.timeTicks(),
		Y: y.YTicks(chart.LogTicks(y.Lo, y.Hi, 7), labelMicroseconds),
		Desc: fmt.Sprintf("Median, 99th percentile and longest latency by %s, on a logarithmic axis.",
			chart.LabelTime(s.Step)),
	}
	line := func(class, d string) chart.Line {
		return chart.Line{Class: class + " " + variantClass(column), Series: column, D: d}
	}
	median := line("p50", s.draw(s.P50, x, y))
	c.Lines = append(collectionMarks(run.GC, x, column), drawn(
		line("max", s.draw(s.Max, x, y)), line("p99", s.draw(s.P99, x, y)), median, line("failed", s.drawFailed(x)),
	)...)
	if median.D == "" {
		c.Message = "no request was answered"
		if run.Load.Answered > 0 {
			c.Message = "this file does not have the requests over time"
		}
	}
	return c
}

// draw leaves gaps between intervals open.
func (s *pageSeries) draw(values []float64, x, y chart.Axis) string {
	var p chart.Path
	for i, v := range values {
		if v == 0 {
			continue
		}
		px, py := s.at(i, x), chart.PlotY(y.Frac(v))
		gapBefore := i == 0 || values[i-1] == 0
		gapAfter := i == len(values)-1 || values[i+1] == 0
		if gapBefore {
			p.Move(px, py)
		}
		if !gapBefore || gapAfter {
			p.Line(px, py)
		}
	}
	return p.String()
}

func (s *pageSeries) drawFailed(x chart.Axis) string {
	var p chart.Path
	for i := range s.P50 {
		if s.Failed[i] > 0 {
			p.Move(s.at(i, x), chart.PlotHeight)
			p.Line(s.at(i, x), chart.PlotHeight-60)
		}
	}
	return p.String()
}

const gcBands = 120

// collectionMarks draws bands behind the latencies. Many become a strip above them, which is darker
// where collections took more of the time.
func collectionMarks(gc *runfile.GC, x chart.Axis, column int) []chart.Line {
	if gc == nil || len(gc.Collections) == 0 {
		return nil
	}
	const stretches, levels, height = 250, 4, 45
	var bands chart.Path
	var busy [stretches]float64
	for _, c := range gc.Collections {
		at, wall := max(c.At, 0).Seconds(), max(c.Wall, 0).Seconds()
		from := chart.PlotX(x.Frac(at))
		bands.Rect(from, chart.PlotX(x.Frac(at+wall))-from, chart.PlotHeight)
		busy[min(int(x.Frac(at+wall/2)*stretches), stretches-1)] += wall
	}
	if len(gc.Collections) <= gcBands {
		return []chart.Line{{Class: "band", Series: column, D: bands.String()}}
	}
	var ps [levels]chart.Path
	width := chart.PlotWidth / stretches
	for i, b := range busy {
		if b > 0 {
			share := min(b/(x.Hi/stretches), 1)
			level := min(int(share*levels), levels-1)
			ps[level].Rect(i*width, width, height)
		}
	}
	var lines []chart.Line
	for i := range ps {
		lines = append(lines, chart.Line{Class: fmt.Sprintf("strip s%d", i), Series: column, D: ps[i].String()})
	}
	return drawn(lines...)
}
