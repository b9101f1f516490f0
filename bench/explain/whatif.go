package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
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

// busy are shares of a core that a service is loaded to, with its collector. It has that core to
// itself, and the client, which stands for other machines, the rest: else they would wait for each
// other, in the kernel, and no trace shows that.
var busy = []float64{.25, .40, .55, .70}

// point is what one service under one load showed.
type point struct {
	Rate   float64    `json:"rate"`
	On     []*sample  `json:"on"`
	Off    []*sample  `json:"off"`
	New    *sample    `json:"new"`         // without, in memory that was not touched before
	Page   []float64  `json:"page"`        // seconds that a page took to be touched before a run
	Error  float64    `json:"error"`       // of the forecast p99: the median of three, less that of three runs without, in parts of it
	Actual [2]float64 `json:"p99_on_off"`  // medians
	Model  float64    `json:"model_error"` // the median of what the reports print
}

// whatIf compares the replay without a collector with runs without one.
func (d *driver) whatIf(ctx context.Context) error {
	const need = 10 << 30 // what msgpush allocates in a run without a collector
	if free := machine.Memory("MemAvailable"); free > 0 && free < need {
		return fmt.Errorf("runs with GOGC=off take up to %d MB and %d are available", need>>20, free>>20)
	}
	var points []*point
	for i := range services {
		s := &services[i]
		rate := s.first
		for _, share := range busy {
			p, err := d.point(ctx, s, share, rate)
			if err != nil {
				return fmt.Errorf("%s at %.0f%%: %w", s.name, 100*share, err)
			}
			rate = p.Rate
			d.set.Raw[fmt.Sprintf("%s%s %.0f", whatIfKey, s.name, 100*share)] = p
			fmt.Fprintf(d.out, "what-if: %-8s %3.0f%% CPU, %5.0f/s: p99 with %6.2f ms, without %6.2f ms, forecast without %+4.0f%% (model error as printed %+4.0f%%); without, in new memory, %6.2f ms (a page %.1f µs)\n",
				s.name, 100*share, p.Rate, 1e3*p.Actual[0], 1e3*p.Actual[1], 100*p.Error, 100*p.Model, 1e3*p.New.Server.P99, 1e6*figure.Median(p.Page))
			points = append(points, p)
			if d.quick {
				break
			}
		}
	}
	if !d.quick { // a point or two say nothing
		d.whatIfFigure(points)
	}
	return nil
}

const whatIfKey = "what-if "

func (d *driver) whatIfFigure(points []*point) {
	if len(points) == 0 {
		return
	}
	var off []float64
	within := 0
	for _, p := range points {
		off = append(off, 100*math.Abs(p.Error))
		if math.Abs(p.Error) <= .20 {
			within++
		}
	}
	fmt.Fprintf(d.out, "what-if p99 error, median of the points: %.0f %%\n", figure.Median(off))
	d.set.AtLeast("what-if p99 error at most 20 %, of 8 points", []float64{float64(within)}, 6, "")
}

// point finds the rate and measures.
func (d *driver) point(ctx context.Context, s *service, share, rate float64) (*point, error) {
	rate, err := d.calibrate(ctx, s, share, rate)
	if err != nil {
		return nil, err
	}
	p := &point{Rate: rate}
	runs := 3
	if d.quick {
		runs = 1
	}
	without := []string{"GOGC=off"}
	// Without a collector all memory is new. That is the machine's business, not the collector's:
	// a virtual machine's host takes its time for each page. So the driver touches as much memory
	// as the run will take right before it.
	if p.New, err = d.serve(ctx, s, without, rate); err != nil {
		return nil, err
	}
	var forecast, model, on, off []float64
	for range runs {
		r, err := d.serve(ctx, s, nil, rate)
		if err != nil {
			return nil, err
		}
		p.On = append(p.On, r)
		on, forecast, model = append(on, r.Server.P99), append(forecast, r.WhatIf.Forecast.Seconds()), append(model, r.WhatIf.ModelError)
		page, err := machine.Touch(ctx, p.New.PeakRSS*5/4)
		if err != nil {
			return nil, err
		}
		p.Page = append(p.Page, page.Seconds())
		if r, err = d.serve(ctx, s, without, rate); err != nil {
			return nil, err
		}
		p.Off = append(p.Off, r)
		off = append(off, r.Server.P99)
	}
	p.Actual, p.Model = [2]float64{figure.Median(on), figure.Median(off)}, figure.Median(model)
	p.Error = figure.Median(forecast)/p.Actual[1] - 1
	return p, nil
}

func (d *driver) serve(ctx context.Context, s *service, env []string, rate float64) (*sample, error) {
	c, err := d.pinned(ctx, s, env)
	if err != nil {
		return nil, err
	}
	defer c.end()
	return d.measure(ctx, c, load{rate: rate, length: d.length, warmup: d.warmup, targets: s.targets(c.url)}, fmt.Sprintf("%s-%.0f%v", s.name, rate, env))
}

// pinned starts a service on the first core. taskset is part of util-linux.
func (d *driver) pinned(ctx context.Context, s *service, env []string) (*running, error) {
	argv := append([]string{"taskset", "-c", "0", filepath.Join(d.bin, s.name), "-addr=127.0.0.1:0"}, s.args...)
	return start(ctx, append([]string{"GOMAXPROCS=1"}, env...), argv...)
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
