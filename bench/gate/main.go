// Command gate measures what gcgate does to the tail of a service: two replicas of
// examples/msgpush behind a balancer, a core each, beside the stock runtime and its rivals. make
// bench-gate runs it; docs/guides/gcgate-benchmarks.md says how it is measured and what came out.
//
//	go run ./gate                   # all, over an hour: figures with targets, raw results
//	go run ./gate -quick            # is everything there? A few seconds, no figures
//	go run ./gate -part pairs -modes default,gated -rounds 1
//	go run ./gate -part idle        # what a gate costs a process that has nothing to do: 10 minutes
//	go run ./gate -part polls       # health checks from 10 ms to HAProxy's default: 6 minutes
//	go run ./gate -part hello -original DIR     # the original's own example, beside the original: DIR has the source of gci-go v0.2
//	go run ./gate -part literal -original DIR   # the original's own loop, beside the original
//	go run ./gate -part push        # the same as benchmarks of this module, and with a window that lives
//	go run ./gate -part haproxy     # what teams run, each with its floor and its overlap: lone, haproxy, envoy, grpc, raft, quota, turns
//	go run ./gate -part wholepath   # examples/wholepath by httpd and by net/http, with 10,000 idle connections
//	go run ./gate -part faults      # 1,000,000 requests while replicas, etcd, HAProxy, Envoy and Raft leaders fail
//	go run ./gate -demo ../demo     # what make demo-haproxy runs
//	go run ./gate -judge results/gate-DATE.json   # its figures again, from its raw results; -w: into the file
//
// It needs Linux, and HAProxy, nginx and etcd for what is measured with them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
)

// driver is what the measurements share.
type driver struct {
	bin    string // folder of the built programs
	deploy string // folder of the balancers' configurations
	dir    string // scratch
	rounds int
	rivals int           // rounds of the modes on which no target hangs
	length time.Duration // of one run
	warmup time.Duration
	quick  bool
	steps  int // of a calibration, at most
	loads  []load
	modes  []mode
	work   []string // the workload, as flags of msgpush
	live   int64    // bytes of a replica's window
	cores  int

	settle, idleFor time.Duration // of the part idle
	polledFor       time.Duration // of one case of the part polls
	groups          quotas        // of the part quota; nil: it does not run
	asks            int           // for a collection in both replicas, in one case of polls, at most
	polling         polling       // how HAProxy polls just now
	original        string        // folder of gci-go's source; "": none
	program         string        // built with it

	set *figure.Set
	out io.Writer

	front, socket, etcd string   // addresses
	addrs, grpcs        []string // of the replicas

	samples             []sample // all, in order
	idled               []idleFigures
	cases               []polled
	pushed              []pushed
	simulated           []simulatedTurns
	lastRate, lastShare float64 // of the calibration before
}

func main() {
	log.SetFlags(0)
	var d driver
	flag.StringVar(&d.bin, "bin", "../bin", "`folder` of the built msgpush and peer")
	flag.StringVar(&d.deploy, "deploy", "../deploy", "`folder` of the balancers' configurations")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.IntVar(&d.rounds, "rounds", usualRounds, "interleaved rounds; of wholepath twice as many, if this is not given: for its tails fewer tell nothing")
	flag.IntVar(&d.rivals, "rivals", 2, "rounds of the rivals and of nginx")
	flag.DurationVar(&d.length, "length", 12*time.Second, "length of one run")
	flag.DurationVar(&d.warmup, "warmup", 2*time.Second, "load before each run")
	list := flag.String("modes", "", "comma-separated `modes` of two replicas (default: all)")
	loads := flag.String("loads", "moderate,high", "comma-separated `loads` on two replicas")
	only := flag.String("part", "", "`part` to measure, one of "+strings.Join(parts, ", ")+" (default: all of them), or faults: fail replicas, etcd, balancers and Raft leaders under load, and count failed requests")
	flag.DurationVar(&d.settle, "settle", time.Minute, "idle: time without a request before measuring")
	flag.DurationVar(&d.idleFor, "idle", 5*time.Minute, "idle: time without a request that is measured")
	flag.DurationVar(&d.polledFor, "polled", time.Minute, "polls: time under load for each way to poll")
	flag.IntVar(&d.asks, "asks", 100, "polls: collections asked of both replicas at once, at most, for each way to poll")
	flag.StringVar(&d.original, "original", "", "hello, shedding, literal: `folder` of the source of gci-go v0.2, to run it beside (git clone -b v0.2 https://github.com/gcinterceptor/gci-go)")
	flag.BoolVar(&d.quick, "quick", false, "a few seconds, to see that everything works")
	requests := flag.Int("n", 1_000_000, "faults: requests, a quarter for each system")
	systems := flag.String("systems", faultyNames(), "faults: comma-separated `systems` that get their quarter")
	rate := flag.Float64("rate", 0, "faults: `requests` a second, but for raft's (default: found by a calibration, which needs a machine where nothing else runs)")
	demo := flag.String("demo", "", "run the demo, and write its files to this `folder`")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("gate", os.Stdout, judge); err != nil {
			log.Fatal("bench-gate: ", err)
		}
		return
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.prepare(*list, *loads)
	if err == nil && *demo == "" && !d.quick {
		err = figure.CheckSave(*results)
	}
	if err == nil {
		switch {
		case *demo != "":
			err = d.demo(ctx, *demo)
		case *only == "faults":
			err = d.faults(ctx, *systems, *requests, *rate, *results)
		default:
			err = d.bench(ctx, *only, *results)
		}
		err = errors.Join(err, os.RemoveAll(d.dir))
	}
	stop()
	if err != nil {
		log.Fatal("bench-gate: ", err)
	}
}

