package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of what a page draws of events.
const (
	maxLanes     = 24   // a panel
	pageSpans    = 8000 // on the page, about
	maxLaneSpans = 1000 // in a lane; more are merged
	maxNoteBytes = 64e3 // on the page
	laneWidth    = 1e6  // units of a lane: finer than a plot's, since states are short
	narrowSpan   = 4000 // of them: some pixels at most
	gutterRunes  = 9    // of a source's name that fit to the left of its lane
	labelRunes   = 40   // of it that fit above the lane
)

// pageLane is a lane for the script: its spans by line. Times are microseconds since the
// window's start.
type pageLane struct {
	Source string            `json:"source"`
	Known  int64             `json:"known"`
	At     []int64           `json:"at"`
	For    []int64           `json:"for"`
	State  []int             `json:"state"`           // index of the legend
	Count  map[string]int    `json:"count,omitempty"` // by index, where several are drawn as one
	Note   map[string]string `json:"note,omitempty"`  // by index
	Open   bool              `json:"open,omitempty"`  // no line ended the last one

	until time.Duration // the window's end
	spans []span        // as drawn
}

// addLanes puts the lanes of the runs drawn into the page's data, within bounds.
func (d *pageData) addLanes(c *Comparison) {
	lanes := make([][]lane, len(c.Columns))
	total := 0
	for i := range c.Columns {
		all := c.lanes[c.Columns[i].Median()]
		lanes[i] = busiest(all, maxLanes)
		total += len(lanes[i])
		if n := len(all); n > maxLanes {
			d.laneNotes = append(d.laneNotes, fmt.Sprintf("%s: %d of %s sources are drawn, those with the most changes.",
				c.Columns[i].Label, maxLanes, FormatCount(float64(n))))
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
			n := len(l.spans)
			l.spans = mergeStates(l.spans, window, limit)
			merged = merged || len(l.spans) < n
		}
	}
	if merged {
		d.laneNotes = append(d.laneNotes, "Where states follow each other too fast to be told apart, neighbours are drawn as one, "+
			"in the colour of the state that took most of the time. The terminal counts each.")
	}
	d.fillLanes(c, lanes)
}

// fillLanes puts lanes in the form that the script reads.
func (d *pageData) fillLanes(c *Comparison, lanes [][]lane) {
	states := newStates(lanes)
	d.States = states.legend
	notes := 0
	for i := range lanes {
		for _, l := range lanes[i] {
			p := pageLane{
				Source: l.source, Known: l.known.Microseconds(), Open: l.open,
				until: c.Columns[i].Median().Load.Duration, spans: l.spans,
			}
			for k, s := range l.spans {
				p.At, p.For = append(p.At, s.from.Microseconds()), append(p.For, (s.to-s.from).Microseconds())
				p.State = append(p.State, states.index(s.state))
				if notes += len(s.note); s.note != "" && notes <= maxNoteBytes {
					p.Note = set(p.Note, k, s.note)
				}
				if s.count > 1 {
					p.Count = set(p.Count, k, s.count)
				}
			}
			d.Columns[i].Lanes = append(d.Columns[i].Lanes, p)
		}
	}
	if notes > maxNoteBytes {
		d.laneNotes = append(d.laneNotes, "The events have more notes than fit: only the first are shown.")
	}
}

func (d *pageData) hasLanes() bool {
	return slices.ContainsFunc(d.Columns, func(col pageColumn) bool { return len(col.Lanes) > 0 })
}

func set[V any](m map[string]V, index int, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[strconv.Itoa(index)] = v
	return m
}

// busiest returns the n lanes with the most spans, in the order that they had.
func busiest(lanes []lane, n int) []lane {
	if len(lanes) <= n {
		return slices.Clone(lanes)
	}
	by := make([]int, len(lanes))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(a, b int) int { return len(lanes[b].spans) - len(lanes[a].spans) })
	by = by[:n]
	slices.Sort(by)
	var kept []lane
	for _, i := range by {
		kept = append(kept, lanes[i])
	}
	return kept
}

