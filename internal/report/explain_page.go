package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"evenkeel.dev/reqtrace"
)

var (
	//go:embed explain.html.tmpl
	explainTemplate string
	//go:embed explain.css
	explainStyle string
	//go:embed explain.js
	explainScript string

	explainTmpl = template.Must(template.Must(pageTmpl.Clone()).New("explain").Parse(explainTemplate))
)

// explainPage is what explain.html.tmpl shows.
type explainPage struct {
	CSP    string
	Style  template.CSS
	Script template.JS
	Data   template.JS // of the CCDF

	Verdict    Verdict
	Scope      string
	Source     string
	Headline   []pageFigure
	Legend     []pageCause
	Bands      []bandBar
	Causes     []causeRow
	CausesFoot string
	WhatIf     []whatIfRow
	GCNote     string
	CCDF       chart
	Overview   chart
	Requests   []slowRequest
	Sites      []siteRow
	Limits     []string
	Unknown    string
	Tool       string
}

// pageCause is an entry of the legend.
type pageCause struct {
	Class string // of its colour
	Name  string // as in JSON and -fail-if
	Text  string
}

type bandBar struct {
	Name, Requests, Mean, Range string
	Bar                         []barPart
	Desc                        string
}

// barPart is a piece of a bar, in thousandths of its width.
type barPart struct {
	Class    string
	X, Width string
	Tip      string
}

type causeRow struct {
	pageCause
	Median, Tail, More, Share string
	Width                     string // of its bar, in percent
}

type whatIfRow struct {
	Name   string
	Values [4]string
}

type siteRow struct {
	pageCause
	Site, Median, Tail, More string
}

// HTML writes the report as one page that needs nothing but itself, as [Comparison.HTML] does.
func (x *Explanation) HTML(w io.Writer) error {
	r := x.Report
	style := pageStyle + explainStyle
	p := explainPage{
		CSP: contentSecurityPolicy(style, explainScript), Style: template.CSS(style), Script: template.JS(explainScript),
		Data: "null", Verdict: x.Verdict, Scope: x.scope(), Source: x.Source, Limits: Limits, Tool: Tool(),
	}
	if r.Requests > 0 {
		d := ccdfData(r)
		data, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("data of the page: %w", err)
		}
		p.Data, p.CCDF = template.JS(data), ccdfChart(d)
		p.CCDF.XLabel = "time in the server"
		x.fill(&p)
	}
	return explainTmpl.Execute(w, &p)
}

func (x *Explanation) fill(p *explainPage) {
	r, g := x.Report, &x.Verdict.GC
	p.Headline = []pageFigure{
		{"p99+, in the mean", FormatDuration(r.Tail.Mean), "median " + FormatDuration(r.Median.Mean)},
		{"the collector, direct", wholePercent(g.Direct), "of the excess"},
	}
	if g.Replayed {
		w, note := &r.WhatIf, "model error "+signedPercent(g.ModelError)
		if g.Trusted {
			note = "p99 " + FormatDuration(w.Forecast) + ", " + note
		}
		p.Headline = append(p.Headline, pageFigure{"the collector, what-if", wholePercent(g.WhatIf), note})
		for _, q := range []struct {
			name string
			of   *reqtrace.Quantiles
		}{{"measured", &w.Actual}, {"replayed", &w.Replayed}, {"replayed without the collector", &w.WithoutGC}} {
			p.WhatIf = append(p.WhatIf, whatIfRow{q.name, [4]string{
				FormatDuration(q.of.P50), FormatDuration(q.of.P90), FormatDuration(q.of.P99), FormatDuration(q.of.P999),
			}})
		}
	}
	p.Headline = append(p.Headline, pageFigure{"unknown", FormatPercent(100 * part(&r.Tail.Parts, reqtrace.CauseUnknown)), "of the time of p99+"})
	all := []*reqtrace.Parts{&r.Median.Parts, &r.Tail.Parts}
	for i := range r.Bands {
		all = append(all, &r.Bands[i].Parts)
		p.Bands = append(p.Bands, newBandBar(&r.Bands[i]))
	}
	for i := range r.Slowest {
		all = append(all, &r.Slowest[i].Parts)
	}
	for _, c := range present(leastPart, all...) {
		p.Legend = append(p.Legend, newPageCause(c))
	}
	p.causes(r)
	for _, m := range moreSites(r) {
		p.Sites = append(p.Sites, siteRow{newPageCause(m.Cause), siteText(m.Site), FormatDuration(m.Time - m.more), FormatDuration(m.Time), signedDuration(m.more)})
	}
	p.Overview, p.Requests = overview(r), slowRequests(r)
}

