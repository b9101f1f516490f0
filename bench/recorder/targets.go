//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

// targetLoads are services of 7 to 50% of a processor, with three planted causes and a recorder
// with its default options.
var targetLoads = []struct {
	rate float64
	work string // per request
}{{40, "1.7ms"}, {100, "1ms"}, {300, "1ms"}, {500, "900us"}}

// target is what evenkeel report said of a service.
type target struct {
	Rate  float64            `json:"rate"`
	Work  string             `json:"work"`
	Busy  bool               `json:"busy"`  // while two busy loops run
	Truth map[string]int64   `json:"truth"` // slow requests of each planted cause
	Seen  map[string]uint64  `json:"seen"`
	Share map[string]float64 `json:"share"` // of the planted ones, by the recorder
	Stats recorder.Stats     `json:"stats"`
	Cover history.Coverage   `json:"coverage"`
}

// targets loads each service for as long as it takes to plant all causes. It does so on a quiet
// machine, and while two busy loops run.
func (d *driver) targets(ctx context.Context) error {
	for _, busy := range []bool{false, true} {
		for _, l := range targetLoads {
			x, err := d.target(ctx, target{Rate: l.rate, Work: l.work, Busy: busy})
			if err != nil {
				return err
			}
			d.aimed = append(d.aimed, x)
			c := &x.Stats.Cost
			fmt.Printf("%v/s of %s, busy %v: seen %v of %v, shares %.2v; %.1f%% of a processor, on for %.0f%%, tracing %v, snapshots %v and analysis %v of %v; %v\n",
				x.Rate, x.Work, x.Busy, x.Seen, x.Truth, x.Share, 100*x.Stats.CPU.Seconds()/x.Stats.Passed.Seconds(), 100*x.Stats.Coverage(),
				c.Tracing, c.Snapshots, c.Analysis, c.Budget, x.Cover)
			if d.quick {
				return nil
			}
		}
	}
	return nil
}

func (d *driver) target(ctx context.Context, x target) (_ target, err error) {
	dir, err := os.MkdirTemp("", "bench-recorder-")
	if err != nil {
		return x, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := d.start(ctx, "plant", "-third", "1ms", "-work", x.Work, "-dir", dir)
	if err != nil {
		return x, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if x.Busy {
		end, err := machine.BusyLoops(ctx, 2)
		if err != nil {
			return x, err
		}
		defer end()
	}
	if _, err = loadgen.Run(ctx, loadgen.Options{Targets: []loadgen.Target{{Method: http.MethodGet, URL: s.url}}, Rate: x.Rate, Duration: d.planted}); err != nil {
		return x, err
	}
	if _, err = s.settled(ctx); err != nil {
		return x, err
	}
	report := exec.CommandContext(ctx, filepath.Join(d.bin, "evenkeel"), "report", "-json", s.page)
	report.Stderr = os.Stderr
	text, err := report.Output()
	if err != nil {
		return x, fmt.Errorf("%v: %w", report, err)
	}
	h := &history.History{}
	err = errors.Join(json.Unmarshal(text, h), get(ctx, s.url+"/truth", &x.Truth), get(ctx, s.page+"stats", &x.Stats))
	if err != nil {
		return x, err
	}
	x.Cover = h.Coverage(time.Time{})
	x.Seen, x.Share = map[string]uint64{}, map[string]float64{}
	all := 0.
	for _, sum := range h.Summaries(time.Time{}) {
		cause := sum.Key.Cause.String()
		if _, planted := x.Truth[cause]; planted {
			x.Seen[cause] += sum.Requests
			x.Share[cause] += sum.Share
			all += sum.Share
		}
	}
	for cause := range x.Share {
		x.Share[cause] /= all
	}
	return x, nil
}

func (d *driver) targetFigures() {
	for _, x := range d.aimed {
		name := fmt.Sprintf("%v/s of %s", x.Rate, x.Work)
		if x.Busy {
			name += ", with two busy loops"
		}
		all := 0.
		for _, n := range x.Truth {
			all += float64(n)
		}
		least, furthest := 1., 0.
		for cause, n := range x.Truth {
			least = min(least, float64(x.Seen[cause])/math.Max(float64(n), 1))
			furthest = max(furthest, math.Abs(x.Share[cause]-float64(n)/math.Max(all, 1)))
		}
		d.set.AtLeast(name+": explained of the slow requests of each cause", []float64{100 * least}, 20, "%")
		d.set.AtMost(name+": a share, off the truth", []float64{100 * furthest}, 10, " points")
		d.set.AtMost(name+": spent, of its budget", []float64{float64(x.Stats.Cost.Total()) / float64(max(x.Stats.Cost.Budget, 1))}, 1.02, "x")
	}
}
