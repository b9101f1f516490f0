//go:build linux

// Package tailstat tests package tailstat on runs of services: how often it finds a difference that is
// not there, or one that is, and whether its intervals hold the truth. TestRuns records runs, from which
// the others draw. By default each makes a few trials. -full makes as many as docs' figures took, fails
// on a claim that is missed, and saves the results:
//
//	go test -timeout 2h ./tailstat -full
package tailstat

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// TestRuns records runs.
func TestRuns(t *testing.T) { full.Run(t, runsCase()) }

type subject struct {
	way, program string
	rate         float64
	method, path string
	args         []string
}

// window is msgpush with a longer window, which takes longer to mark.
const window = "msgpush with a longer window"

// subjects have the rates of docs' examples.
var subjects = []subject{
	{"hello", "hello", 11_000, "GET", "/", nil},
	{"msgpush", "msgpush", 2200, "GET", "/push", nil},
	{window, "msgpush", 2200, "GET", "/push", []string{"-window", "380000"}},
	{"search", "search", 310, "POST", "/search?term=president&cnn=on&bbc=on&nyt=on", nil},
}

const (
	quiet     = "quiet"
	neighbour = "next to a neighbour"
)

func runsCase() harness.Case {
	c := harness.Case{
		Name: "tailstat/runs", What: "runs of three services, for tailstat/alarms and tailstat/power",
		Rounds: 60, Length: 5 * time.Second, Warmup: 500 * time.Millisecond, Loads: []string{quiet, neighbour},
		Skip: func(way, load string) bool { return way == window && load == neighbour },
		Run:  record,
	}
	for _, s := range subjects {
		c.Ways = append(c.Ways, s.way)
	}
	for _, f := range tailstat.Figures() {
		c.Figures = append(c.Figures, f.Name)
	}
	return c
}

func record(ctx context.Context, r *harness.Run) error {
	s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.way == r.Way })]
	path, err := r.Program(ctx, "examples/"+s.program)
	if err != nil {
		return err
	}
	c, err := r.Start(ctx, harness.AnyCore, nil, append([]string{path, "-addr", "127.0.0.1:0"}, s.args...)...)
	if err != nil {
		return err
	}
	defer c.Stop()
	url, err := c.AwaitURL("msg=listening")
	if err != nil {
		return err
	}
	c.Drain()
	if r.Load == neighbour {
		ctx, end := context.WithCancel(ctx)
		defer end()
		go disturb(ctx)
	}
	o := loadgen.Options{
		Targets: []loadgen.Target{{Method: s.method, URL: url + s.path}}, Connections: 64,
		Rate: harness.Unless(r, s.rate, s.rate/10),
	}
	res, err := r.Measure(ctx, o, c)
	if err != nil {
		return err
	}
	if n := r.Values["failed"]; n > 0 {
		return fmt.Errorf("%v requests failed", n)
	}
	run := tailstat.Run{
		Latency: &res.Latency,
		Values: map[string]float64{
			"requests/s": res.Throughput(), "peak memory": r.Values["peak MB"] * 1e6,
			"CPU/request": r.Values["CPU µs/request"] / 1e6,
		},
	}
	for _, f := range tailstat.Figures() {
		if x, err := f.Of(&run); err == nil { // of few requests there is no p99.9
			r.Set(f.Name, x)
		}
	}
	return nil
}

func disturb(ctx context.Context) {
	for ctx.Err() == nil {
		end, err := machine.BusyLoops(ctx, 1)
		if err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
		end()
		time.Sleep(400 * time.Millisecond)
	}
}
