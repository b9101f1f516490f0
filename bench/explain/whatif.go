package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/loadgen"
)

// service is one of those that the replay without a collector is tried on.
type service struct {
	name    string
	args    []string
	first   float64 // rate that calibration begins with
	targets func(url string) []loadgen.Target
}

var services = []service{
	{"search", nil, 100, searchTarget},
	{"msgpush", []string{"-shape=ptr"}, 300, func(url string) []loadgen.Target { return []loadgen.Target{{URL: url + "/push"}} }},
}

// busy are shares of a core that a service is loaded to, with its collector at GOGC=100. It has that core to
// itself, and the client, which stands for other machines, the rest: else they would wait for each
// other, in the kernel, and no trace shows that.
var busy = []float64{.20, .35, .50, .65}

// heaps are values of GOGC: how often it collects.
var heaps = []string{"50", "100", "200"}

// truths are so many runs without a collector at each load; what happened is their median, as no two of them agree.
const truths = 3

// point is a forecast, and what happened without the collector: one service, one load, one heap.
type point struct {
	GOGC     string  `json:"gogc"`
	On       *sample `json:"on"`
	Forecast float64 `json:"forecast"` // seconds
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Actual   float64 `json:"actual"` // the median of the runs without
	Held     bool    `json:"held"`   // Actual lies from Low to High
}

// loaded is one service under one load.
type loaded struct {
	Rate   float64   `json:"rate"`
	Off    []*sample `json:"off"`
	New    *sample   `json:"new"`  // without, in memory that was not touched before
	Page   []float64 `json:"page"` // seconds that a page took to be touched before a run
	Points []*point  `json:"points"`
}

// whatIf holds forecasts of what requests would take without a collector against runs without one: 24 points, of two services
// at four loads with heaps of three sizes. Each interval is of one trace, as users have it. It takes some ten minutes.
func (d *driver) whatIf(ctx context.Context) error {
	const need = 10 << 30 // what msgpush allocates in a run without a collector
	if free := machine.Memory("MemAvailable"); free > 0 && free < need {
		return fmt.Errorf("runs with GOGC=off take up to %d MB and %d are available", need>>20, free>>20)
	}
	all := map[string]*loaded{}
	if !d.quick { // some points say nothing
		defer d.forecastFigure(all) // also of what was measured before an error
	}
	for i := range services {
		s := &services[i]
		rate := s.first
		for _, share := range busy {
			l, err := d.loaded(ctx, s, share, rate)
			if err != nil {
				return fmt.Errorf("%s at %.0f%%: %w", s.name, 100*share, err)
			}
			rate = l.Rate
			key := fmt.Sprintf("%s %.0f", s.name, 100*share)
			d.set.Raw[forecastKey+key], all[key] = l, l
			for _, p := range l.Points {
				fmt.Fprintf(d.out, "what-if: %-8s %3.0f%% CPU, %5.0f/s, GOGC=%-3s: p99 %6.2f ms; without, forecast %6.2f ms (%.2f to %.2f, model error %+.0f%%), measured %6.2f ms (%s): held %t\n",
					s.name, 100*share, l.Rate, p.GOGC, 1e3*p.On.Server.P99, 1e3*p.Forecast, 1e3*p.Low, 1e3*p.High, 100*p.On.WhatIf.ModelError, 1e3*p.Actual, l.offs(), p.Held)
			}
			if d.quick {
				break
			}
		}
	}
	return nil
}

const (
	forecastKey = "forecast "
	whatIfKey   = "what-if " // of results before there were intervals
)

func (d *driver) forecastFigure(all map[string]*loaded) {
	var errs, widths []float64
	held, points := 0, 0
	for _, l := range all {
		for _, p := range l.Points {
			points++
			if p.Held {
				held++
			}
			errs, widths = append(errs, 100*math.Abs(p.Forecast/p.Actual-1)), append(widths, p.High/p.Low)
		}
	}
	if points == 0 {
		return
	}
	fmt.Fprintf(d.out, "what-if, median of %d points: the forecast misses by %.0f %%, its interval's ends differ by a factor of %.1f\n", points, figure.Median(errs), figure.Median(widths))
	d.set.AtLeast(fmt.Sprintf("what-if: intervals that hold the p99 without a collector, of %d points", points), []float64{float64(held)}, math.Ceil(.8*float64(points)), "")
}

