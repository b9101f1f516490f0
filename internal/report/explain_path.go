package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

const (
	maxPageRequests = 50 // with their path
	maxPathRows     = 60 // of a request's path; the shortest pieces go together
	rowHeight       = 100
	tileTop         = 22 // of a row, above its tiles
	leastTile       = 12 // units of a plot: tiles that are narrower are drawn together
)

// slowRequest is a row of the timeline: a request from its start, all on one scale.
type slowRequest struct {
	ID, Time, Start, Parts string
	Behind                 []line // the collector
	Tiles                  []tilePath
	Path                   []pathRow
	Sites                  []siteRow
	Desc                   string
}

// tilePath is all tiles of one cause.
type tilePath struct{ Class, D, Tip string }

type pathRow struct {
	pageCause
	At, For, Site string
}

func slowRequests(r *reqtrace.Report) []slowRequest {
	var list []slowRequest
	if len(r.Slowest) == 0 {
		return list
	}
	longest := max(r.Slowest[0].Duration(), 1)
	for i := range r.Slowest[:min(len(r.Slowest), maxPageRequests)] {
		q := &r.Slowest[i]
		s := slowRequest{ID: q.ID, Time: FormatDuration(q.Duration()), Start: labelTime(significant(q.Start.Seconds(), 4)), Parts: breakdown(q)}
		x := axis{lo: float64(q.Start), hi: float64(q.Start + longest)}
		s.Behind = behind(r.Spans, q.Start, q.End, x, rowHeight, leastTile)
		s.Tiles = tilePaths(q, x)
		s.Path = pathRows(q)
		for _, b := range q.Sites {
			s.Sites = append(s.Sites, siteRow{pageCause: newPageCause(b.Cause), Site: siteText(b.Site), Tail: FormatDuration(b.Time)})
		}
		s.Desc = fmt.Sprintf("%s from %s: %s", s.Time, s.Start, s.Parts)
		list = append(list, s)
	}
	return list
}

// behind draws when the collector marked and when the world was stopped, between two times.
func behind(spans []reqtrace.Span, from, to time.Duration, x axis, height, leastStop int) []line {
	var mark, stop path
	for _, s := range spans {
		a, b := max(s.Start, from), min(s.End, to)
		if a >= b {
			continue
		}
		left, right := plotX(x.frac(float64(a))), plotX(x.frac(float64(b)))
		if s.Stopped {
			stop.rect(left, max(right-left, leastStop), height)
		} else {
			mark.rect(left, max(right-left, 1), height)
		}
	}
	var lines []line
	if len(mark.b) > 0 {
		lines = append(lines, line{Class: "marking", D: mark.String()})
	}
	if len(stop.b) > 0 {
		lines = append(lines, line{Class: "stop", D: stop.String()})
	}
	return lines
}

// tilePaths draws a request's path, a path of SVG for each cause.
func tilePaths(q *reqtrace.Request, x axis) []tilePath {
	paths := map[reqtrace.Cause]*path{}
	var sum reqtrace.Parts
	for _, t := range joinNarrow(q.Path, func(d time.Duration) bool { return plotX(float64(d)/(x.hi-x.lo)) < leastTile }) {
		left, right := plotX(x.frac(float64(t.Start))), plotX(x.frac(float64(t.End)))
		if paths[t.Cause] == nil {
			paths[t.Cause] = &path{}
		}
		paths[t.Cause].box(left, tileTop, max(right-left, 1), rowHeight-2*tileTop)
	}
	for _, t := range q.Path {
		sum.Add(t.Cause, t.End-t.Start)
	}
	var list []tilePath
	for _, c := range causeOrder {
		if p := paths[c]; p != nil {
			list = append(list, tilePath{causeClass(c), p.String(), fmt.Sprintf("%s: %s of %s", phrase(c), FormatDuration(sum.Of(c)), FormatDuration(q.Duration()))})
		}
	}
	return list
}

