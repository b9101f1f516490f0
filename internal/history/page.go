package history

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

const pageCauses = 40

var (
	//go:embed page.css
	ownStyle string
	//go:embed page.html.tmpl
	pageSource string

	style = chart.Theme + chart.Style + chart.CauseStyle + ownStyle
	page  = template.Must(template.New("page").Funcs(words).Parse(pageSource))
)

var words = template.FuncMap{
	"cause":    causeClass,
	"class":    verdict.ClassText,
	"count":    func(n uint64) string { return textfmt.Count(float64(n)) },
	"duration": textfmt.Duration,
	"facts":    facts,
	"in":       func(s Summary) string { return strings.TrimPrefix(s.in(), ", in ") },
	"plural":   textfmt.Plural,
	"requests": func(n uint64) string { return textfmt.Plural(int(n), "request") },
	"share":    textfmt.Share,
	"width":    func(share float64) string { return chart.LabelNumber(chart.Significant(100*share, 3)) },
	"words":    Key.words,
}

// PageOptions configure [WritePage]. The zero value works.
type PageOptions struct {
	Title    string // Default: "", which is Slow requests
	Sentence string // Default: [History.Sentence]
	// zero: the time of the last slow request
	Now     time.Time
	Since   time.Time // of the causes; zero: all
	Status  []string
	Sources []string // what was merged, or why it was not

	// how many snapshots are not analysed, and what analyses them
	Kept    int
	Command string

	// the address of a snapshot, or ""; nil: there are none
	SnapshotURL func(snapshot string) string
}

type pageData struct {
	CSP   string
	Style template.CSS
	Title string
	Scope string
	PageOptions
	New     []Summary
	Band    chart.Chart
	Legend  []legendRow
	Builds  []string
	Causes  []Summary
	More    string
	Classes []classRow
}

type legendRow struct{ Class, Text string }

type fact struct{ Name, Value string }

type classRow struct {
	Name string
	Coverage
}

func (c classRow) Missed() uint64 { return c.Kept + c.Limited + c.Off + c.Failed + c.Cut }

// WritePage writes a history as one page without scripts, which loads nothing.
func WritePage(w io.Writer, h *History, o PageOptions) error {
	list := h.Summaries(o.Since)
	if o.Now.IsZero() {
		for i := range list {
			o.Now = later(o.Now, list[i].Last)
		}
	}
	o.Sentence = cmp.Or(o.Sentence, h.Sentence(o.Since))
	sum := sha256.Sum256([]byte(style))
	p := pageData{
		CSP: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'",
			base64.StdEncoding.EncodeToString(sum[:])),
		Style: template.CSS(style), Title: cmp.Or(o.Title, "Slow requests"),
		PageOptions: o,
	}
	p.Scope = h.Coverage(o.Since).String()
	if len(list) > 0 {
		b := h.band(o.Since, o.Now)
		p.Scope = fmt.Sprintf("From %s to %s: %s.", clock(time.Unix(b.from, 0), o.Now),
			clock(o.Now, o.Now)+o.Now.Format(" MST"), p.Scope)
		p.Band, p.Legend = b.chart(h, o.Now), b.legend()
	}
	p.Builds = h.buildNames()
	p.New = slices.DeleteFunc(slices.Clone(list), func(s Summary) bool { return !s.New })
	p.Causes = list[:min(len(list), pageCauses)]
	if len(list) > pageCauses {
		n := uint64(0)
		for _, s := range list[pageCauses:] {
			n += s.Requests
		}
		p.More = fmt.Sprintf("And %s, which made %s requests slow.", textfmt.Plural(len(list)-pageCauses, "more cause"),
			textfmt.Count(float64(n)))
	}
	p.Classes = classRows(h, o.Since)
	return page.Execute(w, &p)
}

// URL returns the address of a snapshot, or "".
func (p *pageData) URL(snapshot string) string {
	if snapshot == "" || p.SnapshotURL == nil {
		return ""
	}
	return p.SnapshotURL(snapshot)
}

func (p *pageData) Clock(t time.Time) string { return clock(t, p.Now) }

func (p *pageData) Second(t time.Time) string {
	return p.Clock(t) + t.In(p.Now.Location()).Format(":05")
}

// LastBuild is only of a history with builds.
func (p *pageData) LastBuild() string { return p.Builds[len(p.Builds)-1] }

// clock writes a time as briefly as it is clear next to now.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

func causeClass(c reqtrace.Cause) string { return fmt.Sprintf("k%d", c) }

func facts(w Request) (list []fact) {
	for _, f := range []fact{
		{"in a line", w.Breakdown},
		{"lost", textfmt.Duration(w.Lost)},
		{"build", w.Build},
		{"trace id", w.TraceID},
		{"mark", w.Mark},
	} {
		if f.Value != "" {
			list = append(list, fact{f.Name, textfmt.Printable(f.Value)})
		}
	}
	return list
}

func classRows(h *History, since time.Time) (rows []classRow) {
	all := h.CoverageByClass(since)
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		x, y := all[a], all[b]
		return cmp.Or(cmp.Compare(max(y.Slow, y.Seen), max(x.Slow, x.Seen)), strings.Compare(a, b))
	})
	for _, name := range names[:min(len(names), pageCauses)] {
		rows = append(rows, classRow{name, all[name]})
	}
	return rows
}

