package chart

import (
	"math"
	"strconv"
)

// The units of a plot: wide enough to zoom into.
const (
	PlotWidth  = 10000
	PlotHeight = 1000
)

// Chart is one picture: axes in percent of the plot, and paths in its units, which the plot
// stretches to the size it has.
type Chart struct {
	ID, Kind, Group string
	Class           string
	Title, Desc     string
	YLabel, XLabel  string
	X, Y            []Tick
	Marks           []Tick
	Lines           []Line
	Height          string // in pixels; "": the style sheet's
	Message         string // in place of what there is not
}

// Line is one path.
type Line struct {
	Class     string
	Series    int
	D         string
	Transform string // "": none
}

// Path writes the path data of SVG in whole units and relative steps, which is short.
type Path struct {
	B    []byte
	x, y int
}

func (p *Path) String() string { return string(p.B) }

func (p *Path) Move(x, y int) {
	p.B = append(p.B, 'M')
	p.B = strconv.AppendInt(p.B, int64(x), 10)
	p.number(y)
	p.x, p.y = x, y
}

// Line draws to x, y. A line of no length is a dot.
func (p *Path) Line(x, y int) {
	dx, dy := x-p.x, y-p.y
	switch {
	case dy == 0:
		p.B = append(p.B, 'h')
		p.B = strconv.AppendInt(p.B, int64(dx), 10)
	case dx == 0:
		p.B = append(p.B, 'v')
		p.B = strconv.AppendInt(p.B, int64(dy), 10)
	default:
		p.B = append(p.B, 'l')
		p.B = strconv.AppendInt(p.B, int64(dx), 10)
		p.number(dy)
	}
	p.x, p.y = x, y
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

func (p *Path) Box(x, y, width, height int) {
	p.Move(x, y)
	p.Line(x+width, y)
	p.Line(x+width, y+height)
	p.Line(x, y+height)
	p.Close()
}

func (p *Path) Close() { p.B = append(p.B, 'z') }

// number appends a number after another: a minus sign parts them too.
func (p *Path) number(n int) {
	if n >= 0 {
		p.B = append(p.B, ' ')
	}
	p.B = strconv.AppendInt(p.B, int64(n), 10)
}

func PlotX(frac float64) int { return int(math.Round(frac * PlotWidth)) }
func PlotY(frac float64) int { return int(math.Round((1 - frac) * PlotHeight)) }
