//go:build linux

// Command recorder measures what reqtrace/recorder costs a service, and whether what it says of planted causes is true. make bench-recorder
// runs it.
//
//	go run ./recorder                 # an hour: figures with targets, raw results
//	go run ./recorder -only cost      # hello without a recorder, with one that is always on, and with one within its budget
//	go run ./recorder -only services  # search and msgpush, without a recorder and with one that is always on
//	go run ./recorder -only analysis  # what an analysis each second does to requests of a service that has one processor
//	go run ./recorder -only snapshots # how long they take, and what their analysis does, beside up to 100,000 goroutines
//	go run ./recorder -only whole     # is the request that asked for a snapshot in it, from its start?
//	go run ./recorder -only stops     # what is said of a service that is stopped by SIGSTOP
//	go run ./recorder -only faults    # 1,000,000 requests: disk full, directory gone, clock stepped
//	go run ./recorder -only planted   # ten minutes of two planted causes, and of a third from the middle on
//	go run ./recorder -only targets   # default options: what it sees of services of 7 to 50% of a processor, eight times ten minutes
//	go run ./recorder -only soak      # an hour, which is no part of the whole: does anything grow?
//	go run ./recorder -judge results/recorder-DATE.json   # its figures again, from its raw results; -w: into the file
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/examples/child"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/reqtrace/recorder"
)

type driver struct {
	bin     string
	rounds  int
	length  time.Duration // of a run of cost
	warmup  time.Duration // before it
	planted time.Duration
	rate    float64
	soakFor time.Duration
	n       int  // requests of faults
	quick   bool // to see that everything works
	set     *figure.Set
	samples []sample
	plant   *plantResult
	crowds  []crowd
	whole   *wholeResult
	stops   *stopsResult
	faults  []faulted
	soaked  []soaked
	aimed   []target
}

// parts are what is measured, in this order; with -only, one of them.
var parts = []struct {
	name    string
	measure func(*driver, context.Context) error
	alone   bool // it is no part of the whole
}{
	{"cost", (*driver).cost, false},
	{"services", (*driver).services, false},
	{"analysis", (*driver).analysis, false},
	{"snapshots", (*driver).snapshots, false},
	{"whole", (*driver).runWhole, false},
	{"stops", (*driver).runStops, false},
	{"faults", (*driver).runFaults, false},
	{"planted", (*driver).runPlanted, false},
	{"targets", (*driver).targets, true},
	{"soak", (*driver).soak, true},
}

func main() {
	log.SetFlags(0)
	d := &driver{warmup: 5 * time.Second}
	flag.StringVar(&d.bin, "bin", "../bin/recorder", "`folder` of the built hello and plant")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.IntVar(&d.rounds, "rounds", 8, "interleaved rounds of cost")
	flag.DurationVar(&d.length, "length", 40*time.Second, "length of a run of cost")
	flag.DurationVar(&d.planted, "planted", 10*time.Minute, "length of the run of planted causes")
	flag.Float64Var(&d.rate, "rate", 8000, "requests a second of cost")
	flag.IntVar(&d.n, "n", 1_000_000, "requests of faults")
	flag.DurationVar(&d.soakFor, "soak", time.Hour, "length of the soak")
	flag.BoolVar(&d.quick, "quick", false, "a few seconds of each part, to see that everything works; nothing is kept")
	only := flag.String("only", "", "`part` to measure (default: all but targets and soak)")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("recorder", os.Stdout, judge); err != nil {
			log.Fatal("bench-recorder: ", err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := d.bench(ctx, *only, *results); err != nil {
		log.Fatal("bench-recorder: ", err)
	}
}

func (d *driver) bench(ctx context.Context, only, results string) error {
	d.set = figure.New("recorder")
	d.set.Machine = figure.Machine()
	if d.quick {
		d.rounds, d.length, d.warmup, d.planted, d.soakFor, d.n, results = 1, 2*time.Second, 0, 10*time.Second, 6*time.Second, 4000, ""
	}
	if err := figure.CheckSave(results); err != nil {
		return err
	}
	found, err := false, error(nil)
	for _, p := range parts {
		if p.name != only && (only != "" || p.alone) {
			continue
		}
		found = true
		if failed := p.measure(d, ctx); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, failed))
			fmt.Fprintf(d.set.Out, "%s: %v\n", p.name, failed)
		}
		if ctx.Err() != nil {
			break // what was measured is kept
		}
	}
	if !found {
		return fmt.Errorf("-only: no part %q", only)
	}
	d.keep()
	d.figures()
	if results != "" && (err == nil || len(d.set.Raw) > 0) {
		err = errors.Join(err, d.set.Save(results))
	}
	return err
}