// joinNarrow puts neighbours together until they are wide enough to be seen, under the cause that
// takes most of them.
func joinNarrow(tiles []reqtrace.Tile, narrow func(time.Duration) bool) []reqtrace.Tile {
	var list []reqtrace.Tile
	var parts reqtrace.Parts
	for i := 0; i < len(tiles); {
		t := tiles[i]
		parts = reqtrace.Parts{}
		for {
			parts.Add(tiles[i].Cause, tiles[i].End-tiles[i].Start)
			t.End = tiles[i].End
			i++
			if i == len(tiles) || !narrow(t.End-t.Start) || !narrow(tiles[i].End-tiles[i].Start) {
				break
			}
		}
		for c, d := range parts.All() {
			if d > parts.Of(t.Cause) {
				t.Cause = c
			}
		}
		list = append(list, t)
	}
	return list
}

// pathRows lists a path: neighbours with the same cause and place as one, and the shortest together
// where there are many.
func pathRows(q *reqtrace.Request) []pathRow {
	var tiles []reqtrace.Tile
	for _, t := range q.Path {
		if n := len(tiles); n > 0 && tiles[n-1].Cause == t.Cause && tiles[n-1].Site == t.Site {
			tiles[n-1].End = t.End
			continue
		}
		tiles = append(tiles, t)
	}
	least := time.Duration(0)
	if len(tiles) > maxPathRows {
		lengths := make([]time.Duration, len(tiles))
		for i, t := range tiles {
			lengths[i] = t.End - t.Start
		}
		slices.SortFunc(lengths, func(a, b time.Duration) int { return cmp.Compare(b, a) })
		least = lengths[maxPathRows/2] // between each two that are kept there may be a row of others
	}
	var rows []pathRow
	for i := 0; i < len(tiles); {
		t := tiles[i]
		if t.End-t.Start > least || least == 0 {
			rows = append(rows, newPathRow(q, t, newPageCause(t.Cause), t.Site))
			i++
			continue
		}
		from := i
		for i < len(tiles) && tiles[i].End-tiles[i].Start <= least {
			t.End = tiles[i].End
			i++
		}
		if i-from == 1 {
			rows = append(rows, newPathRow(q, t, newPageCause(t.Cause), t.Site))
			continue
		}
		rows = append(rows, newPathRow(q, t, pageCause{Text: plural(i-from, "shorter piece")}, ""))
	}
	return rows
}

func newPathRow(q *reqtrace.Request, t reqtrace.Tile, c pageCause, site string) pathRow {
	return pathRow{c, "+" + FormatDuration(t.Start-q.Start), FormatDuration(t.End - t.Start), site}
}

// overview draws where in the trace the slowest requests were, with the collector behind them.
func overview(r *reqtrace.Report) chart {
	end := max(r.Trace.Seconds(), 1e-6)
	x := axis{hi: end}
	c := chart{
		ID: "overview", Kind: "overview", Group: "time", Class: "overview", XLabel: "time in the trace",
		Title: "When the slowest requests were", X: x.xTicks(linearTicks(0, end, timeStep(end, 8)), labelTime),
		Desc:  fmt.Sprintf("%s over %s of trace; the collector's marking and stops behind them.", plural(len(r.Slowest), "request"), FormatDuration(r.Trace)),
		Lines: behind(r.Spans, 0, r.Trace, axis{hi: float64(max(r.Trace, 1))}, plotHeight, 2),
	}
	shown := r.Slowest[:min(len(r.Slowest), maxPageRequests)]
	var p path
	for i, q := range shown {
		a, b := plotX(x.frac(q.Start.Seconds())), plotX(x.frac(q.End.Seconds()))
		step := plotHeight / max(len(shown), 1)
		p.box(a, i*step+step/6, max(b-a, leastTile), max(step*2/3, 1))
	}
	c.Lines = append(c.Lines, line{Class: "slow", D: p.String()})
	return c
}
