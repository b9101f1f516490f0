package page

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
)

const (
	maxLanes     = 24 // drawn in a panel
	pageSpans    = 8000
	maxLaneSpans = 1000
	laneWidth    = 1e6  // units of a lane, finer than a plot's because states are short
	narrowSpan   = 4000 // of these units
	labelRunes   = 40
)

func (d *pageData) addLanes(c *compare.Comparison) {
	lanes := make([][]compare.Lane, len(c.Columns))
	total := 0
	for i := range c.Columns {
		all := c.Lanes(c.Columns[i].Median())
		lanes[i] = slices.Clone(all[:min(len(all), maxLanes)])
		total += len(lanes[i])
		if n := len(all); n > maxLanes {
			d.laneNotes = append(d.laneNotes, fmt.Sprintf("%s: the first %d of %s sources are drawn.",
				c.Columns[i].Label, maxLanes, textfmt.Count(float64(n))))
		}
	}
	if total == 0 {
		return
	}
	limit, merged := max(min(maxLaneSpans, pageSpans/total), 10), false
	for i := range lanes {
		window := c.Columns[i].Median().Load.Duration
		for k := range lanes[i] {
			l := &lanes[i][k]
			n := len(l.Spans)
			l.Spans = mergeStates(l.Spans, window, limit)
			merged = merged || len(l.Spans) < n
		}
	}
	if merged {
		d.laneNotes = append(d.laneNotes,
			"Where states follow each other too fast to be told apart, neighbours are drawn as one, "+
				"in the colour of the state that took most of the time. The terminal counts each.")
	}
	d.fillLanes(c, lanes)
}

func (d *pageData) fillLanes(c *compare.Comparison, lanes [][]compare.Lane) {
	states := newStates(lanes)
	d.States = states.legend
	for i := range lanes {
		for _, l := range lanes[i] {
			p := pageLane{
				Source: l.Source, Known: l.Known.Microseconds(), Open: l.Open,
				Count: map[int]int{}, Note: map[int]string{},
				until: c.Columns[i].Median().Load.Duration, spans: l.Spans,
			}
			for k, s := range l.Spans {
				p.At, p.For = append(p.At, s.From.Microseconds()), append(p.For, (s.To-s.From).Microseconds())
				p.State = append(p.State, states.index(s.State))
				if s.Note != "" {
					p.Note[k] = s.Note
				}
				if s.Count > 1 {
					p.Count[k] = s.Count
				}
			}
			d.Columns[i].Lanes = append(d.Columns[i].Lanes, p)
		}
	}
}

func (d *pageData) hasLanes() bool {
	return slices.ContainsFunc(d.Columns, func(col pageColumn) bool { return len(col.Lanes) > 0 })
}

// mergeStates joins short spans that begin in the same step of the time line, if there are over
// limit.
func mergeStates(spans []compare.Span, window time.Duration, limit int) []compare.Span {
	if len(spans) <= limit {
		return spans
	}
	steps := max(limit/2-1, 1) // a step has at most a short one and the start of a long one
	step := max(window/time.Duration(steps), 1)
	var merged []compare.Span
	took := map[string]time.Duration{} // by state
	last := time.Duration(-1)
	for _, s := range spans {
		from, to := s.Clip(window)
		if to-from >= step {
			merged, last = append(merged, s), -1
			continue
		}
		if from/step != last {
			clear(took)
			merged, last = append(merged, s), from/step
			took[s.State] += to - from
			continue
		}
		m := &merged[len(merged)-1]
		m.To, m.Note, m.Count = max(m.To, s.To), "", m.Count+s.Count
		if took[s.State] += to - from; took[s.State] > took[m.State] {
			m.State = s.State
		}
	}
	return merged
}

func lanesPanel(d *pageData, c *compare.Comparison, column int) *chart.Chart {
	lanes := d.Columns[column].Lanes
	if len(lanes) == 0 {
		return nil
	}
	ch := &chart.Chart{
		ID: fmt.Sprintf("lanes-%d", column), Kind: "lanes", Group: "time", Class: "panel lanes above",
		Title:  "States over time: " + d.Columns[column].Label,
		YLabel: "state of each source",
		X:      d.timeTicks(),
	}
	const pitch, top, height = 30, .52, .42 // shares of the pitch
	ch.Height = strconv.Itoa(pitch * len(lanes))
	x, each := d.timeAxis(), chart.PlotHeight/float64(len(lanes))
	at := func(t time.Duration) int { return int(x.Frac(t.Seconds())*laneWidth + .5) }
	for i, l := range lanes {
		y, h := int((float64(i)+top)*each), int(height*each)
		label := (float64(i) + top/2) / float64(len(lanes))
		ch.Y = append(ch.Y, chart.Tick{At: chart.PercentAt(label), Label: textfmt.Visible(l.Source, labelRunes)})
		var track chart.Path
		known := at(time.Duration(l.Known) * time.Microsecond)
		track.Box(known, y, at(l.until)-known, h)
		addLane(ch, "track", column, track.String())
		// A narrow span gets a border, which zooming does not scale.
		wide, narrow := make([]chart.Path, len(d.States)), make([]chart.Path, len(d.States))
		for k, s := range l.spans {
			from, to := s.Clip(l.until)
			p := &wide[l.State[k]]
			if at(to)-at(from) < narrowSpan {
				p = &narrow[l.State[k]]
			}
			p.Box(at(from), y, at(to)-at(from), h)
		}
		for k := range wide {
			addLane(ch, "state "+d.States[k].Class, column, wide[k].String())
		}
		for k := range narrow {
			addLane(ch, "state narrow "+d.States[k].Class, column, narrow[k].String())
		}
	}
	ch.Desc = c.EventsText(c.Columns[column].Median())
	return ch
}

func addLane(c *chart.Chart, class string, column int, d string) {
	if d != "" {
		c.Lines = append(c.Lines, chart.Line{
			Class: class, Series: column, D: d,
			Transform: fmt.Sprintf("scale(%g 1)", chart.PlotWidth/laneWidth),
		})
	}
}