func (p *explainPage) causes(r *reqtrace.Report) {
	for _, c := range byExcess(r) {
		row := causeRow{
			pageCause: newPageCause(c), Median: FormatDuration(r.Median.Parts.Of(c)), Tail: FormatDuration(r.Tail.Parts.Of(c)),
			More: signedDuration(r.Tail.Excess.Of(c)),
		}
		if share := r.Tail.Share(c); share > 0 {
			row.Share, row.Width = wholePercent(share), labelNumber(significant(share*100, 3))
		}
		p.Causes = append(p.Causes, row)
	}
	p.CausesFoot = fmt.Sprintf("In all %s, the median %s: %s more. A share is of what is more; causes that take less than in the median have none.",
		FormatDuration(r.Tail.Mean), FormatDuration(r.Median.Mean), FormatDuration(r.Tail.Mean-r.Median.Mean))
}

func newPageCause(c reqtrace.Cause) pageCause {
	return pageCause{causeClass(c), c.String(), phrase(c)}
}

// causeClass names the colour of a cause in explain.css.
func causeClass(c reqtrace.Cause) string { return fmt.Sprintf("k%d", c) }

func newBandBar(b *reqtrace.Band) bandBar {
	bar := bandBar{Name: b.Name, Requests: FormatCount(float64(b.Requests)), Mean: FormatDuration(b.Mean), Range: rangeText(FormatDuration(b.Min), FormatDuration(b.Max))}
	total, at := float64(max(b.Parts.Total(), 1)), 0.
	var desc []string
	for _, c := range causeOrder {
		share := float64(b.Parts.Of(c)) / total
		if share < leastPart {
			continue
		}
		tip := fmt.Sprintf("%s: %s of %s (%s)", phrase(c), FormatDuration(b.Parts.Of(c)), FormatDuration(b.Mean), FormatPercent(share*100))
		bar.Bar = append(bar.Bar, barPart{causeClass(c), thousandths(at), thousandths(share), b.Name + ", " + tip})
		desc = append(desc, tip)
		at += share
	}
	bar.Desc = b.Name + ": " + strings.Join(desc, "; ")
	return bar
}

func thousandths(frac float64) string { return labelNumber(math.Round(frac*1e4) / 10) }

// ccdfData is the distribution as the comparison's page has it, of one column.
func ccdfData(r *reqtrace.Report) *pageData {
	lo, hi := time.Duration(math.MaxInt64), time.Duration(1)
	col := pageColumn{Label: "requests", Count: int64(r.Requests)}
	for _, q := range r.CCDF {
		lo, hi = min(lo, max(q.Time, 1)), max(hi, q.Time)
		col.CCDF.X = append(col.CCDF.X, significant(float64(q.Time)/microsecond, 4))
		col.CCDF.Share = append(col.CCDF.Share, significant(1-q.Q, 4))
	}
	lo = min(lo, hi)
	a := logAxis(float64(lo)/microsecond, float64(hi)/microsecond)
	return &pageData{
		Latency: pageRange{a.lo, a.hi}, Columns: []pageColumn{col},
		Floor: math.Pow10(-min(max(int(math.Ceil(math.Log10(float64(r.Requests))-1e-9)), 2), 5)),
	}
}
