// Package chart draws data as inline SVG.
package chart

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// Plots have so many units, so that you can zoom.
const (
	PlotWidth  = 10000
	PlotHeight = 1000
)

// Chart is one picture. Axes are in percent of the plot, and paths in its units.
type Chart struct {
	ID          string
	Kind, Group string // data-kind and data-group
	Class       string
	Title, Desc string
	YLabel      string
	XLabel      string
	X, Y        []Tick
	Marks       []Tick // lines across the plot, labelled on the right
	Lines       []Line
	Height      string // in pixels; "": the style sheet's
	Message     string
}

type Line struct {
	Class     string
	Series    int    // data-v
	D         string // as [Path] writes it
	Transform string
}

// The first comment of Style says what a page defines.
//
//go:embed chart.css
var Style string

// Theme begins all pages, before Style.
//
//go:embed theme.css
var Theme string

// CauseStyle has the colour --k of each cause, of the class "k" and its number.
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

func (c Chart) HTML() (template.HTML, error) {
	var b strings.Builder
	err := markup.Execute(&b, &c)
	return template.HTML(b.String()), err
}

type Path struct {
	b    []byte
	x, y int
}

func (p *Path) String() string { return string(p.b) }

// Move goes to x, y without drawing.
func (p *Path) Move(x, y int) {
	p.b = fmt.Appendf(p.b, "M%d% d", x, y) // a minus sign separates a second number too
	p.x, p.y = x, y
}

// Line draws to x, y. A line of no length is a dot.
func (p *Path) Line(x, y int) {
	dx, dy := x-p.x, y-p.y
	switch {
	case dy == 0:
		p.b = fmt.Appendf(p.b, "h%d", dx)
	case dx == 0:
		p.b = fmt.Appendf(p.b, "v%d", dy)
	default:
		p.b = fmt.Appendf(p.b, "l%d% d", dx, dy)
	}
	p.x, p.y = x, y
}

func (p *Path) Step(x, y int) {
	if x != p.x {
		p.Line(x, p.y)
	}
	if y != p.y {
		p.Line(x, y)
	}
}

func (p *Path) Rect(x, width, height int) { p.Box(x, 0, width, height) }

func (p *Path) Box(x, y, width, height int) {
	p.Move(x, y)
	p.Line(x+width, y)
	p.Line(x+width, y+height)
	p.Line(x, y+height)
	p.Close()
}

func (p *Path) Close() { p.b = append(p.b, 'z') }

// PlotX returns the x at a fraction from the left.
func PlotX(frac float64) int { return int(math.Round(frac * PlotWidth)) }

// PlotY returns the y at a fraction from the bottom.
func PlotY(frac float64) int { return int(math.Round((1 - frac) * PlotHeight)) }

// Axis maps values to a fraction of a plot.
type Axis struct {
	Lo, Hi float64
	Log    bool
}

// Frac returns 0 at Lo to 1 at Hi.
func (a Axis) Frac(v float64) float64 {
	lo, hi := a.Lo, a.Hi
	if a.Log {
		if v <= 0 {
			return 0
		}
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	return min(max((v-lo)/(hi-lo), 0), 1)
}

type Tick struct {
	At    float64 // percent from the plot's left or top
	Label string
	Minor bool // left out first if there is no room
}

func PercentAt(frac float64) float64 { return math.Round(frac*1e4) / 100 }

// XTicks places values on an axis to the right.
func (a Axis) XTicks(values []float64, label func(float64) string) []Tick {
	return a.ticks(values, label, func(f float64) float64 { return f })
}

func (a Axis) YTicks(values []float64, label func(float64) string) []Tick {
	return a.ticks(values, label, func(f float64) float64 { return 1 - f })
}

func (a Axis) ticks(values []float64, label func(float64) string, turn func(float64) float64) []Tick {
	ts := make([]Tick, len(values))
	for i, v := range values {
		ts[i] = Tick{At: PercentAt(turn(a.Frac(v))), Label: label(v), Minor: a.Log && !powerOfTen(v)}
	}
	return ts
}

// Series125 returns ..., 1, 2, 5, 10, 20, ... Index 0 is 1.
func Series125(i int) float64 {
	decade := int(math.Floor(float64(i) / 3))
	m := [3]float64{1, 2, 5}[i-3*decade]
	if decade < 0 {
		return m / math.Pow10(-decade)
	}
	return m * math.Pow10(decade)
}

// Index125 returns the index of the largest number up to v > 0.
func Index125(v float64) int {
	const near = 1 - 1e-9
	i := 3 * int(math.Floor(math.Log10(v)))
	for Series125(i+1)*near <= v {
		i++
	}
	for Series125(i)*near > v {
		i--
	}
	return i
}

func powerOfTen(v float64) bool {
	i := Index125(v)
	return i%3 == 0 && math.Abs(Series125(i)/v-1) < 1e-6
}

// LogAxis has bounds of the 1-2-5 series, at least as wide as from 1 to 4.
func LogAxis(lo, hi float64) Axis {
	i, k := Index125(lo), Index125(hi)
	if Series125(k) < hi*(1-1e-9) {
		k++
	}
	for Series125(k)/Series125(i) < 4 {
		i--
		k++
	}
	return Axis{Lo: Series125(i), Hi: Series125(k), Log: true}
}

// LogTicks returns the numbers of the 1-2-5 series, or the powers of ten if these are more than
// most.
func LogTicks(lo, hi float64, most int) []float64 {
	var all, tens []float64
	for i := Index125(lo); Series125(i) <= hi*(1+1e-9); i++ {
		v := Series125(i)
		if v < lo*(1-1e-9) {
			continue
		}
		all = append(all, v)
		if i%3 == 0 {
			tens = append(tens, v)
		}
	}
	if len(all) > most && len(tens) > 1 {
		return tens
	}
	return all
}

// LinearTicks returns the multiples of step from lo to hi.
func LinearTicks(lo, hi, step float64) []float64 {
	var ts []float64
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi+step*1e-9; i++ { // + 0 avoids -0
		ts = append(ts, i*step)
	}
	return ts
}

// timeSteps are those above 5 seconds.
var timeSteps = []float64{10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200}

// TimeStep returns the smallest round step, in seconds, that divides span into at most n.
func TimeStep(span float64, n int) float64 {
	least := span / float64(n)
	if least <= 5 {
		return RoundStep(span, n)
	}
	for _, s := range timeSteps {
		if s >= least*(1-1e-9) {
			return s
		}
	}
	return math.Ceil(least/86400) * 86400
}

// RoundStep is TimeStep for the 1-2-5 series.
func RoundStep(span float64, n int) float64 {
	i := Index125(span / float64(n))
	for Series125(i)*float64(n) < span*(1-1e-9) {
		i++
	}
	return Series125(i)
}

// LabelTime writes seconds on a time line.
func LabelTime(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < .9999:
		return LabelNumber(s*1e3) + " ms"
	case s < 119.99:
		return LabelNumber(s) + " s"
	}
	return (time.Duration(math.Round(s)) * time.Second).String()
}

func LabelPercent(share float64) string { return LabelNumber(share*100) + "%" }

// LabelNumber writes at most six digits.
func LabelNumber(x float64) string { return strconv.FormatFloat(Significant(x, 6), 'f', -1, 64) }

func Significant(x float64, n int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', n, 64), 64)
	return r
}