// prepare fills in what the flags leave open.
func (d *driver) prepare(modes, loads string) (err error) {
	d.steps, d.cores, d.set = 5, runtime.NumCPU(), figure.New("gate")
	if d.out == nil {
		d.out = os.Stdout
	}
	d.set.Out = d.out
	const size, window = 1024, 300_000
	d.live = size * window
	d.work = []string{"-shape", "ptr", "-size", fmt.Sprint(size), "-batch", "64", "-window", fmt.Sprint(window)}
	if d.quick {
		d.steps, d.asks = 1, 2
		d.settle, d.idleFor, d.polledFor = time.Second, time.Second, time.Second
		d.rounds, d.length, d.warmup, d.live = 1, time.Second, 100*time.Millisecond, 20<<20
		d.work = []string{"-shape", "ptr", "-batch", "64", "-window", "20000"}
	}
	if d.modes, err = choose(modes); err != nil {
		return err
	}
	for _, name := range strings.Split(loads, ",") {
		l, ok := map[string]load{"moderate": {name: "moderate", share: moderate}, "high": {name: "high", share: .5}}[name]
		if !ok {
			return fmt.Errorf("-loads: no load %q; they are moderate, high", name)
		}
		d.loads = append(d.loads, l)
	}
	if d.dir, err = os.MkdirTemp("", "bench-gate-"); err != nil {
		return err
	}
	for _, a := range []*string{&d.front, &d.socket, &d.etcd} {
		if *a, err = freeAddr(); err != nil {
			return err
		}
	}
	for range mostReplicas {
		for _, addrs := range []*[]string{&d.addrs, &d.grpcs} {
			a, err := freeAddr()
			if err != nil {
				return err
			}
			*addrs = append(*addrs, a)
		}
	}
	d.set.Machine = figure.Machine()
	d.set.Versions["peers"] = d.versions()
	if !d.quick {
		d.client()
	}
	return nil
}

// client makes this process a load generator that leaves the replicas alone as far as it can.
func (d *driver) client() {
	if os.Getenv("GOMAXPROCS") == "" {
		// A thread that sleeps in the kernel keeps its P for up to 10 ms: the pacer's, and each that watches a
		// core for stalls. Where they have all there are, a request that falls due waits until sysmon looks.
		runtime.GOMAXPROCS(2*runtime.NumCPU() + 1)
	}
	debug.SetGCPercent(400)
	how := fmt.Sprintf("nice %d against %d", -niceness, 0)
	if err := raise(); err != nil {
		how = fmt.Sprintf("nice 0 against %d", niceness) // only root may raise
	}
	d.set.Raw["priority"] = how
	fmt.Fprintf(d.out, "Replicas have a core each (of %d). Client and balancer share these cores and stand for other machines, so they go first: %s.\n", d.cores, how)
	d.sayStalls()
}

// sayStalls says so where the cores cannot be watched for stalls.
func (d *driver) sayStalls() {
	if _, err := watchStalls(runtime.NumCPU()).end(); err != nil {
		how := fmt.Sprintf("not watched for, and no request is set aside: %v", err)
		d.set.Raw["stalls"] = how
		fmt.Fprintln(d.out, "Stalls of the cores are", how)
	}
}

// mostReplicas is how many replicas a part has at most.
const mostReplicas = 4

// parts are what can be measured alone, in the order of the whole.
var parts = []string{"pairs", "single", "cost", "idle", "polls", "hello", "shedding", "literal", "push", "lone", "haproxy", "envoy", "grpc", "raft", "quota", "turns", "wholepath"}

// measures are what measures each part. Each adds its figures also where it ends with an error.
func (d *driver) measures() map[string]func(context.Context) error {
	m := map[string]func(context.Context) error{
		"pairs": d.pairs, "single": d.single, "cost": d.cost, "idle": d.idle, "polls": d.polls, "literal": d.literal, "push": d.push,
	}
	for name := range teams {
		m[name] = func(ctx context.Context) error { return d.team(ctx, name) }
	}
	m["quota"], m["turns"] = d.quota, d.turns
	return m
}

// bench measures everything, or a part.
func (d *driver) bench(ctx context.Context, only, results string) error {
	measures := d.measures()
	names := parts
	if only != "" {
		if measures[only] == nil {
			return fmt.Errorf("-part: no part %q; they are %s", only, strings.Join(parts, ", "))
		}
		names = []string{only}
		d.set.Benchmark += "-" + only
	}
	d.announce(names)
	var err error
	for _, n := range names {
		begun := time.Now()
		if failed := measures[n](ctx); failed != nil { // a program that it needs is missing, say
			err = errors.Join(err, fmt.Errorf("%s: %w", n, failed))
			fmt.Fprintf(d.out, "%s: %v\n", n, failed)
		} else {
			fmt.Fprintf(d.out, "%s took %v\n", n, time.Since(begun).Round(time.Second))
		}
		if ctx.Err() != nil {
			break // what was measured is kept
		}
	}
	d.keep()
	if results != "" && !d.quick && (err == nil || len(d.samples)+len(d.set.Figures) > 0) {
		err = errors.Join(err, d.set.Save(results))
	}
	return err
}
