package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// recorded is the file of recorded runs.
type recorded struct {
	Started time.Time     `json:"started"`
	Machine any           `json:"machine"`
	Go      any           `json:"go"`
	Length  time.Duration `json:"length"` // of a run, ns
	Runs    []recordedRun `json:"runs"`   // in the order in which they ran
}

// recordedRun is one run of one service.
type recordedRun struct {
	Subject    string            `json:"subject"`
	Neighbour  bool              `json:"neighbour"` // busy in bursts beside it
	Planted    bool              `json:"planted"`   // with the subject's plant
	Started    time.Time         `json:"started"`
	Latency    loadgen.Histogram `json:"latency"`
	Throughput float64           `json:"throughput"`  // requests/s
	CPU        time.Duration     `json:"cpu_request"` // of a request, ns
	Peak       int64             `json:"peak_memory"` // bytes
	Late       float64           `json:"late"`        // share of requests sent a millisecond late
	Stolen     float64           `json:"stolen"`      // share of all processors that the hypervisor took
}

func (r *recordedRun) tailstat(round int) tailstat.Run {
	return tailstat.Run{Round: round, Latency: &r.Latency, Throughput: r.Throughput, CPU: r.CPU, PeakMemory: r.Peak}
}

// subject is a service to record.
type subject struct {
	name  string
	args  []string // before -addr
	rate  float64
	path  string
	body  string
	plant []string // arguments that make it slower; nil: it has none
}

// subjects are the services, with the rates of docs' examples.
var subjects = []subject{
	{"hello", nil, 11_000, "/", "", nil},
	{"msgpush", nil, 2200, "/push", "", []string{"-window", "380000"}},
	{"search", nil, 310, "/search?term=president&cnn=on&bbc=on&nyt=on", "-", nil},
}

// listening is the line with which a service says where it is.
var listening = regexp.MustCompile(`(?:^|msg=listening url=)(http://[0-9.:]+)`)

// record records runs of all subjects in turn, quiet and beside a neighbour in turn, so that what the machine does
// in these minutes is spread over all. A run is a process of its own.
func (d *driver) record(ctx context.Context) error {
	f := recorded{Started: time.Now().UTC(), Machine: figure.Machine(), Go: figure.New("").Versions, Length: d.length}
	order := rand.New(rand.NewPCG(20, 0))
	for i := range d.count {
		for _, neighbour := range []bool{false, true} {
			for k := range subjects {
				s := &subjects[k]
				kinds := []bool{false}
				if s.plant != nil && !neighbour && i%2 == 0 {
					first := order.IntN(2) == 1
					kinds = []bool{first, !first} // a round of both, in an order drawn by lot
				}
				for _, planted := range kinds {
					r, err := d.run(ctx, s, neighbour, planted)
					if err != nil {
						return errors.Join(fmt.Errorf("%s: %w", s.name, err), f.save(d.results, unfinished))
					}
					f.Runs = append(f.Runs, *r)
					fmt.Fprintf(d.out, "%3d/%d %-8s neighbour %-5v planted %-5v p50 %-10v p99 %-10v p99.9 %-10v late %.1f%% stolen %.1f%%\n", i+1, d.count, s.name, neighbour, planted,
						r.Latency.Quantile(.5), r.Latency.Quantile(.99), r.Latency.Quantile(.999), 100*r.Late, 100*r.Stolen)
				}
			}
		}
	}
	return f.save(d.results, whole)
}

// How names of recordings begin. One that was cut off is kept, and found by -runs alone: it is not the newest one.
const (
	whole      = "tailstat-runs-"
	unfinished = "tailstat-unfinished-"
)

// run records a run.
func (d *driver) run(ctx context.Context, s *subject, neighbour, planted bool) (*recordedRun, error) {
	args := append([]string{filepath.Join(d.bin, s.name), "-addr", "127.0.0.1:0"}, s.args...)
	if planted {
		args = append(args, s.plant...)
	}
	c, err := child.Start(ctx, child.Options{Args: args, Ready: listening, Stderr: io.Discard, StopTimeout: 3 * time.Second})
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: make bench-tailstat builds it", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Stop() }() // how it ends says nothing
	if neighbour {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		n, err := child.Start(ctx, child.Options{Args: []string{self, "-part", "neighbour"}, StopTimeout: 3 * time.Second})
		if err != nil {
			return nil, err
		}
		defer func() { _ = n.Stop() }()
	}
	target := loadgen.Target{URL: c.Match + s.path}
	if s.body != "" {
		target.Method = "POST"
	}
	var before time.Duration
	var times machine.Times
	l, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{target}, Rate: s.rate, Duration: d.length, Warmup: 500 * time.Millisecond, Connections: 64,
		OnMeasure: func() {
			before, _ = machine.CPUTime(c.Pid()) // the second time tells whether it can be had
			times, _ = machine.ReadTimes()
		},
	})
	if err != nil {
		return nil, err
	}
	if l.Interrupted {
		return nil, context.Cause(ctx)
	}
	cpu, err := machine.CPUTime(c.Pid())
	timesAfter, err2 := machine.ReadTimes()
	peak, err3 := machine.PeakRSS(c.Pid())
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	answered := max(1, l.Answered)
	r := &recordedRun{
		Subject: s.name, Neighbour: neighbour, Planted: planted, Started: l.Started, Latency: l.Latency, Throughput: l.Throughput(),
		CPU: (cpu - before) / time.Duration(answered), Peak: peak, Late: float64(l.Late) / float64(answered), Stolen: timesAfter.StealSince(times),
	}
	if l.Failed > 0 {
		return nil, fmt.Errorf("%d requests failed, for instance: %s", l.Failed, l.Failures[0].Example)
	}
	if l.Statuses[200] != l.Answered { // a wrong path answers quickly
		return nil, fmt.Errorf("statuses %v of %d answers", l.Statuses, l.Answered)
	}
	return r, nil
}

// neighbour computes for 100 ms, twice a second, on one processor, until it is ended: the driver starts itself as one.
func (d *driver) neighbour(ctx context.Context) error {
	for ctx.Err() == nil {
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		}
		time.Sleep(400 * time.Millisecond)
	}
	return nil
}

// save writes the runs into a folder, if there are any.
func (f *recorded) save(dir, kind string) error {
	if len(f.Runs) == 0 {
		return nil
	}
	if err := figure.CheckSave(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, kind+f.Started.Format("2006-01-02-1504")+".json.gz")
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	err = errors.Join(json.NewEncoder(z).Encode(f), z.Close(), out.Close())
	if err == nil {
		fmt.Println("recorded runs:", name)
	}
	return err
}

// read reads a file that record wrote.
func read(name string) (*recorded, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var f recorded
	if err := json.NewDecoder(z).Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &f, nil
}
