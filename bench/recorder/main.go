//go:build linux

// Command recorder measures what reqtrace/recorder costs a service, and whether what it says of planted causes is true. make bench-recorder
// runs it.
//
//	go run ./recorder               # half an hour: figures with targets, raw results
//	go run ./recorder -only cost    # hello without a recorder, with one that is always on, and with one within its budget
//	go run ./recorder -only planted # ten minutes of two planted causes, and of a third from the middle on
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
	"regexp"
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
	planted time.Duration
	rate    float64
	set     *figure.Set
	samples []sample
	plant   *plantResult
}

func main() {
	log.SetFlags(0)
	d := &driver{}
	flag.StringVar(&d.bin, "bin", "../bin/recorder", "`folder` of the built hello and plant")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.IntVar(&d.rounds, "rounds", 8, "interleaved rounds of cost")
	flag.DurationVar(&d.length, "length", 40*time.Second, "length of a run of cost")
	flag.DurationVar(&d.planted, "planted", 10*time.Minute, "length of the run of planted causes")
	flag.Float64Var(&d.rate, "rate", 8000, "requests a second of cost")
	only := flag.String("only", "", "`part` to measure: cost or planted (default: both)")
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
	if only == "" || only == "cost" {
		if err := d.cost(ctx); err != nil {
			return err
		}
		d.set.Raw["runs"] = d.samples
	}
	if only == "" || only == "planted" {
		if err := d.runPlanted(ctx); err != nil {
			return err
		}
		d.set.Raw["planted"] = d.plant
	}
	d.figures()
	if results == "" {
		return nil
	}
	return d.set.Save(results)
}

// judge adds the figures of a recorded file.
func judge(set *figure.Set, raw figure.Recorded) error {
	d := &driver{set: set}
	_, err := raw.Read("runs", &d.samples)
	_, perr := raw.Read("planted", &d.plant)
	d.figures()
	return errors.Join(err, perr)
}

func (d *driver) figures() {
	if len(d.samples) > 0 {
		d.costFigures()
	}
	if d.plant != nil {
		d.plantedFigures()
	}
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

// sample is a run of hello under one mode.
type sample struct {
	Mode     string         `json:"mode"`
	Round    int            `json:"round"`
	Requests int64          `json:"requests"`
	Failed   int64          `json:"failed"`
	CPU      time.Duration  `json:"cpu_ns"` // of the service, without the children of its recorder
	RSS      int64          `json:"rss_bytes"`
	P50      time.Duration  `json:"p50_ns"`
	P99      time.Duration  `json:"p99_ns"`
	P999     time.Duration  `json:"p999_ns"`
	Stats    recorder.Stats `json:"stats,omitzero"` // between before and after the load, of times alone
}

func (s *sample) perRequest() float64 { return float64(s.CPU) / float64(max(s.Requests, 1)) / 1000 }

// modes are how hello runs. Something is slow in each of them, by chance: that is what the recorder is for.
var modes = []struct {
	name string
	args []string
}{
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
			s, err := d.costOf(ctx, modes[i].name, modes[i].args)
			if err != nil {
				return fmt.Errorf("%s: %w", modes[i].name, err)
			}
			s.Round = round
			d.samples = append(d.samples, s)
			fmt.Printf("%2d %-7s %.1f µs of CPU a request, p50 %v, p99 %v, p99.9 %v, %d MB, on for %.0f%%\n", round, s.Mode, s.perRequest(),
				s.P50, s.P99, s.P999, s.RSS>>20, 100*s.Stats.Coverage())
		}
	}
	return nil
}

func (d *driver) costOf(ctx context.Context, mode string, args []string) (s sample, err error) {
	service, err := d.start(ctx, "hello", args...)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, service.Stop()) }()
	s.Mode = mode
	var before recorder.Stats
	var cpu time.Duration
	var merr error
	stats := func(to *recorder.Stats) error {
		if service.page == "" {
			return nil
		}
		return get(ctx, service.page+"stats", to)
	}
	r, err := loadgen.Run(ctx, loadgen.Options{
		Targets: []loadgen.Target{{Method: http.MethodGet, URL: service.url}}, Rate: d.rate, Duration: d.length, Warmup: 5 * time.Second,
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
	b.Snapshots -= a.Snapshots
	b.Analyzed -= a.Analyzed
	b.CPU -= a.CPU
	b.Cost.Tracing -= a.Cost.Tracing
	b.Cost.Snapshots -= a.Cost.Snapshots
	b.Cost.Analysis -= a.Cost.Analysis
	b.Cost.Budget -= a.Cost.Budget
	return b
}
