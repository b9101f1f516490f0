package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

var (
	//go:embed compare.html.tmpl
	compareTemplate string
	//go:embed compare.js
	compareScript string

	compareTmpl = newTemplate(compareTemplate)
)

// headlineRunes is how long the names of the variants may be in the headline.
const headlineRunes = 100

type page struct {
	shell

	Count    string // "4 variants, 3 repeats"
	Names    string // "" if too long for a headline
	Variants []pageVariant
	Notes    []string
	Table    pageTable
	Classes  []pageClasses
	Changes  *changes // nil if no figure is judged
	CCDF     chart.Chart
	Hist     chart.Chart
	Panels   []panel
	HasGC    bool
	HasLanes bool
	States   []pageState // of the lanes
	LaneNote []string
	Setup    pageSetup
	Machines []runfile.Machine
	Tool     string
}

// Compare writes the table and the charts as one page without other files. Without its script it
// shows the same charts.
func Compare(w io.Writer, c *compare.Comparison) error {
	d := newPageData(c)
	data, err := json.Marshal(d) // escapes <, > and &, so no label ends the script element
	if err != nil {
		return fmt.Errorf("data of the page: %w", err)
	}
	p := page{
		shell:    newShell(style, compareScript, data),
		Count:    countText(c),
		Names:    namesText(c),
		Variants: pageVariants(c),
		Notes:    c.Notes,
		Table:    tableOf(c),
		Classes:  classesOf(c),
		Changes:  changesOf(c),
		CCDF:     ccdfChart(d),
		Hist:     histChart(d),
		Panels:   panels(c, d),
		HasGC:    hasGC(c),
		HasLanes: d.hasLanes(),
		States:   d.States,
		LaneNote: d.laneNotes,
		Setup:    setupOf(c),
		Machines: c.Machines,
		Tool:     strings.Join(c.Tools, ", "),
	}
	return compareTmpl.Execute(w, &p)
}

func countText(c *compare.Comparison) string {
	repeats := textfmt.Plural(c.Repeats(), "repeat")
	if slices.ContainsFunc(c.Columns, func(col compare.Column) bool { return len(col.Runs) != c.Repeats() }) {
		repeats = "up to " + repeats
	}
	return textfmt.Plural(len(c.Columns), "variant") + ", " + repeats
}

func namesText(c *compare.Comparison) string {
	var labels []string
	for _, col := range c.Columns {
		labels = append(labels, col.Label)
	}
	if t := strings.Join(labels, ", "); utf8.RuneCountInString(t) <= headlineRunes {
		return t
	}
	return ""
}

func newPageData(c *compare.Comparison) *pageData {
	d := &pageData{Columns: make([]pageColumn, len(c.Columns))}
	merged := make([]loadgen.Histogram, len(c.Columns))
	for i := range c.Columns {
		for _, r := range c.Columns[i].Runs {
			if r.KnowsAll() {
				merged[i].Merge(&r.Load.Latency)
			} else if r.Load.Latency.Count() > 0 {
				d.partial = true
			}
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
		col.Hist = newPageHist(&merged[i], d.latencyAxis(), d.Bins)
		for _, s := range col.Hist {
			d.Top = max(d.Top, s)
		}
		col.Series = newPageSeries(&run.Load.Series)
		col.spans = mergeCollections(run.GC, d.End)
		col.GC = newPageGC(col.spans)
	}
	d.addLanes(c)
	return d
}