// mergeStates returns at most limit spans. Where there are more, those that are shorter than a
// step of the time line and begin in the same step become one.
func mergeStates(spans []span, window time.Duration, limit int) []span {
	if len(spans) <= limit {
		return spans
	}
	steps := max(limit/2-1, 1) // in each a short one at most, and the start of a long one
	step := max(window/time.Duration(steps), 1)
	var merged []span
	took := map[string]time.Duration{} // by the states of the one being merged
	last := time.Duration(-1)
	for _, s := range spans {
		from, to := s.clip(window)
		if to-from >= step {
			merged, last = append(merged, s), -1
			continue
		}
		if from/step != last {
			clear(took)
			merged, last = append(merged, s), from/step
			took[s.state] += to - from
			continue
		}
		m := &merged[len(merged)-1]
		m.to, m.note, m.count = max(m.to, s.to), "", m.count+s.count
		if took[s.state] += to - from; took[s.state] > took[m.state] {
			m.state = s.state
		}
	}
	return merged
}

// lanesPanel draws the lanes of a column on the time axis, or returns nil.
func lanesPanel(d *pageData, c *Comparison, column int) *chart {
	lanes := d.Columns[column].Lanes
	if len(lanes) == 0 {
		return nil
	}
	ch := &chart{
		ID: fmt.Sprintf("lanes-%d", column), Kind: "lanes", Group: "time", Class: "panel lanes above",
		Title:  "States over time: " + d.Columns[column].Label,
		YLabel: "state of each source",
		X:      d.timeTicks(),
	}
	pitch, top, height := 18, .15, .7 // of a lane; the shares are of the pitch
	if slices.ContainsFunc(lanes, func(l pageLane) bool { return utf8.RuneCountInString(l.Source) > gutterRunes }) {
		pitch, top, height = 30, .52, .42
		ch.Class += " named"
	}
	ch.Height = strconv.Itoa(pitch * len(lanes))
	x, each := d.timeAxis(), plotHeight/float64(len(lanes))
	at := func(t time.Duration) int { return int(x.frac(t.Seconds())*laneWidth + .5) }
	for i := range lanes {
		l := &lanes[i]
		y, h := int((float64(i)+top)*each), int(height*each)
		label := (float64(i) + .5) / float64(len(lanes))
		if pitch > 18 {
			label = (float64(i) + top/2) / float64(len(lanes))
		}
		ch.Y = append(ch.Y, tick{At: percentAt(label), Label: visible(l.Source, labelRunes)})
		var track path
		known := at(time.Duration(l.Known) * time.Microsecond)
		track.box(known, y, at(l.until)-known, h)
		ch.lane("track", column, track.String())
		// What is narrow gets a border, which zooming does not scale, on top of its neighbours.
		wide, narrow := make([]path, len(d.States)), make([]path, len(d.States))
		for k, s := range l.spans {
			from, to := s.clip(l.until)
			p := &wide[l.State[k]]
			if at(to)-at(from) < narrowSpan {
				p = &narrow[l.State[k]]
			}
			p.box(at(from), y, at(to)-at(from), h)
		}
		for k := range wide {
			ch.lane("state "+d.States[k].Class, column, wide[k].String())
		}
		for k := range narrow {
			ch.lane("state narrow "+d.States[k].Class, column, narrow[k].String())
		}
	}
	ch.Desc = c.lanesText(column)
	return ch
}

func (c *chart) lane(class string, column int, d string) {
	if d != "" {
		c.Lines = append(c.Lines, line{Class: class, Variant: column, D: d, Transform: fmt.Sprintf("scale(%g 1)", plotWidth/laneWidth)})
	}
}

// lanesText says in words what the lanes of a column show.
func (c *Comparison) lanesText(column int) string {
	ts := c.tallies([]*Run{c.Columns[column].Median()})
	var parts []string
	for _, t := range ts[:min(len(ts), maxTallies)] {
		parts = append(parts, fmt.Sprintf("%s: %s %sx, %s in all.", t.source, t.state, FormatCount(float64(t.count)), FormatDuration(t.total)))
	}
	if len(parts) == 0 {
		return "No source left the state serving."
	}
	return strings.Join(parts, " ")
}
