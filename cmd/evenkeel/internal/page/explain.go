package page

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

var (
	//go:embed explain.html.tmpl
	explainTemplate string
	//go:embed explain.css
	ownExplainStyle string
	//go:embed explain.js
	explainScript string

	explainStyle = chart.CauseStyle + ownExplainStyle
	explainTmpl  = newTemplate(explainTemplate)
)

// minPart is the smallest share of a bar that is drawn.
const minPart = .0005

type explainPage struct {
	shell

	Verdict    *verdict.Verdict
	Source     string
	Guide      string // on the cause in the headline
	Legend     []pageCause
	Classes    []classRow
	Bands      []bandBar
	Causes     []causeRow
	CausesFoot string
	CCDF       chart.Chart
	Overview   chart.Chart
	Requests   []slowRequest
	Stalled    bool
	Sites      []siteRow
	Running    []runningRow
	Limits     []string
	Tool       string
}

type classRow struct{ Name, Requests, P50, P99, Slow string }

type bandBar struct {
	Name, Requests, Mean, Range string
	Bar                         []barPart
	Desc                        string
}

type barPart struct {
	Class    string
	X, Width string
	Tip      string
}

type causeRow struct {
	pageCause
	Median, Tail, More, Share string
	Width                     string
}

type runningRow struct{ Share, Interval, Count, Where string }

// Explain writes a verdict and its evidence as one page without other files.
func Explain(w io.Writer, source string, v *verdict.Verdict) error {
	r := v.Report()
	p := explainPage{
		shell: newShell(style+explainStyle, explainScript, []byte("null")), Verdict: v, Source: source,
		Limits: verdict.Limits, Tool: runfile.Tool(),
	}
	if r.Requests > 0 {
		d := ccdfData(r)
		data, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("data of the page: %w", err)
		}
		p.Data, p.CCDF = template.JS(data), ccdfChart(d)
		p.CCDF.XLabel = "time in the server"
		p.fill(v)
	}
	return explainTmpl.Execute(w, &p)
}

func (p *explainPage) fill(v *verdict.Verdict) {
	r := v.Report()
	for _, c := range v.Classes() {
		p.Classes = append(p.Classes, classRow{
			c.Name, textfmt.Count(float64(c.Requests)), textfmt.Duration(c.P50),
			textfmt.Duration(c.P99), textfmt.Share(c.Slow),
		})
	}
	if v.Named {
		p.Guide = v.Causes[0].Guide
	}
	all := []reqtrace.Parts{r.Median.Parts, r.Tail.Parts}
	for i := range r.Bands {
		all = append(all, r.Bands[i].Parts)
		p.Bands = append(p.Bands, newBandBar(&r.Bands[i]))
	}
	for i := range r.Slowest {
		all = append(all, r.Slowest[i].Parts)
	}
	for _, c := range verdict.Causes(minPart, all...) {
		p.Legend = append(p.Legend, newPageCause(c))
	}
	for _, row := range v.Table() {
		c := causeRow{
			pageCause: newPageCause(row.Cause), Median: textfmt.Duration(row.Median), Tail: textfmt.Duration(row.Tail),
			More: textfmt.SignedDuration(row.Excess),
		}
		if row.Share > 0 {
			c.Share, c.Width = textfmt.Share(row.Share), chart.LabelNumber(chart.Significant(row.Share*100, 3))
		}
		p.Causes = append(p.Causes, c)
	}
	p.CausesFoot = fmt.Sprintf("On average a request of the slowest 1%% (p99+) takes %s, the median request %s: %s "+
		"more. A share is a part of the extra time. A cause that takes less than in the median request has none.",
		textfmt.Duration(r.Tail.Mean), textfmt.Duration(r.Median.Mean), textfmt.Duration(r.Tail.Mean-r.Median.Mean))
	for _, x := range v.Places() {
		p.Sites = append(p.Sites, siteRow{
			newPageCause(x.Cause), verdict.Where(&x.Blame), textfmt.Duration(x.Median),
			textfmt.Duration(x.Time), textfmt.SignedDuration(x.Excess),
		})
	}
	for _, x := range v.Running() {
		where := cmp.Or(x.Site, "no function of the program's")
		if x.Handler != "" {
			where += ", in " + x.Handler
		}
		p.Running = append(p.Running, runningRow{
			textfmt.Share(x.Share),
			rangeText(textfmt.Share(x.Low), textfmt.Share(x.High)), textfmt.Count(float64(x.Count)), where,
		})
	}
	p.Stalled = len(r.Machine.Spans) > 0
	p.Overview, p.Requests = overview(r), slowRequests(r)
}

func newBandBar(b *reqtrace.Band) bandBar {
	bar := bandBar{
		Name: b.Name, Requests: textfmt.Count(float64(b.Requests)), Mean: textfmt.Duration(b.Mean),
		Range: rangeText(textfmt.Duration(b.Min), textfmt.Duration(b.Max)),
	}
	at := 0.
	var desc []string
	for _, c := range verdict.Causes(minPart, b.Parts) {
		share := b.Parts.Share(c)
		tip := fmt.Sprintf("%s: %s of %s (%s)", verdict.Phrase(c), textfmt.Duration(b.Parts.Of(c)),
			textfmt.Duration(b.Mean), textfmt.Percent(share*100))
		bar.Bar = append(bar.Bar, barPart{causeClass(c), thousandths(at), thousandths(share), b.Name + ", " + tip})
		desc = append(desc, tip)
		at += share
	}
	bar.Desc = b.Name + ": " + strings.Join(desc, "; ")
	return bar
}

func thousandths(frac float64) string { return chart.LabelNumber(math.Round(frac*1e4) / 10) }

func ccdfData(r *reqtrace.Report) *pageData {
	lo, hi := time.Duration(math.MaxInt64), time.Duration(1)
	col := pageColumn{Label: "requests", Count: int64(r.Requests)}
	for _, q := range r.CCDF {
		lo, hi = min(lo, max(q.Time, 1)), max(hi, q.Time)
		col.CCDF.X = append(col.CCDF.X, chart.Significant(float64(q.Time)/microsecond, 4))
		col.CCDF.Share = append(col.CCDF.Share, chart.Significant(1-q.Q, 4))
	}
	lo = min(lo, hi)
	a := chart.LogAxis(float64(lo)/microsecond, float64(hi)/microsecond)
	return &pageData{
		Latency: pageRange{a.Lo, a.Hi}, Columns: []pageColumn{col},
		Floor: leastShare(int64(r.Requests)),
	}
}

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

// The longest sideBar has the whole width.
type sideBar struct {
	Name, Mean, Desc string
	Bar              []barPart
}

// All changeRows of a table share an axis.
type changeRow struct {
	pageCause
	Where    string
	Named    bool
	Old, New string
	More     string
	Interval string
	All      string
	Zero     string // in thousandths of the axis, as the next three
	Low      string
	Width    string
	At       string
}

type changedClass struct {
	Class, Old, New, Time, Number string
}

// Change writes what differs between two versions as one page without other files.
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
