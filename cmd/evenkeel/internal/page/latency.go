package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"
)

// pageData is for the charts and the script. Latencies are in microseconds, times in seconds, sizes
// in bytes.
type pageData struct {
	Latency pageRange    `json:"latency"`
	Floor   float64      `json:"floor"` // least share of the CCDF
	End     float64      `json:"end"`
	Columns []pageColumn `json:"columns"`
	States  []pageState  `json:"states,omitempty"`

	laneNotes []string
}

type pageRange struct {
	Lo float64 `json:"lo"`
	Hi float64 `json:"hi"`
}

type pageColumn struct {
	Label  string     `json:"label"`
	Count  int64      `json:"count"`
	CCDF   pageCCDF   `json:"ccdf"`
	Series pageSeries `json:"series"`
	Lanes  []pageLane `json:"lanes,omitempty"`
}

// Share[i] of the requests took longer than X[i].
type pageCCDF struct {
	X     []float64 `json:"x"`
	Share []float64 `json:"share"`
}

// 0 means an interval without answers.
type pageSeries struct {
	Step   float64       `json:"step"`
	P50    []float64     `json:"p50"`
	P99    []float64     `json:"p99"`
	Max    []float64     `json:"max"`
	Failed map[int]int64 `json:"failed,omitempty"` // by index
}

const microsecond = 1e3

func (d *pageData) setLatencyAxes(merged []loadgen.Histogram) {
	lo, hi, most := time.Duration(math.MaxInt64), time.Duration(0), int64(1)
	for _, h := range merged {
		if h.Count() == 0 {
			continue
		}
		for v := range h.All() {
			lo = min(lo, v)
			break
		}
		hi = max(hi, h.Max())
		most = max(most, h.Count())
	}
	if hi == 0 {
		lo, hi = time.Millisecond, time.Second
	}
	a := chart.LogAxis(max(float64(lo), 1)/microsecond, max(float64(hi), 1)/microsecond)
	d.Latency = pageRange{a.Lo, a.Hi}
	d.Floor = leastShare(most)
}

func leastShare(n int64) float64 {
	return math.Pow10(-min(max(int(math.Ceil(math.Log10(float64(n))-1e-9)), 2), 5))
}

func (d *pageData) ccdfAxes() (x, y chart.Axis) {
	return chart.Axis{Lo: d.Latency.Lo, Hi: d.Latency.Hi, Log: true}, chart.Axis{Lo: d.Floor, Hi: 1, Log: true}
}

func (d *pageData) timeAxis() chart.Axis { return chart.Axis{Hi: d.End} }

// newCCDF keeps the visible steps.
func (d *pageData) newCCDF(h *loadgen.Histogram) pageCCDF {
	const nearX, nearY = 5. / chart.PlotWidth, 2. / chart.PlotHeight
	x, y := d.ccdfAxes()
	var c pageCCDF
	n, left := float64(h.Count()), h.Count()
	lastX, lastY := -1., 2.
	for v, count := range h.All() {
		left -= count
		us, share := float64(v)/microsecond, float64(left)/n
		fx, fy := x.Frac(us), y.Frac(share)
		if fx-lastX < nearX && lastY-fy < nearY && left > 0 {
			continue
		}
		c.X = append(c.X, chart.Significant(us, 4))
		c.Share = append(c.Share, chart.Significant(share, 4))
		lastX, lastY = fx, fy
	}
	return c
}

func (d *pageData) timeTicks() []chart.Tick {
	x := d.timeAxis()
	return x.XTicks(chart.LinearTicks(0, d.End, chart.TimeStep(d.End, 6)), chart.LabelTime)
}

func labelMicroseconds(us float64) string {
	return textfmt.Duration(time.Duration(math.Round(us * microsecond)))
}

// Times are microseconds since the window's start.
type pageLane struct {
	Source string         `json:"source"`
	Known  int64          `json:"known"`
	At     []int64        `json:"at"`
	For    []int64        `json:"for"`
	State  []int          `json:"state"`
	Count  map[int]int    `json:"count,omitempty"` // of spans that are drawn as one, by index
	Note   map[int]string `json:"note,omitempty"`
	Open   bool           `json:"open,omitempty"` // no line ended the last one

	until time.Duration
	spans []compare.Span
}

var percentiles = []struct {
	slower float64
	name   string
}{{.5, "p50"}, {.1, "p90"}, {.01, "p99"}, {.001, "p99.9"}, {1e-4, "p99.99"}, {1e-5, "p99.999"}}

func ccdfChart(d *pageData) chart.Chart {
	x, y := d.ccdfAxes()
	c := chart.Chart{
		ID: "ccdf", Kind: "ccdf", Group: "latency", Class: "tall",
		Title:  "Share of requests slower than a latency",
		YLabel: "share of requests slower", XLabel: "latency",
		X: x.XTicks(chart.LogTicks(x.Lo, x.Hi, 16), labelMicroseconds),
		Y: y.YTicks(chart.LogTicks(y.Lo, y.Hi, 0), chart.LabelPercent),
	}
	for _, p := range percentiles {
		if p.slower >= y.Lo*(1-1e-9) {
			c.Marks = append(c.Marks, chart.Tick{At: chart.PercentAt(1 - y.Frac(p.slower)), Label: p.name})
		}
	}
	for i, col := range d.Columns {
		if col.Count == 0 {
			continue
		}
		var p chart.Path
		p.Move(0, 0)
		for k, us := range col.CCDF.X {
			share := col.CCDF.Share[k]
			p.Step(chart.PlotX(x.Frac(us)), chart.PlotY(y.Frac(share)))
			if share < y.Lo {
				break // off the plot
			}
		}
		c.Lines = append(c.Lines, chart.Line{Class: "series " + variantClass(i), Series: i, D: p.String()})
	}
	c.Desc = d.describe()
	c.Message = d.noLatencies()
	return c
}

func (c *pageCCDF) quantile(slower float64) float64 {
	for i, s := range c.Share {
		if s <= slower {
			return c.X[i]
		}
	}
	return 0
}

func (d *pageData) describe() string {
	parts := []string{"Falling lines on two logarithmic axes, one a variant; further left is faster."}
	for _, col := range d.Columns {
		if col.Count > 0 {
			p99 := labelMicroseconds(col.CCDF.quantile(.01))
			parts = append(parts, fmt.Sprintf("%s: 1%% slower than %s of %s requests.", col.Label, p99,
				textfmt.Count(float64(col.Count))))
		}
	}
	return strings.Join(parts, " ")
}

func (d *pageData) noLatencies() string {
	for i := range d.Columns {
		if d.Columns[i].Count > 0 {
			return ""
		}
	}
	return "no request was answered"
}