func (b *band) chart(h *History, now time.Time) chart.Chart {
	most := uint64(1)
	for _, bin := range b.bins {
		most = max(most, sumOf(bin))
	}
	step := max(chart.RoundStep(float64(most), 4), 1)
	x := chart.Axis{Hi: float64(int64(len(b.bins)) * b.width)}
	y := chart.Axis{Hi: step * math.Ceil(float64(most)/step)}
	c := chart.Chart{
		ID: "over-time", Class: "band", Title: "Slow requests over time, by cause", YLabel: "slow requests in " +
			widthText(b.width),
		Desc: fmt.Sprintf("%s at most in %s.", textfmt.Plural(int(most), "request"), widthText(b.width)),
		Y:    y.YTicks(chart.LinearTicks(0, y.Hi, step), chart.LabelNumber), X: b.xTicks(x, now),
	}
	paths := make([]chart.Path, len(b.bins[0]))
	for i, bin := range b.bins {
		left, right := chart.PlotX(float64(i)/float64(len(b.bins))), chart.PlotX(float64(i+1)/float64(len(b.bins)))
		gap := (right - left) / 10
		below := uint64(0)
		for _, cause := range verdict.Causes(0) {
			n := bin[cause]
			if n == 0 {
				continue
			}
			bottom, top := chart.PlotY(y.Frac(float64(below))), chart.PlotY(y.Frac(float64(below+n)))
			below += n
			paths[cause].Box(left+gap, top, max(right-left-2*gap, 1), max(bottom-top, 1))
		}
	}
	for _, cause := range verdict.Causes(0) {
		if d := paths[cause].String(); d != "" {
			c.Lines = append(c.Lines, chart.Line{Class: "k " + causeClass(cause), D: d})
		}
	}
	var builds chart.Path
	for i, build := range h.buildNames() {
		if at := x.Frac(float64(h.builds[build].First.Unix() - b.from)); i > 0 && at > 0 && at < 1 {
			builds.Rect(chart.PlotX(at), 1, chart.PlotHeight)
		}
	}
	if d := builds.String(); d != "" {
		c.Lines = append(c.Lines, chart.Line{Class: "build", D: d})
	}
	return c
}

func (b *band) xTicks(x chart.Axis, now time.Time) (ticks []chart.Tick) {
	step := chart.TimeStep(max(x.Hi, 360), 6) // no less than a minute
	_, zone := now.Zone()
	from := float64(b.from + int64(zone)) // or days would begin at the zone's noon
	for _, at := range chart.LinearTicks(from, from+x.Hi, step) {
		t := time.Unix(b.from+int64(at-from), 0).In(now.Location())
		text := clock(t, now)
		if step >= 24*3600 {
			text = t.Format("2 Jan")
		}
		ticks = append(ticks, chart.Tick{
			At: chart.PercentAt(x.Frac(at - from)), Label: text, Minor: len(ticks)%2 == 1,
		})
	}
	return ticks
}

func (b *band) legend() (rows []legendRow) {
	for _, cause := range verdict.Causes(0) {
		n := uint64(0)
		for _, bin := range b.bins {
			n += bin[cause]
		}
		if n > 0 {
			rows = append(rows, legendRow{causeClass(cause), fmt.Sprintf("%s (%s)", verdict.Phrase(cause),
				textfmt.Count(float64(n)))})
		}
	}
	return rows
}

func sumOf(bin []uint64) (n uint64) {
	for _, x := range bin {
		n += x
	}
	return n
}

func widthText(seconds int64) string {
	switch {
	case seconds == 60:
		return "a minute"
	case seconds < 3600:
		return fmt.Sprintf("%d minutes", seconds/60)
	case seconds == 3600:
		return "an hour"
	}
	return fmt.Sprintf("%d hours", seconds/3600)
}

const maxBins = 96

// band is how many requests each cause made slow, over time. It has seconds since 1970, because a
// wrong clock may put requests further apart than a Duration is long.
type band struct {
	from, width int64
	bins        [][]uint64 // by time, then by cause
}

func (h *History) band(since, to time.Time) band {
	end := to.Unix()
	from := end
	h.requests(since, func(at int64, _ reqtrace.Cause, _ uint64) { from = min(from, at) })
	b := band{width: int64(chart.TimeStep(float64(max(end-from, maxBins*60)), maxBins))}
	b.from = floor(from, b.width)
	for at := b.from; at < end || len(b.bins) == 0; at += b.width {
		b.bins = append(b.bins, make([]uint64, len(reqtrace.Causes())))
	}
	h.requests(since, func(at int64, c reqtrace.Cause, n uint64) {
		i := min((at-b.from)/b.width, int64(len(b.bins)-1)) // a clock that went back puts some after the end
		b.bins[i][c] += n
	})
	return b
}

func floor(t, step int64) int64 { return t - ((t%step)+step)%step }

func (h *History) requests(since time.Time, f func(at int64, c reqtrace.Cause, n uint64)) {
	for at, x := range h.hours {
		for k, c := range x.cells {
			for minute, m := range c.Minutes {
				if within(at, minute, since) {
					f(at*3600+60*int64(minute), k.Cause, m.Requests)
				}
			}
		}
	}
}
