// Package chart draws data as inline SVG, with axes, ticks and a plot that stretches.
package chart

import (
	_ "embed"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The units of a plot, fine enough to zoom.
const (
	PlotWidth  = 10000
	PlotHeight = 1000
)

// Chart is one picture. Axes are in percent of the plot, and paths in its units, which the plot
// stretches.
type Chart struct {
	ID          string // unique on the page
	Kind, Group string // data-kind and data-group for the script
	Class       string // for the style sheet
	Title, Desc string // for screen readers
	YLabel      string
	XLabel      string
	X, Y        []Tick
	Marks       []Tick // lines across the plot, with a label on the right
	Lines       []Line
	Height      string // in pixels; "": the style sheet's
	Message     string // if there is nothing to draw
}

// Line is one path.
type Line struct {
	Class     string
	Series    int    // data-v for the script
	D         string // as [Path] writes it
	Transform string // "": none
}

// Style is the style sheet of charts. Its first comment says what a page defines beside it.
//
//go:embed chart.css
var Style string

// Theme is the style sheet that all pages begin with: colours, text, tables and notes. It comes before Style.
//
//go:embed theme.css
var Theme string

// CauseStyle has the colour of each cause of package reqtrace: --k, of the class "k" and its number.
//
//go:embed causes.css
var CauseStyle string

var (
	//go:embed chart.html.tmpl
	source string

	markup = template.Must(template.New("chart").Funcs(template.FuncMap{
		"plotWidth": func() int { return PlotWidth }, "plotHeight": func() int { return PlotHeight },
	}).Parse(source))
)

// HTML returns the chart's markup.
func (c Chart) HTML() (template.HTML, error) {
	var b strings.Builder
	err := markup.Execute(&b, &c)
	return template.HTML(b.String()), err
}

// Path writes SVG path data in whole units and short relative steps.
type Path struct {
	b    []byte
	x, y int
}

// String returns what was drawn.
func (p *Path) String() string { return string(p.b) }

// Move goes to x, y without drawing.
func (p *Path) Move(x, y int) {
	p.b = append(p.b, 'M')
	p.b = strconv.AppendInt(p.b, int64(x), 10)
	p.number(y)
	p.x, p.y = x, y
}

// Line draws to x, y. A line of no length is a dot.
func (p *Path) Line(x, y int) {
	dx, dy := x-p.x, y-p.y
	switch {
	case dy == 0:
		p.b = append(p.b, 'h')
		p.b = strconv.AppendInt(p.b, int64(dx), 10)
	case dx == 0:
		p.b = append(p.b, 'v')
		p.b = strconv.AppendInt(p.b, int64(dy), 10)
	default:
		p.b = append(p.b, 'l')
		p.b = strconv.AppendInt(p.b, int64(dx), 10)
		p.number(dy)
	}
	p.x, p.y = x, y
}

// To draws to x, y, or moves there if nothing was drawn yet.
func (p *Path) To(x, y int) {
	if len(p.b) == 0 {
		p.Move(x, y)
		return
	}
	p.Line(x, y)
}

// Step draws to x and then to y.
func (p *Path) Step(x, y int) {
	if x != p.x {
		p.Line(x, p.y)
	}
	if y != p.y {
		p.Line(x, y)
	}
}

// Rect draws a rectangle from the plot's top.
func (p *Path) Rect(x, width, height int) { p.Box(x, 0, width, height) }

// Box draws a rectangle.
func (p *Path) Box(x, y, width, height int) {
	p.Move(x, y)
	p.Line(x+width, y)
	p.Line(x+width, y+height)
	p.Line(x, y+height)
	p.Close()
}

// Close draws back to where Move went.
func (p *Path) Close() { p.b = append(p.b, 'z') }

// number appends a second number. A minus sign separates it too.
func (p *Path) number(n int) {
	if n >= 0 {
		p.b = append(p.b, ' ')
	}
	p.b = strconv.AppendInt(p.b, int64(n), 10)
}

// PlotX returns the x at a fraction from the plot's left.
func PlotX(frac float64) int { return int(math.Round(frac * PlotWidth)) }

// PlotY returns the y at a fraction from the plot's bottom.
func PlotY(frac float64) int { return int(math.Round((1 - frac) * PlotHeight)) }
