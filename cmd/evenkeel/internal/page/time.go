package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
	Heap    *chart.Chart
}

func panels(c *compare.Comparison, d *pageData) []panel {
	latency, heap := latencyOverTimeAxis(c), heapAxis(c)
	variants := pageVariants(c)
	ps := make([]panel, len(c.Columns))
	for i := range c.Columns {
		run := c.Columns[i].Median()
		p := panel{pageVariant: variants[i], Caption: panelCaption(&c.Columns[i], run)}
		p.Lanes = lanesPanel(d, c, i)
		p.Latency = latencyPanel(d, i, run, latency)
		if hasGC(c) {
			p.Latency.Class += " above"
			p.Heap = heapPanel(d, i, run, heap)
		}
		ps[i] = p
	}
	return ps
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
	r := pageSeries{Step: s.Interval.Seconds()}
	us := func(d time.Duration) float64 { return chart.Significant(float64(d)/microsecond, 3) }
	for i, p := range s.Points {
		if p.Count == 0 {
			p.P50, p.P99, p.Max = 0, 0, 0
		}
		r.P50, r.P99, r.Max = append(r.P50, us(p.P50)), append(r.P99, us(p.P99)), append(r.Max, us(p.Max))
		if p.Failed > 0 {
			r.Failed = set(r.Failed, i, p.Failed)
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
		Desc: fmt.Sprintf("Median, 99th percentile and longest latency by %s, on a logarithmic axis. %s",
			chart.LabelTime(s.Step), panelGCText(run)),
	}
	add := func(class, d string) {
		if d != "" {
			c.Lines = append(c.Lines, chart.Line{Class: class + " " + variantClass(column), Series: column, D: d})
		}
	}
	c.Lines = append(c.Lines, collectionMarks(d.Columns[column].spans, x, column)...)
	drawn := s.draw(s.P50, x, y)
	add("max", s.draw(s.Max, x, y))
	add("p99", s.draw(s.P99, x, y))
	add("p50", drawn)
	add("failed", s.drawFailed(x))
	if drawn == "" {
		c.Message = "no request was answered"
	}
	return c
}

func panelGCText(run *runfile.Run) string {
	switch {
	case run.GC == nil:
		return "Collections were not measured."
	case len(run.GC.Collections) == 0:
		return "No collection in the window."
	}
	return textfmt.Count(float64(len(run.GC.Collections))) + " collections are marked."
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
		if s.Failed[strconv.Itoa(i)] > 0 {
			p.Move(s.at(i, x), chart.PlotHeight)
			p.Line(s.at(i, x), chart.PlotHeight-60)
		}
	}
	return p.String()
}

const (
	gcSpans = 500
	gcBands = 120
)

// gcSpan is a collection, or those of a stretch of time.
type gcSpan struct {
	at, end   float64 // seconds
	count     int
	busy      float64
	before    int64
	after     int64
	live      int64
	low, high int64
}

// mergeCollections returns at most gcSpans stretches.
func mergeCollections(gc *runfile.GC, end float64) []gcSpan {
	if gc == nil {
		return nil
	}
	merge := len(gc.Collections) > gcSpans
	var spans []gcSpan
	last := -1
	for _, c := range gc.Collections {
		s := newSpan(c)
		width := end / gcSpans
		i := min(int(s.at/width), gcSpans-1)
		if merge {
			s.at, s.end = float64(i)*width, float64(i+1)*width
		}
		if merge && i == last {
			spans[len(spans)-1].add(s)
			continue
		}
		spans, last = append(spans, s), i
	}
	for i := range spans {
		spans[i].live /= int64(spans[i].count)
	}
	return spans
}

func newSpan(c runfile.Collection) gcSpan {
	at := max(c.At, 0)
	wall := max(c.Wall, 0)
	return gcSpan{
		at: at.Seconds(), end: (at + wall).Seconds(), count: 1, busy: wall.Seconds(),
		before: c.Before, after: c.After, live: c.Live,
		low: min(c.Before, c.After, c.Live), high: max(c.Before, c.After, c.Live),
	}
}

func (s *gcSpan) add(t gcSpan) {
	s.count += t.count
	s.busy += t.busy
	s.live += t.live // mergeCollections divides it
	s.after = t.after
	s.low, s.high = min(s.low, t.low), max(s.high, t.high)
}

func merged(spans []gcSpan) bool {
	return slices.ContainsFunc(spans, func(s gcSpan) bool { return s.count > 1 })
}

