package main

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
)

// colours are Okabe and Ito's, which people with colour-blindness can tell apart; the dashes
// differ too.
var colours = []struct {
	line   color.RGBA
	dashes []vg.Length
}{
	{color.RGBA{0xd5, 0x5e, 0x00, 0xff}, []vg.Length{vg.Points(6), vg.Points(3)}},
	{color.RGBA{0x00, 0x72, 0xb2, 0xff}, nil},
	{color.RGBA{0x00, 0x9e, 0x73, 0xff}, []vg.Length{vg.Points(2), vg.Points(2)}},
	{color.RGBA{0x7f, 0x7f, 0x7f, 0xff}, []vg.Length{vg.Points(9), vg.Points(2), vg.Points(2), vg.Points(2)}},
}

// draw writes the picture: the histogram over the CCDF, on one axis of time, or the CCDF alone.
func draw(all []series, title, file string, alone bool) error {
	histogram := newPlot(title, "% of requests")
	longer := newPlot("", "fraction that took longer")
	legend, plots := &histogram.Legend, []*plot.Plot{histogram, longer}
	if alone {
		longer = newPlot(title, "fraction that took longer")
		legend, plots = &longer.Legend, []*plot.Plot{longer}
	}
	longer.Y.Scale = plot.LogScale{}
	longer.Y.Tick.Marker = powers{}
	low, high, rarest := math.Inf(1), 0.0, .1
	for i, s := range all {
		c := colours[i]
		bars, steps := bins(s.latency), ccdf(s.latency)
		low, high = min(low, bars[0].low), max(high, bars[len(bars)-1].high)
		if n := len(steps); n > 0 {
			rarest = min(rarest, steps[n-1].longer)
		}
		outline, area, err := outlined(bars, c.line)
		if err != nil {
			return err
		}
		fall, err := plotter.NewLine(falling(steps, bars[0].low))
		if err != nil {
			return err
		}
		for _, l := range []*plotter.Line{outline, fall} {
			l.Color, l.Width, l.Dashes = c.line, vg.Points(1.8), c.dashes
		}
		histogram.Add(area, outline)
		longer.Add(fall)
		p := s.latency.Quantile
		legend.Add(fmt.Sprintf("%s: p50 %.3g ms, p99 %.3g, p99.9 %.3g, longest %.3g  ",
			s.label, millis(p(.5)), millis(p(.99)), millis(p(.999)), millis(s.latency.Max())), outline)
	}
	for _, p := range []*plot.Plot{histogram, longer} {
		p.X.Min, p.X.Max = low, high
	}
	longer.X.Label.Text = "milliseconds"
	histogram.Y.Min = 0
	histogram.Y.Max *= 1.15 + .1*float64(len(all)) // the legend stands above the bars
	longer.Y.Min, longer.Y.Max = rarest*.8, 1
	return save(file, plots...)
}

// outlined returns the outline of bars, and the faint area below it.
func outlined(bars []bin, c color.RGBA) (*plotter.Line, *plotter.Polygon, error) {
	top := plotter.XYs{{X: bars[0].low, Y: 0}}
	for _, b := range bars {
		top = append(top, plotter.XY{X: b.low, Y: b.percent}, plotter.XY{X: b.high, Y: b.percent})
	}
	top = append(top, plotter.XY{X: bars[len(bars)-1].high, Y: 0})
	line, err := plotter.NewLine(top)
	if err != nil {
		return nil, nil, err
	}
	area, err := plotter.NewPolygon(top)
	if err != nil {
		return nil, nil, err
	}
	area.Color, area.LineStyle.Width = color.NRGBA{c.R, c.G, c.B, 0x30}, 0
	return line, area, nil
}

// falling returns the stairs of a CCDF from where nothing is faster.
func falling(steps []point, from float64) plotter.XYs {
	stairs := plotter.XYs{{X: from, Y: 1}}
	for _, s := range steps {
		stairs = append(stairs, plotter.XY{X: s.ms, Y: stairs[len(stairs)-1].Y}, plotter.XY{X: s.ms, Y: s.longer})
	}
	return stairs
}

// newPlot returns an empty plot whose axis of time is logarithmic.
func newPlot(title, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.Y.Label.Text = title, y
	p.Title.TextStyle.Font.Size = vg.Points(14)
	p.Title.Padding = vg.Points(8)
	p.X.Scale = plot.LogScale{}
	p.X.Tick.Marker = steps125{}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(12)
		a.Tick.Label.Font.Size = vg.Points(11)
		a.Padding = vg.Points(4)
	}
	p.Legend.TextStyle.Font.Size = vg.Points(11)
	p.Legend.ThumbnailWidth = vg.Points(32)
	p.Legend.Padding = vg.Points(2)
	p.Legend.Top = true
	p.Legend.XOffs = vg.Points(-8)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.Gray{0xdd}
	grid.Vertical.Color = color.Gray{0xee}
	p.Add(grid)
	return p
}

// save writes the plots one below the other.
func save(file string, plots ...*plot.Plot) error {
	format := strings.TrimPrefix(filepath.Ext(file), ".")
	canvas, err := vgdraw.NewFormattedCanvas(9*vg.Inch, vg.Length(len(plots))*4*vg.Inch, format)
	if err != nil {
		return fmt.Errorf("%s: %w: end its name in .png, .svg or .pdf", file, err)
	}
	var rows [][]*plot.Plot
	for _, p := range plots {
		rows = append(rows, []*plot.Plot{p})
	}
	pad := vg.Points(10)
	tiles := vgdraw.Tiles{Rows: len(plots), Cols: 1, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad, PadY: pad}
	for i, row := range plot.Align(rows, tiles, vgdraw.New(canvas)) {
		plots[i].Draw(row[0])
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
}

// steps125 marks 1, 2 and 5 of each power of ten.
type steps125 struct{}

func (steps125) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, m := range []float64{1, 2, 5} {
			if v := m * math.Pow(10, e); v >= lo && v <= hi {
				ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.4g", v)})
			}
		}
	}
	return ticks
}

// powers marks 1, 0.1, 0.01 and so on.
type powers struct{}

func (powers) Ticks(lo, hi float64) (ticks []plot.Tick) {
	for e := math.Ceil(math.Log10(lo)); e <= math.Log10(hi); e++ {
		v := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.6g", v)})
	}
	return ticks
}