// offs are the 99th percentiles of the runs without a collector.
func (l *loaded) offs() string {
	var list []string
	for _, s := range l.Off {
		list = append(list, fmt.Sprintf("%.2f", 1e3*s.Server.P99))
	}
	return strings.Join(list, ", ")
}

// loaded finds the rate and measures. Runs without a collector and forecasts take turns.
func (d *driver) loaded(ctx context.Context, s *service, share, rate float64) (*loaded, error) {
	rate, err := d.calibrate(ctx, s, share, rate)
	if err != nil {
		return nil, err
	}
	l := &loaded{Rate: rate}
	without := []string{"GOGC=off"}
	// Without a collector all memory is new. That is the machine's business, not the collector's:
	// a virtual machine's host takes its time for each page. So the driver touches as much memory
	// as the run will take right before it.
	if l.New, err = d.serve(ctx, s, without, rate); err != nil {
		return nil, err
	}
	for i := range max(truths, len(heaps)) {
		if i < truths {
			page, err := machine.Touch(ctx, l.New.PeakRSS*5/4)
			if err != nil {
				return nil, err
			}
			l.Page = append(l.Page, page.Seconds())
			off, err := d.serve(ctx, s, without, rate)
			if err != nil {
				return nil, err
			}
			l.Off = append(l.Off, off)
		}
		if i < len(heaps) {
			on, err := d.serve(ctx, s, []string{"GOGC=" + heaps[i]}, rate)
			if err != nil {
				return nil, err
			}
			w := &on.WhatIf
			l.Points = append(l.Points, &point{GOGC: heaps[i], On: on, Forecast: w.Forecast.Seconds(), Low: w.Low.Seconds(), High: w.High.Seconds()})
		}
	}
	var off []float64
	for _, o := range l.Off {
		off = append(off, o.Server.P99)
	}
	for _, p := range l.Points {
		p.Actual = figure.Median(off)
		p.Held = p.Low <= p.Actual && p.Actual <= p.High
	}
	return l, nil
}

func (d *driver) serve(ctx context.Context, s *service, env []string, rate float64) (*sample, error) {
	c, err := d.pinned(ctx, s, env)
	if err != nil {
		return nil, err
	}
	defer c.end()
	return d.measure(ctx, c, load{rate: rate, length: d.length, warmup: d.warmup, targets: s.targets(c.url)}, fmt.Sprintf("%s-%.0f%v", s.name, rate, env))
}

// pinned starts a service on the first core.
func (d *driver) pinned(ctx context.Context, s *service, env []string) (*running, error) {
	return launch(ctx, child.Options{
		Args: append([]string{filepath.Join(d.bin, s.name), "-addr=127.0.0.1:0"}, s.args...), Env: append([]string{"GOMAXPROCS=1"}, env...),
		Launch: func(start func() error) error { return machine.Pinned(0, start) },
	})
}

// calibrate finds the rate at which a service uses a share of its core.
func (d *driver) calibrate(ctx context.Context, s *service, share, rate float64) (float64, error) {
	c, err := d.pinned(ctx, s, nil)
	if err != nil {
		return 0, err
	}
	defer c.end()
	for range 6 {
		const length = 2 * time.Second
		before, err := c.cpu()
		r, lerr := loadgen.Run(ctx, loadgen.Options{Targets: s.targets(c.url), Rate: rate, Duration: length, Connections: 400})
		after, cerr := c.cpu()
		if err := errors.Join(err, lerr, cerr); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		used := (after - before).Seconds() / r.Duration.Seconds()
		if d.verbose {
			fmt.Fprintf(d.out, "  %s at %.0f/s uses %.0f%% of its core\n", s.name, rate, 100*used)
		}
		if used <= 0 {
			return 0, fmt.Errorf("no CPU time was used at %.0f/s", rate)
		}
		if math.Abs(used/share-1) < .05 {
			break
		}
		rate *= min(max(share/used, .25), 4)
	}
	return rate, nil
}
