package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

const (
	maxPageRequests = 50
	maxPathRows     = 60
	rowHeight       = 100
	tileTop         = 22
	minTile         = 12 // narrower tiles are drawn together
)

// All rows have one scale.
type slowRequest struct {
	Time, Start, Parts string
	Behind             []chart.Line
	Tiles              []tilePath
	Path               []pathRow
	Sites              []reqtrace.Blame
	Desc               string
}

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
		s := slowRequest{
			Time: textfmt.Duration(q.Duration()), Start: chart.LabelTime(chart.Significant(q.Start.Seconds(), 4)),
			Parts: verdict.Breakdown(q), Path: pathRows(q), Sites: q.Sites,
		}
		x := chart.Axis{Lo: float64(q.Start), Hi: float64(q.Start + longest)}
		s.Behind = behind(r, q.Start, q.End, x, rowHeight, minTile)
		s.Tiles = tilePaths(q, x)
		s.Desc = fmt.Sprintf("%s from %s: %s", s.Time, s.Start, s.Parts)
		list = append(list, s)
	}
	return list
}

func behind(r *reqtrace.Report, from, to time.Duration, x chart.Axis, height, leastStop int) []chart.Line {
	var mark, stop, still chart.Path
	draw := func(p *chart.Path, s reqtrace.Span, least int) {
		if a, b := max(s.Start, from), min(s.End, to); a < b {
			left, right := chart.PlotX(x.Frac(float64(a))), chart.PlotX(x.Frac(float64(b)))
			p.Rect(left, max(right-left, least), height)
		}
	}
	for _, s := range r.Spans {
		if s.Stopped {
			draw(&stop, s, leastStop)
		} else {
			draw(&mark, s, 1)
		}
	}
	for _, s := range r.Machine.Spans {
		draw(&still, s, leastStop)
	}
	return drawn(
		chart.Line{Class: "still", D: still.String()},
		chart.Line{Class: "marking", D: mark.String()},
		chart.Line{Class: "stop", D: stop.String()},
	)
}

func tilePaths(q *reqtrace.Request, x chart.Axis) []tilePath {
	paths := map[reqtrace.Cause]*chart.Path{}
	var sum reqtrace.Parts
	for _, t := range joinNarrow(q.Path, func(d time.Duration) bool {
		return chart.PlotX(float64(d)/(x.Hi-x.Lo)) < minTile
	}) {
		left, right := chart.PlotX(x.Frac(float64(t.Start))), chart.PlotX(x.Frac(float64(t.End)))
		if paths[t.Cause] == nil {
			paths[t.Cause] = &chart.Path{}
		}
		paths[t.Cause].Box(left, tileTop, max(right-left, 1), rowHeight-2*tileTop)
	}
	for _, t := range q.Path {
		sum.Add(t.Cause, t.End-t.Start)
	}
	var list []tilePath
	for _, c := range verdict.Causes(0) {
		if p := paths[c]; p != nil {
			tip := fmt.Sprintf("%s: %s of %s", verdict.Phrase(c), textfmt.Duration(sum.Of(c)),
				textfmt.Duration(q.Duration()))
			i := slices.IndexFunc(q.Sites, func(b reqtrace.Blame) bool { return b.Cause == c })
			if i >= 0 { // the largest
				tip += "; " + verdict.Where(&q.Sites[i])
			}
			list = append(list, tilePath{causeClass(c), p.String(), tip})
		}
	}
	return list
}

// joinNarrow joins neighbours until you can see them. The longest cause stands for all.
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

// pathRows joins neighbours with the same cause and place. Of many rows, it joins the shortest.
func pathRows(q *reqtrace.Request) []pathRow {
	var tiles []reqtrace.Tile
	for _, t := range q.Path {
		if n := len(tiles); n > 0 && sameTile(tiles[n-1], t) {
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
		least = lengths[maxPathRows/2] // joined pieces may follow each row that is kept
	}
	var rows []pathRow
	short := func(t reqtrace.Tile) bool { return least > 0 && t.End-t.Start <= least }
	for i := 0; i < len(tiles); {
		t, from := tiles[i], i
		for i++; short(tiles[from]) && i < len(tiles) && short(tiles[i]); i++ {
			t.End = tiles[i].End
		}
		cause, where := newPageCause(t.Cause), tileWhere(&t)
		if i-from > 1 {
			cause, where = pageCause{Text: textfmt.Plural(i-from, "shorter piece")}, ""
		}
		at, took := "+"+textfmt.Duration(t.Start-q.Start), textfmt.Duration(t.End-t.Start)
		rows = append(rows, pathRow{cause, at, took, where})
	}
	return rows
}

func sameTile(a, b reqtrace.Tile) bool {
	a.Start, a.End = b.Start, b.End
	return a == b
}

func tileWhere(t *reqtrace.Tile) string {
	if t.Site == "" && t.Op == "" && t.Holder == "" {
		return ""
	}
	return verdict.Where(&reqtrace.Blame{Cause: t.Cause, Site: t.Site, Op: t.Op, Holder: t.Holder, Doing: t.Doing})
}

func overview(r *reqtrace.Report) chart.Chart {
	end := max(r.Trace.Seconds(), 1e-6)
	x := chart.Axis{Hi: end}
	c := chart.Chart{
		ID: "overview", Kind: "overview", Group: "time", Class: "overview", XLabel: "time in the trace",
		Title: "When the slowest requests were", X: x.XTicks(chart.LinearTicks(0, end, chart.TimeStep(end, 8)),
			chart.LabelTime),
		Desc: fmt.Sprintf("%s over %s of trace; the collector's marking and stops behind them.",
			textfmt.Plural(len(r.Slowest), "request"), textfmt.Duration(r.Trace)),
		Lines: behind(r, 0, r.Trace, chart.Axis{Hi: float64(max(r.Trace, 1))}, chart.PlotHeight, 2),
	}
	shown := r.Slowest[:min(len(r.Slowest), maxPageRequests)]
	var p chart.Path
	for i, q := range shown {
		a, b := chart.PlotX(x.Frac(q.Start.Seconds())), chart.PlotX(x.Frac(q.End.Seconds()))
		step := chart.PlotHeight / max(len(shown), 1)
		p.Box(a, i*step+step/6, max(b-a, minTile), max(step*2/3, 1))
	}
	c.Lines = append(c.Lines, chart.Line{Class: "slow", D: p.String()})
	return c
}
