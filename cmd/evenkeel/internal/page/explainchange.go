package page

import (
	_ "embed"
	"fmt"
	"io"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

var (
	//go:embed explainchange.html.tmpl
	explainChangeTemplate string
	//go:embed explainchange.css
	explainChangeStyle string

	explainChangeTmpl = newTemplate(explainChangeTemplate)
)

type explainChangePage struct {
	shell

	Change   *verdict.Change
	Headline []pageFigure
	Legend   []pageCause
	Sides    []sideBar
	Causes   []changeRow
	Places   []changeRow
	Classes  []changedClass
	Tool     string
}

// sideBar is what requests of a side take. The longest has the whole width.
type sideBar struct {
	Name, Mean, Desc string
	Bar              []barPart
}

// changeRow is a difference and its interval, on an axis that all rows of a table share.
type changeRow struct {
	pageCause
	Where    string
	Named    bool
	Old, New string
	More     string
	Interval string
	All      string // difference of all requests
	Zero     string // in thousandths of the axis, as the next three
	Low      string
	Width    string
	At       string
}

type changedClass struct {
	Class, Old, New, Time, Number string
}

// Change writes what differs between two versions, with its evidence, as one page without other
// files.
func Change(w io.Writer, c *verdict.Change) error {
	p := explainChangePage{
		shell:  newShell(style+explainStyle+explainChangeStyle, explainScript, []byte("null")),
		Change: c, Tool: runfile.Tool(),
	}
	p.Headline = []pageFigure{
		{
			"the slowest 1% (p99+), on average", textfmt.SignedDuration(c.Slow.More),
			textfmt.Duration(c.Old.Slow.Total()) + " → " + textfmt.Duration(c.New.Slow.Total()),
		},
		{
			"all requests, on average", textfmt.SignedDuration(c.All.More),
			textfmt.Duration(c.All.Old) + " → " + textfmt.Duration(c.All.New),
		},
		{
			"traces", fmt.Sprintf("%d, %d", c.Old.Traces, c.New.Traces),
			fmt.Sprintf("%s, %s requests", textfmt.Count(float64(c.Old.Requests)),
				textfmt.Count(float64(c.New.Requests))),
		},
	}
	for _, k := range verdict.Causes(minPart, c.Old.Slow, c.New.Slow, c.Old.All, c.New.All) {
		p.Legend = append(p.Legend, newPageCause(k))
	}
	p.Sides = append(sideBars("slowest 1%", c, func(s *verdict.Side) reqtrace.Parts { return s.Slow }),
		sideBars("all", c, func(s *verdict.Side) reqtrace.Parts { return s.All })...)
	p.Causes = changeRows(c.ByCause, false)
	p.Places = changeRows(c.Rows, true)
	for i := range c.Classes {
		x := &c.Classes[i]
		p.Classes = append(p.Classes, changedClass{
			x.Class, textfmt.Share(x.OldShare), textfmt.Share(x.NewShare), textfmt.SignedDuration(x.Slow.More),
			textfmt.SignedDuration(x.SlowMix.More),
		})
	}
	return explainChangeTmpl.Execute(w, &p)
}

func sideBars(what string, c *verdict.Change, of func(*verdict.Side) reqtrace.Parts) (bars []sideBar) {
	longest := max(of(&c.Old).Total(), of(&c.New).Total(), 1)
	for _, s := range []*verdict.Side{&c.Old, &c.New} {
		parts := of(s)
		bar := newBandBar(&reqtrace.Band{Name: what + " of " + s.Name, Mean: parts.Total(), Parts: parts})
		scale := float64(parts.Total()) / float64(longest)
		at := 0.
		for i, k := range verdict.Causes(minPart, parts) {
			share := parts.Share(k) * scale
			bar.Bar[i].X, bar.Bar[i].Width = thousandths(at), thousandths(share)
			at += share
		}
		bars = append(bars, sideBar{bar.Name, bar.Mean, bar.Desc, bar.Bar})
	}
	return bars
}

// changeRows draws differences, as many as a page shows.
func changeRows(list []verdict.CauseChange, places bool) (rows []changeRow) {
	const most = 24
	var shown []verdict.CauseChange
	lo, hi := time.Duration(0), time.Duration(1)
	for _, x := range list {
		if len(shown) < most && (!places || x.Function != "") && x.Slow.More != 0 {
			shown = append(shown, x)
			lo, hi = min(lo, x.Slow.Low), max(hi, x.Slow.High)
		}
	}
	at := func(d time.Duration) float64 { return float64(d-lo) / float64(hi-lo) }
	for i := range shown {
		x := &shown[i]
		d := &x.Slow
		r := changeRow{
			pageCause: newPageCause(x.Cause), Named: x.Named, Old: textfmt.Duration(d.Old),
			New: textfmt.Duration(d.New), More: textfmt.SignedDuration(d.More),
			Interval: rangeText(textfmt.SignedDuration(d.Low), textfmt.SignedDuration(d.High)),
			All:      textfmt.SignedDuration(x.All.More),
			Zero:     thousandths(at(0)), Low: thousandths(at(d.Low)), Width: thousandths(at(d.High) - at(d.Low)),
			At: thousandths(at(d.More)),
		}
		if places {
			r.Where = x.Words()
		}
		rows = append(rows, r)
	}
	return rows
}
