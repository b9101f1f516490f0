// Package page writes pages that load nothing: [Compare] for runs side by side, [Explain] for the
// verdict on a trace, and [Change] for what differs between two versions.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

var (
	//go:embed page.css
	ownStyle string
	//go:embed page.html.tmpl
	sharedTemplate string
)

// style is common to all pages.
var style = chart.Theme + chart.Style + ownStyle

type pageFigure struct{ Name, Value, Ratio string }

// shell is what page.html.tmpl shows around a page's own content.
type shell struct {
	CSP    string // allows only the style and the script, by their hashes
	Style  template.CSS
	Script template.JS
	Data   template.JS // of the script
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

// newTemplate parses a page's template next to the shared one.
func newTemplate(text string) *template.Template {
	return template.Must(template.Must(template.New("shared").Parse(sharedTemplate)).New("page").Parse(text))
}

// pageCause is an entry of the legend.
type pageCause struct {
	Class string // of its colour
	Name  string // as in JSON and -fail-if
	Text  string
}

type siteRow struct {
	pageCause
	Site, Median, Tail, More string
}

func newPageCause(c reqtrace.Cause) pageCause {
	return pageCause{causeClass(c), c.String(), verdict.Phrase(c)}
}

// causeClass names a colour of [chart.CauseStyle].
func causeClass(c reqtrace.Cause) string { return fmt.Sprintf("k%d", c) }

// pageVariant is a column in the legend and among the headline figures.
type pageVariant struct {
	Index   int
	Class   string // of its colour and dash
	Label   string
	Figures []pageFigure
}

func pageVariants(c *compare.Comparison) []pageVariant {
	vs := make([]pageVariant, len(c.Columns))
	for i, col := range c.Columns {
		vs[i] = pageVariant{Index: i, Class: variantClass(i), Label: col.Label}
		for k := range c.Rows {
			r := &c.Rows[k]
			if r.Name != "p99" && r.Name != "time in GC" || !r.Cells[i].Known {
				continue
			}
			f := pageFigure{Name: r.Name, Value: r.Format(r.Cells[i].Median)}
			f.Ratio = compare.Ratio(r.Result(i))
			vs[i].Figures = append(vs[i].Figures, f)
		}
		slices.Reverse(vs[i].Figures) // p99 first
	}
	return vs
}

func hasGC(c *compare.Comparison) bool {
	return slices.ContainsFunc(c.Columns, func(col compare.Column) bool { return col.Median().GC != nil })
}

// variantClass names the colour and dash of a column. page.css has eight.
func variantClass(column int) string { return fmt.Sprintf("v%d", column%8) }
