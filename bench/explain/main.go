//go:build linux

// Command explain proves package reqtrace on services whose slow requests have a known cause, and
// measures what its analysis and its middleware cost. make bench-explain runs it.
//
//	go run ./explain              # all: fifty minutes
//	go run ./explain -quick       # some three minutes: shorter and fewer runs, nothing kept
//	go run ./explain -part plants -plant 3 -v
//
// The truth about a plant is the same load without it. It needs Linux.
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
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
)

// driver is what the measurements share.
type driver struct {
	bin     string // folder of the built services
	traces  string // folder to keep traces in; "": none
	rounds  int
	length  time.Duration // of a trace
	warmup  time.Duration
	quick   bool
	verbose bool
	only    int // plant; 0: all
	set     *figure.Set
	out     io.Writer
}

func main() {
	log.SetFlags(0)
	d := driver{out: os.Stdout}
	flag.StringVar(&d.bin, "bin", "../bin/explain", "`folder` of the built plant, search and msgpush")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.StringVar(&d.traces, "traces", "", "`folder` to keep the traces in; empty: keep none")
	flag.IntVar(&d.rounds, "rounds", 5, "rounds of each plant")
	flag.DurationVar(&d.length, "length", 5*time.Second, "length of a trace")
	flag.DurationVar(&d.warmup, "warmup", 500*time.Millisecond, "load before each run")
	flag.BoolVar(&d.quick, "quick", false, "one round, short ones; nothing is kept")
	flag.BoolVar(&d.verbose, "v", false, "print each run")
	part := flag.String("part", "", "`part` to measure: "+strings.Join(partNames, ", ")+" (default: all)")
	flag.IntVar(&d.only, "plant", 0, "`number` of the only plant to measure (default: all)")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("explain", d.out, judge); err != nil {
			log.Fatal("bench-explain: ", err)
		}
		return
	}
	if d.quick {
		d.rounds, d.length, *results = 1, 2*time.Second, ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.bench(ctx, *part, *results)
	stop()
	if err != nil {
		log.Fatal("bench-explain: ", err)
	}
}

// partNames are the parts, in order.
var partNames = []string{"plants", "stops", "search", "analysis", "speed", "middleware", "diff", "asserts"}

// bench measures everything, or a part. What was measured before an error is kept.
func (d *driver) bench(ctx context.Context, part, results string) error {
	parts := map[string]func(context.Context) error{
		"plants": d.plants, "stops": d.stops, "search": d.search, "analysis": d.analysis, "speed": d.speed,
		"middleware": d.middleware, "diff": d.diff, "asserts": d.asserts,
	}
	names := partNames
	if part != "" {
		if parts[part] == nil {
			return fmt.Errorf("-part: no part %q; they are %s", part, strings.Join(partNames, ", "))
		}
		names = []string{part}
	}
	if err := figure.CheckSave(results); err != nil {
		return err
	}
	d.set = figure.New("explain")
	d.set.Out, d.set.Machine = d.out, figure.Machine()
	d.set.Raw["rounds"], d.set.Raw["seconds"] = d.rounds, d.length.Seconds()
	var err error
	for _, n := range names {
		if failed := parts[n](ctx); failed != nil { // too little memory, say
			err = errors.Join(err, fmt.Errorf("%s: %w", n, failed))
			fmt.Fprintf(d.out, "%s: %v\n", n, failed)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if results != "" && len(d.set.Figures) > 0 {
		err = errors.Join(err, d.set.Save(results))
	}
	return err
}
