// Command tailstat proves package tailstat: that its intervals hold where the truth is computed, how often it finds a
// difference between a service and itself, beside methods that take requests for independent, and what it finds where a
// difference is planted. make bench-tailstat runs it.
//
//	go run ./tailstat                      # all that needs no quiet machine: synthetic services, and the recorded runs
//	go run ./tailstat -part record         # record runs of three services anew, quiet and beside a neighbour: 50 minutes
//	go run ./tailstat -part alarms,power -runs results/tailstat-runs-DATE.json.gz
//	go run ./tailstat -judge results/tailstat-DATE.json -markdown      # the tables of docs/guides/tailstat.md
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
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
)

// driver is what the parts share.
type driver struct {
	bin     string        // folder of the built services
	results string        // folder for raw results; "": keep none
	runs    string        // file of recorded runs
	length  time.Duration // of a recorded run
	count   int           // recorded runs of a service
	trials  int
	set     *figure.Set
	found   measured
	out     io.Writer
}

func main() {
	log.SetFlags(0)
	d := driver{out: os.Stdout}
	flag.StringVar(&d.bin, "bin", "../bin/tailstat", "`folder` of the built search, msgpush and hello")
	flag.StringVar(&d.results, "results", "results", "`folder` for the raw results; empty: keep none")
	flag.StringVar(&d.runs, "runs", "", "`file` of recorded runs (default: the newest in the folder of results)")
	flag.DurationVar(&d.length, "length", 5*time.Second, "length of a recorded run")
	flag.IntVar(&d.count, "count", 60, "`runs` of each service to record")
	flag.IntVar(&d.trials, "trials", 2000, "`trials` of each kind")
	part := flag.String("part", "", "comma-separated `parts`: "+strings.Join(partNames, ", ")+" (default: all but record)")
	var again figure.Again
	again.Flags(flag.CommandLine)
	markdown := flag.Bool("markdown", false, "with -judge: print the tables of the guide in place of the figures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := error(nil)
	if again.File != "" {
		err = d.again(again, *markdown)
	} else {
		err = d.bench(ctx, *part)
	}
	stop()
	if err != nil {
		log.Fatal("bench-tailstat: ", err)
	}
}

var partNames = []string{"synthetic", "sequential", "alarms", "power", "record"}

func (d *driver) bench(ctx context.Context, part string) error {
	parts := map[string]func(context.Context) error{
		"synthetic": d.synthetic, "sequential": d.sequential, "alarms": d.alarms, "power": d.power, "record": d.record,
	}
	names := partNames[:4]
	if part != "" {
		names = strings.Split(part, ",")
	}
	switch {
	case part == "neighbour": // a process that the part record starts
		return d.neighbour(ctx)
	case d.trials < 1 || d.count < 20 || d.length < time.Second:
		return errors.New("-trials is 1 at least, -count 20, -length 1s")
	}
	for _, name := range names {
		if parts[name] == nil {
			return fmt.Errorf("-part: no part %q; they are %s", name, strings.Join(partNames, ", "))
		}
	}
	if err := figure.CheckSave(d.results); err != nil {
		return err
	}
	if part == "record" {
		return d.record(ctx)
	}
	if slices.Contains(names, "alarms") || slices.Contains(names, "power") { // said now, not after the parts before
		if _, err := d.recorded(); err != nil {
			return err
		}
	}
	d.set = figure.New("tailstat")
	if part != "" {
		d.set.Benchmark += "-" + names[0]
	}
	d.set.Out = d.out
	d.set.Machine = figure.Machine()
	var err error
	for _, name := range names {
		fmt.Fprintf(d.out, "\n%s\n", name)
		if failed := parts[name](ctx); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, failed))
		}
		if ctx.Err() != nil {
			break // what was found is kept
		}
	}
	fmt.Fprintln(d.out)
	d.found.judge(d.set)
	d.found.keep(d.set)
	if d.results != "" && (err == nil || len(d.set.Figures) > 0) {
		err = errors.Join(err, d.set.Save(d.results))
	}
	return err
}

// again judges a file of results, or prints its tables.
func (d *driver) again(a figure.Again, markdown bool) error {
	out := d.out
	if markdown {
		out = io.Discard
	}
	err := a.Judge("tailstat", out, d.found.again)
	if err == nil && markdown {
		d.found.tables(d.out, "bench/results/"+filepath.Base(a.File))
	}
	return err
}

// recorded returns the file of recorded runs.
func (d *driver) recorded() (string, error) {
	if d.runs != "" {
		return d.runs, nil
	}
	names, err := filepath.Glob(filepath.Join(d.results, whole+"*.json.gz"))
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("no recorded runs in %s; record them on a quiet machine: go run ./tailstat -part record", d.results)
	}
	return slices.Max(names), nil
}