func newPageGC(spans []gcSpan) pageGC {
	var g pageGC
	for _, s := range spans {
		g.At = append(g.At, chart.Significant(s.at, 5))
		g.Count = append(g.Count, s.count)
		g.Low = append(g.Low, chart.Significant(float64(s.low), 3))
		g.High = append(g.High, chart.Significant(float64(s.high), 3))
		g.Live = append(g.Live, chart.Significant(float64(s.live), 3))
	}
	return g
}

// collectionMarks draws bands behind the latencies. Many become a strip above them, which is darker
// where collections took more of the time.
func collectionMarks(spans []gcSpan, x chart.Axis, column int) []chart.Line {
	if len(spans) == 0 {
		return nil
	}
	if len(spans) <= gcBands {
		var p chart.Path
		for _, s := range spans {
			from := chart.PlotX(x.Frac(s.at))
			p.Rect(from, chart.PlotX(x.Frac(s.end))-from, chart.PlotHeight)
		}
		return []chart.Line{{Class: "band", Series: column, D: p.String()}}
	}
	const stretches, levels, height = 250, 4, 45
	var busy [stretches]float64
	for _, s := range spans {
		i := min(int(x.Frac((s.at+s.end)/2)*stretches), stretches-1)
		busy[i] += s.busy
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
		if d := ps[i].String(); d != "" {
			lines = append(lines, chart.Line{Class: fmt.Sprintf("strip s%d", i), Series: column, D: d})
		}
	}
	return lines
}

func heapAxis(c *compare.Comparison) chart.Axis {
	top := int64(0)
	for i := range c.Columns {
		if gc := c.Columns[i].Median().GC; gc != nil {
			for _, k := range gc.Collections {
				top = max(top, k.Before, k.After, k.Live)
			}
		}
	}
	if top == 0 {
		top = 4 << 20
	}
	step := chart.ByteStep(float64(top), 3)
	return chart.Axis{Hi: math.Ceil(float64(top)/step) * step}
}

func heapPanel(d *pageData, column int, run *runfile.Run, y chart.Axis) *chart.Chart {
	x, spans := d.timeAxis(), d.Columns[column].spans
	c := &chart.Chart{
		ID: fmt.Sprintf("heap-%d", column), Kind: "heap", Group: "time", Class: "panel low",
		Title:  "Heap over time: " + d.Columns[column].Label,
		Desc:   "Size of the heap around each collection, and what was live after it.",
		YLabel: "heap", XLabel: "time since the first request",
		X: d.timeTicks(),
		Y: y.YTicks(chart.LinearTicks(0, y.Hi, chart.ByteStep(y.Hi, 3)), textfmt.Bytes),
	}
	switch {
	case run.GC == nil:
		c.Message = "collections were not measured"
		return c
	case len(spans) == 0:
		c.Message = "no collection in the window"
		return c
	}
	heap := chart.Line{Class: "heap " + variantClass(column), Series: column, D: sawtooth(spans, x, y)}
	if len(spans) > gcBands {
		heap.Class += " dense"
	}
	if merged(spans) {
		heap = chart.Line{Class: "heap area " + variantClass(column), Series: column, D: envelope(spans, x, y)}
	}
	c.Lines = []chart.Line{heap, {Class: "live " + variantClass(column), Series: column, D: liveLine(spans, x, y)}}
	return c
}

// The heap grows to the start and end of each mark, and falls to what was live.
func sawtooth(spans []gcSpan, x, y chart.Axis) string {
	var p chart.Path
	for _, s := range spans {
		from, to := chart.PlotX(x.Frac(s.at)), chart.PlotX(x.Frac(s.end))
		p.To(from, chart.PlotY(y.Frac(float64(s.before))))
		p.Line(to, chart.PlotY(y.Frac(float64(s.after))))
		p.Line(to, chart.PlotY(y.Frac(float64(s.live))))
	}
	return p.String()
}

func envelope(spans []gcSpan, x, y chart.Axis) string {
	var p chart.Path
	for _, s := range spans {
		p.To(chart.PlotX(x.Frac((s.at+s.end)/2)), chart.PlotY(y.Frac(float64(s.high))))
	}
	for _, s := range slices.Backward(spans) {
		p.Line(chart.PlotX(x.Frac((s.at+s.end)/2)), chart.PlotY(y.Frac(float64(s.low))))
	}
	p.Close()
	return p.String()
}

func liveLine(spans []gcSpan, x, y chart.Axis) string {
	var p chart.Path
	for i, s := range spans {
		px, py := chart.PlotX(x.Frac(s.end)), chart.PlotY(y.Frac(float64(s.live)))
		if i == 0 {
			p.Move(px, py)
		}
		p.Line(px, py)
	}
	return p.String()
}