// unless returns whole, or in a quick run what takes less.
func unless[T any](d *driver, whole, quick T) T {
	if d.quick {
		return quick
	}
	return whole
}

// raw are the raw results, by their keys.
func (d *driver) raw() map[string]any {
	return map[string]any{"runs": &d.samples, "planted": &d.plant, "snapshots": &d.crowds, "whole": &d.whole, "stops": &d.stops, "faults": &d.faults, "soak": &d.soaked, "targets": &d.aimed}
}

// keep puts what was measured into the raw results.
func (d *driver) keep() {
	for key, v := range d.raw() {
		if x := reflect.ValueOf(v).Elem(); !x.IsNil() {
			d.set.Raw[key] = x.Interface()
		}
	}
}

// judge adds the figures of a recorded file.
func judge(set *figure.Set, raw figure.Recorded) error {
	d := &driver{set: set}
	for key, v := range d.raw() {
		if _, err := raw.Read(key, v); err != nil {
			return err
		}
	}
	d.figures()
	return nil
}

func (d *driver) figures() {
	if len(d.samples) > 0 {
		d.costFigures()
		d.serviceFigures()
		d.analysisFigures()
	}
	d.crowdFigures()
	if d.whole != nil {
		d.set.Share("shorter than half the window: whole in the snapshot that they ask for", int(d.whole.Seen), int(d.whole.Slow), 95, 100)
	}
	if d.stops != nil {
		d.set.Share("slow by SIGSTOP: the machine's", int(d.stops.Machine), int(d.stops.Explained), 95, 100)
	}
	d.faultFigures()
	if d.plant != nil {
		d.plantedFigures()
	}
	d.soakFigures()
	d.targetFigures()
}

// service is a program that runs.
type service struct {
	*child.Child
	url  string
	page string // of its recorder; "": it has none
}

var (
	listening = regexp.MustCompile(`msg=listening url=(\S+)`)
	recording = regexp.MustCompile(`msg=recording url=(\S+)`)
)

func (d *driver) start(ctx context.Context, name string, args ...string) (*service, error) {
	c, err := child.Start(ctx, child.Options{Args: append([]string{filepath.Join(d.bin, name), "-addr", "127.0.0.1:0"}, args...), Ready: listening})
	if err != nil {
		return nil, err
	}
	s := &service{Child: c, url: c.Match}
	stdout, _ := c.Output()
	if m := recording.FindStringSubmatch(stdout); m != nil {
		s.page = m[1]
	}
	return s, nil
}

// get reads JSON.
func get(ctx context.Context, url string, v any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, res.Status, text)
	}
	return json.Unmarshal(text, v)
}

// sample is a run of a service under one mode.
type sample struct {
	Service  string         `json:"service,omitempty"` // "": hello
	Mode     string         `json:"mode"`
	Round    int            `json:"round"`
	Requests int64          `json:"requests"`
	Failed   int64          `json:"failed"`
	CPU      time.Duration  `json:"cpu_ns"` // of the service
	RSS      int64          `json:"rss_bytes"`
	P50      time.Duration  `json:"p50_ns"`
	P99      time.Duration  `json:"p99_ns"`
	P999     time.Duration  `json:"p999_ns"`
	Stats    recorder.Stats `json:"stats,omitzero"` // between before and after the load, of times alone
}

func (s *sample) perRequest() float64 { return float64(s.CPU) / float64(max(s.Requests, 1)) / 1000 }

// mode is how a service runs.
type mode struct {
	name string
	args []string
}

