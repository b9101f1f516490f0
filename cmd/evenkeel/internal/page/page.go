// Package page writes pages that load nothing. [Compare] has runs, [Explain] the verdict on a
// trace, and [Change] the difference between versions.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace"
)

var (
	//go:embed page.css
	ownStyle string
	//go:embed page.html.tmpl
	sharedTemplate string
)

var style = chart.Theme + chart.Style + ownStyle

type pageFigure struct{ Name, Value, Ratio string }

type shell struct {
	CSP    string // allows the style and the script by their hashes
	Style  template.CSS
	Script template.JS
	Data   template.JS
}

func newShell(style, script string, data []byte) shell {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	csp := fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
	return shell{csp, template.CSS(style), template.JS(script), template.JS(data)}
}

func newTemplate(text string) *template.Template {
	shared := template.Must(template.New("shared").Funcs(words).Parse(sharedTemplate))
	return template.Must(shared.New("page").Parse(text))
}

var words = template.FuncMap{
	"cause":    newPageCause,
	"cell":     newPageCell,
	"classes":  func() []string { return compare.ClassColumns },
	"count":    func(n int) string { return textfmt.Count(float64(n)) },
	"duration": textfmt.Duration,
	"interval": rangeText,
	"join":     strings.Join,
	"limits":   func() []string { return verdict.Limits },
	"part":     partTitle,
	"percent":  func(share float64) string { return chart.LabelNumber(chart.Significant(share*100, 3)) },
	"share":    textfmt.Share,
	"signed":   textfmt.SignedDuration,
	"tool":     runfile.Tool,
	"where":    func(b reqtrace.Blame) string { return verdict.Where(&b) },
}

type pageCause struct {
	Class string
	Name  string // as in JSON and -fail-if
	Text  string
}

func newPageCause(c reqtrace.Cause) pageCause {
	return pageCause{causeClass(c), c.String(), verdict.Phrase(c)}
}

// causeClass is of [chart.CauseStyle].
func causeClass(c reqtrace.Cause) string { return fmt.Sprintf("k%d", c) }

// drawn leaves out lines that show nothing.
func drawn(lines ...chart.Line) []chart.Line {
	return slices.DeleteFunc(lines, func(l chart.Line) bool { return l.D == "" })
}

type pageVariant struct {
	Index   int
	Class   string
	Label   string
	Figures []pageFigure
}

func pageVariants(c *compare.Comparison) []pageVariant {
	vs := make([]pageVariant, len(c.Columns))
	for i, col := range c.Columns {
		vs[i] = pageVariant{Index: i, Class: variantClass(i), Label: col.Label}
		for _, name := range []string{"p99", "time in GC"} {
			if r := c.Row(name); r != nil && r.Cells[i].Known {
				f := pageFigure{name, r.Format(r.Cells[i].Median), compare.Ratio(r.Results[i])}
				vs[i].Figures = append(vs[i].Figures, f)
			}
		}
	}
	return vs
}

// page.css has eight.
func variantClass(column int) string { return fmt.Sprintf("v%d", column%8) }

var (
	//go:embed compare.html.tmpl
	compareTemplate string
	//go:embed compare.js
	compareScript string

	compareTmpl = newTemplate(compareTemplate)
)

const headlineRunes = 100

type page struct {
	shell
	*compare.Comparison

	Variants []pageVariant
	Forest   *chart.Chart
	CCDF     chart.Chart
	Panels   []panel
	HasLanes bool
	States   []pageState
	LaneNote []string
	Setup    pageSetup
}

// Compare writes the table and the charts as one page without other files. It needs no script.
func Compare(w io.Writer, c *compare.Comparison) error {
	d := newPageData(c)
	data, err := json.Marshal(d) // escapes <, > and &, so no label ends the script
	if err != nil {
		return fmt.Errorf("data of the page: %w", err)
	}
	p := page{
		shell:      newShell(style, compareScript, data),
		Comparison: c,
		Variants:   pageVariants(c),
		Forest:     forest(c),
		CCDF:       ccdfChart(d),
		Panels:     panels(c, d),
		HasLanes:   d.hasLanes(),
		States:     d.States,
		LaneNote:   d.laneNotes,
		Setup:      setupOf(c),
	}
	return compareTmpl.Execute(w, &p)
}

// Count returns "4 variants, 3 repeats", say.
func (p *page) Count() string {
	repeats := textfmt.Plural(p.Repeats(), "repeat")
	if slices.ContainsFunc(p.Columns, func(col compare.Column) bool { return len(col.Runs) != p.Repeats() }) {
		repeats = "up to " + repeats
	}
	return textfmt.Plural(len(p.Columns), "variant") + ", " + repeats
}

// Names returns "" if they are too long for a headline.
func (p *page) Names() string {
	var labels []string
	for _, col := range p.Columns {
		labels = append(labels, col.Label)
	}
	if t := strings.Join(labels, ", "); utf8.RuneCountInString(t) <= headlineRunes {
		return t
	}
	return ""
}

func (p *page) HasGC() bool {
	return slices.ContainsFunc(p.Columns, func(col compare.Column) bool { return col.Median().GC != nil })
}

func (p *page) Footnote() []string {
	list := p.Footnotes()
	if p.Repeats() > 1 {
		list[0] += "; below it the least and the greatest"
	}
	return list
}

func newPageData(c *compare.Comparison) *pageData {
	d := &pageData{Columns: make([]pageColumn, len(c.Columns))}
	merged := make([]loadgen.Histogram, len(c.Columns))
	for i := range c.Columns {
		for _, r := range c.Columns[i].Runs {
			merged[i].Merge(&r.Load.Latency)
		}
		d.Columns[i].Label = c.Columns[i].Label
		d.Columns[i].Count = merged[i].Count()
	}
	d.setLatencyAxes(merged)
	d.End = timeEnd(c)
	for i := range c.Columns {
		run := c.Columns[i].Median()
		col := &d.Columns[i]
		col.CCDF = d.newCCDF(&merged[i])
		col.Series = newPageSeries(&run.Load.Series)
	}
	d.addLanes(c)
	return d
}
