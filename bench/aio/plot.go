package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// looks of the servers: ours stand out, the limit is dashed. The colours are Okabe and Ito's,
// which people with colour-blindness can tell apart; the marks differ too.
var looks = map[string]struct {
	colour color.RGBA
	shape  draw.GlyphDrawer
	width  vg.Length
	dashes []vg.Length
}{
	std:       {color.RGBA{0x7f, 0x7f, 0x7f, 0xff}, draw.CircleGlyph{}, 1.2, nil},
	gaio:      {color.RGBA{0xd5, 0x5e, 0x00, 0xff}, draw.SquareGlyph{}, 1.2, nil},
	gnet:      {color.RGBA{0xe6, 0x9f, 0x00, 0xff}, draw.TriangleGlyph{}, 1.2, nil},
	"nbio":    {color.RGBA{0xcc, 0x79, 0xa7, 0xff}, draw.BoxGlyph{}, 1.2, nil},
	"netpoll": {color.RGBA{0x56, 0xb4, 0xe9, 0xff}, draw.RingGlyph{}, 1.2, nil},
	cepoll:    {color.RGBA{0, 0, 0, 0xff}, draw.CrossGlyph{}, 1.2, []vg.Length{vg.Points(5), vg.Points(3)}},
	aioEpoll:  {color.RGBA{0x00, 0x9e, 0x73, 0xff}, draw.PyramidGlyph{}, 2.4, nil},
	aioURing:  {color.RGBA{0x00, 0x72, 0xb2, 0xff}, draw.CircleGlyph{}, 2.4, nil},
}

// plotAll draws what was measured into dir.
func plotAll(r *recorded, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if len(measured(r, "pingpong")) > 0 {
		p := newPlot("64 B ping-pong: messages a second on one core", "connections", "thousand messages a second", false)
		p.Y.Min = 0
		if err := byConnections(p, r, func(s sample) float64 { return rate(s) / 1e3 }, filepath.Join(dir, "aio-rate.png")); err != nil {
			return err
		}
		p = newPlot("64 B ping-pong: 99.9th percentile of latency", "connections", "milliseconds", false)
		p.Y.Scale = plot.LogScale{}
		p.Y.Tick.Marker = decades{}
		if err := byConnections(p, r, func(s sample) float64 { return p999(s) / 1e3 }, filepath.Join(dir, "aio-p999.png")); err != nil {
			return err
		}
	}
	if len(measured(r, "regression")) > 0 {
		return regressionPlot(r, filepath.Join(dir, "aio-regression.png"))
	}
	return nil
}

// newPlot returns an empty plot whose legend is at the top, right or left.
func newPlot(title, x, y string, left bool) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size = vg.Points(14)
	p.Title.Padding = vg.Points(8)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(12)
		a.Tick.Label.Font.Size = vg.Points(11)
		a.Padding = vg.Points(4)
	}
	p.Legend.TextStyle.Font.Size = vg.Points(11)
	p.Legend.ThumbnailWidth = vg.Points(28)
	p.Legend.Padding = vg.Points(2)
	p.Legend.Top, p.Legend.Left = true, left
	p.Legend.XOffs = vg.Points(-8)
	if left {
		p.Legend.XOffs = vg.Points(8)
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.Gray{0xdd}
	grid.Vertical.Color = color.Gray{0xee}
	p.Add(grid)
	return p
}

// byConnections draws a line a server over the connections of the 64 B ping-pong.
func byConnections(p *plot.Plot, r *recorded, of func(sample) float64, file string) error {
	p.X.Scale = plot.LogScale{}
	var ticks []plot.Tick
	for _, n := range pingpongConns {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: thousands(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	for _, s := range allServers {
		look, drawn := looks[s.name]
		if !drawn {
			continue
		}
		var xys plotter.XYs
		for _, pt := range pingpongAt(64, pingpongConns...) {
			if y := r.median(s.name, pt, of); !math.IsNaN(y) {
				xys = append(xys, plotter.XY{X: float64(pt.conns), Y: y})
			}
		}
		if len(xys) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = look.colour, vg.Points(float64(look.width)), look.dashes
		points.Color, points.Shape, points.Radius = look.colour, look.shape, vg.Points(3.5)
		p.Add(line, points)
		p.Legend.Add(s.name, line, points)
	}
	p.X.Min, p.X.Max = .8, 60_000 // the legend stands right of the lines
	p.Y.Max *= 1.05
	return p.Save(9*vg.Inch, 6*vg.Inch, file)
}

// regressionPlot draws every run, the line through them and its 95% band, as gaio's picture does.
func regressionPlot(r *recorded, file string) error {
	p := newPlot("connect, send 1 KiB, read it back: completion time, with 95% band", "connections", "milliseconds", true)
	for _, s := range allServers {
		xs, ys := completions(r, s.name)
		l, err := fit(xs, ys)
		if err != nil {
			continue // not measured, or too little of it
		}
		look := looks[s.name]
		xys := make(plotter.XYs, len(xs))
		for i := range xs {
			xys[i] = plotter.XY{X: xs[i], Y: ys[i]}
		}
		points, err := plotter.NewScatter(xys)
		if err != nil {
			return err
		}
		points.Color, points.Shape, points.Radius = look.colour, look.shape, vg.Points(2.2)
		var mean, edge plotter.XYs
		for i := range 51 {
			x := slices.Min(xs) + float64(i)*(slices.Max(xs)-slices.Min(xs))/50
			mean = append(mean, plotter.XY{X: x, Y: l.at(x)})
			edge = append(edge, plotter.XY{X: x, Y: l.at(x) + l.band(x)})
		}
		for _, m := range slices.Backward(mean) {
			edge = append(edge, plotter.XY{X: m.X, Y: m.Y - l.band(m.X)})
		}
		band, err := plotter.NewPolygon(edge)
		if err != nil {
			return err
		}
		faint := color.NRGBA{look.colour.R, look.colour.G, look.colour.B, 0x38}
		band.Color, band.LineStyle.Width = faint, 0
		line, err := plotter.NewLine(mean)
		if err != nil {
			return err
		}
		line.Color, line.Width = look.colour, vg.Points(1.8)
		p.Add(band, points, line)
		p.Legend.Add(fmt.Sprintf("%s: %.1f ± %.1f ms for 1,000, R² %.2f", s.name, l.slope*1000, l.slopeError*1000, l.r2), line, points)
	}
	p.X.Min, p.Y.Min = 0, 0
	p.Y.Max *= 1.1
	p.X.Max = 8500
	var ticks []plot.Tick
	for n := 0; n <= 8000; n += 1000 {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: thousands(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	return p.Save(9*vg.Inch, 6*vg.Inch, file)
}

// thousands writes n as people do.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// decades marks 1, 2 and 5 of each power of ten.
type decades struct{}

func (decades) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v >= lo && v <= hi {
				ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.4g", v)})
			}
		}
	}
	return ticks
}
