package page

import (
	"fmt"
	"math"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
)

const (
	gcSpans = 500 // on a time line at most
	gcBands = 120 // collections that are marked one by one
)

// gcSpan is a collection, or those of one stretch of the time line.
type gcSpan struct {
	at, end   float64 // seconds
	count     int
	busy      float64 // seconds in collections
	before    int64
	after     int64
	live      int64 // mean of several
	low, high int64
}

// mergeCollections returns a span for each collection, or for each of gcSpans stretches if there
// are more collections.
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
	s.live += t.live // a sum until mergeCollections divides it
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

// collectionMarks draws bands behind the latencies. If these would cover everything, it draws a
// strip above them, which is darker where collections took more of the time.
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

// sawtooth draws how the heap grows to the start and end of each mark, and falls to what was live.
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