// modes are without a recorder, with one that is always on, and with one within its budget. Something is slow in each of them, by chance:
// that is what the recorder is for.
var modes = []mode{
	{"off", nil},
	{"full", []string{"-admin", "127.0.0.1:0", "-recorder-cpu", "1"}},
	{"budget", []string{"-admin", "127.0.0.1:0"}},
}

// cost runs the modes in rounds whose order is drawn by lot.
func (d *driver) cost(ctx context.Context) error {
	fmt.Printf("hello, %.0f requests/s, %v a run, %d rounds\n", d.rate, d.length, d.rounds)
	lot := rand.New(rand.NewPCG(uint64(d.set.Started.UnixNano()), 0))
	for round := 1; round <= d.rounds; round++ {
		for _, i := range lot.Perm(len(modes)) {
			if err := d.costOf(ctx, worker{program: "hello", rate: d.rate, length: d.length}, modes[i].name, modes[i].args, round); err != nil {
				return err
			}
		}
	}
	return nil
}

// worker is a service that is loaded.
type worker struct {
	program, path string
	args          []string
	rate          float64
	length        time.Duration
	beside        func(context.Context, *service) // during the load; nil: nothing
}

// costOf adds a run of a service.
func (d *driver) costOf(ctx context.Context, w worker, mode string, args []string, round int) error {
	s, err := d.run(ctx, w, slices.Concat(w.args, args))
	if err != nil {
		return fmt.Errorf("%s, %s: %w", w.program, mode, err)
	}
	s.Mode, s.Round = mode, round
	if w.program != "hello" {
		s.Service = w.program
	}
	d.samples = append(d.samples, s)
	fmt.Printf("%2d %-7s %-7s %.1f µs of CPU a request, p50 %v, p99 %v, p99.9 %v, %d MB, on for %.0f%%\n", round, w.program, s.Mode, s.perRequest(),
		s.P50, s.P99, s.P999, s.RSS>>20, 100*s.Stats.Coverage())
	return nil
}

func (d *driver) run(ctx context.Context, w worker, args []string) (s sample, err error) {
	service, err := d.start(ctx, w.program, args...)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, service.Stop()) }()
	var before recorder.Stats
	var cpu time.Duration
	var merr error
	stats := func(to *recorder.Stats) error {
		if service.page == "" {
			return nil
		}
		return get(ctx, service.page+"stats", to)
	}
	loading, end := context.WithCancel(ctx)
	defer end()
	if w.beside != nil {
		go w.beside(loading, service)
	}
	r, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{{Method: http.MethodGet, URL: service.url + w.path}}, Rate: w.rate, Duration: w.length, Warmup: d.warmup,
		OnMeasure: func() {
			merr = stats(&before)
			var cerr error
			cpu, cerr = machine.CPUTime(service.Pid())
			merr = cmp.Or(merr, cerr)
		},
	})
	if err = cmp.Or(err, merr); err != nil {
		return s, err
	}
	if r.Interrupted {
		return s, context.Cause(ctx)
	}
	after, err := machine.CPUTime(service.Pid())
	if err != nil {
		return s, err
	}
	s.CPU = after - cpu
	if s.RSS, err = machine.PeakRSS(service.Pid()); err != nil {
		return s, err
	}
	s.Requests, s.Failed = r.Requests(), r.Requests()-r.Statuses[http.StatusOK]
	s.P50, s.P99, s.P999 = r.Latency.Quantile(.5), r.Latency.Quantile(.99), r.Latency.Quantile(.999)
	if err = stats(&s.Stats); err == nil {
		s.Stats = less(s.Stats, before)
	}
	return s, err
}

// less returns the times and counts of b after those of a.
func less(b, a recorder.Stats) recorder.Stats {
	b.Passed -= a.Passed
	b.Covered -= a.Covered
	b.Requests -= a.Requests
	b.Slow -= a.Slow
	b.Kept -= a.Kept
	b.Snapshots -= a.Snapshots
	b.Analyzed -= a.Analyzed
	b.CPU -= a.CPU
	b.Cost.Tracing -= a.Cost.Tracing
	b.Cost.Snapshots -= a.Cost.Snapshots
	b.Cost.Analysis -= a.Cost.Analysis
	b.Cost.Budget -= a.Cost.Budget
	return b
}
