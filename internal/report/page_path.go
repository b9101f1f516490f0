package report

import (
	"math"
	"strconv"
)

// The units of a plot: wide enough to zoom into.
const (
	plotWidth  = 10000
	plotHeight = 1000
)

// chart is one picture: axes in percent of the plot, and paths in its units, which the plot
// stretches to the size it has.
type chart struct {
	ID, Kind, Group string
	Class           string
	Title, Desc     string
	YLabel, XLabel  string
	X, Y            []tick
	Percentiles     []tick
	Lines           []line
	Height          string // in pixels; "": the style sheet's
	Message         string // in place of what there is not
}

// line is one path.
type line struct {
	Class     string
	Variant   int
	D         string
	Transform string // "": none
}

// path writes the path data of SVG in whole units and relative steps, which is short.
type path struct {
	b    []byte
	x, y int
}

func (p *path) String() string { return string(p.b) }

func (p *path) move(x, y int) {
	p.b = append(p.b, 'M')
	p.b = strconv.AppendInt(p.b, int64(x), 10)
	p.number(y)
	p.x, p.y = x, y
}

// line draws to x, y. A line of no length is a dot.
func (p *path) line(x, y int) {
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

// step draws to x and then to y.
func (p *path) step(x, y int) {
	if x != p.x {
		p.line(x, p.y)
	}
	if y != p.y {
		p.line(x, y)
	}
}

// rect draws a rectangle from the plot's top.
func (p *path) rect(x, width, height int) { p.box(x, 0, width, height) }

func (p *path) box(x, y, width, height int) {
	p.move(x, y)
	p.line(x+width, y)
	p.line(x+width, y+height)
	p.line(x, y+height)
	p.close()
}

func (p *path) close() { p.b = append(p.b, 'z') }

// number appends a number after another: a minus sign parts them too.
func (p *path) number(n int) {
	if n >= 0 {
		p.b = append(p.b, ' ')
	}
	p.b = strconv.AppendInt(p.b, int64(n), 10)
}

func plotX(frac float64) int { return int(math.Round(frac * plotWidth)) }
func plotY(frac float64) int { return int(math.Round((1 - frac) * plotHeight)) }
