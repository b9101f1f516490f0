package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

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

	Verdict  *verdict.Verdict
	Source   string
	Legend   []reqtrace.Cause
	Bands    []bandBar
	CCDF     chart.Chart
	Overview chart.Chart
	Requests []slowRequest
}

type bandBar struct {
	*reqtrace.Band

	Bar  []barPart
	Desc string
}

type barPart struct {
	Class    string
	X, Width string
	Tip      string
}

// Explain writes a verdict and its evidence as one page without other files.
func Explain(w io.Writer, source string, v *verdict.Verdict) error {
	r := v.Report()
	p := explainPage{
		shell: newShell(style+explainStyle, explainScript, []byte("null")), Verdict: v, Source: source,
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
	all := []reqtrace.Parts{r.Median.Parts, r.Tail.Parts}
	for i := range r.Bands {
		all = append(all, r.Bands[i].Parts)
		p.Bands = append(p.Bands, newBandBar(&r.Bands[i], 1))
	}
	for i := range r.Slowest {
		all = append(all, r.Slowest[i].Parts)
	}
	p.Legend = verdict.Causes(minPart, all...)
	p.Overview, p.Requests = overview(r), slowRequests(r)
}

// length is the bar's, as a share of the width.
func newBandBar(b *reqtrace.Band, length float64) bandBar {
	bar := bandBar{Band: b}
	at := 0.
	var desc []string
	for _, c := range verdict.Causes(minPart, b.Parts) {
		share := b.Parts.Share(c)
		tip := fmt.Sprintf("%s: %s of %s (%s)", verdict.Phrase(c), textfmt.Duration(b.Parts.Of(c)),
			textfmt.Duration(b.Mean), textfmt.Percent(share*100))
		width := share * length
		bar.Bar = append(bar.Bar, barPart{causeClass(c), thousandths(at), thousandths(width), b.Name + ", " + tip})
		desc = append(desc, tip)
		at += width
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

	Change *verdict.Change
	Legend []reqtrace.Cause
	Sides  []bandBar
	Causes []changeRow
	Places []changeRow
}

// All changeRows of a table share an axis.
type changeRow struct {
	verdict.CauseChange

	Where                string // "": of a cause
	Zero, Low, Width, At string // in thousandths of the axis
}

// Change writes what differs between two versions as one page without other files.
func Change(w io.Writer, c *verdict.Change) error {
	p := explainChangePage{
		shell:  newShell(style+explainStyle+explainChangeStyle, explainScript, []byte("null")),
		Change: c, Legend: verdict.Causes(minPart, c.Old.Slow, c.New.Slow),
	}
	p.Sides = sideBars(c)
	p.Causes = changeRows(c.ByCause, false)
	p.Places = changeRows(c.Rows, true)
	return explainChangeTmpl.Execute(w, &p)
}

// The longer bar has the whole width.
func sideBars(c *verdict.Change) (bars []bandBar) {
	longest := max(c.Old.Slow.Total(), c.New.Slow.Total(), 1)
	for _, s := range []*verdict.Side{&c.Old, &c.New} {
		band := &reqtrace.Band{Name: "slowest 1% of " + s.Name, Mean: s.Slow.Total(), Parts: s.Slow}
		bars = append(bars, newBandBar(band, float64(band.Mean)/float64(longest)))
	}
	return bars
}

func changeRows(list []verdict.CauseChange, places bool) (rows []changeRow) {
	const most = 24
	lo, hi := time.Duration(0), time.Duration(1)
	for _, x := range list {
		if len(rows) < most && (!places || x.Function != "") && x.Slow.More != 0 {
			rows = append(rows, changeRow{CauseChange: x})
			lo, hi = min(lo, x.Slow.Low), max(hi, x.Slow.High)
		}
	}
	at := func(d time.Duration) float64 { return float64(d-lo) / float64(hi-lo) }
	for i := range rows {
		r := &rows[i]
		d := &r.Slow
		r.Zero, r.Low, r.Width = thousandths(at(0)), thousandths(at(d.Low)), thousandths(at(d.High)-at(d.Low))
		r.At = thousandths(at(d.More))
		if places {
			r.Where = r.Words()
		}
	}
	return rows
}
