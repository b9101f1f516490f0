// Command tailstat proves package tailstat: that its intervals hold where the truth is computed, how often it finds a
// difference between a service and itself, beside methods that take requests for independent, and what it finds where a
// difference is planted. make bench-tailstat runs it.
//
//	go run ./tailstat                      # all that needs no quiet machine: synthetic services, and the recorded runs
//	go run ./tailstat -part record         # record runs of three services anew, quiet and beside a neighbour: 50 minutes
//	go run ./tailstat -part alarms -runs results/tailstat-runs-DATE.json.gz
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
	part := flag.String("part", "", "`part`: "+strings.Join(partNames, ", ")+" (default: all but record)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.bench(ctx, *part)
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
	switch {
	case part != "" && part != "neighbour" && parts[part] == nil:
		return fmt.Errorf("-part: no part %q; they are %s", part, strings.Join(partNames, ", "))
	case d.trials < 1 || d.count < 20 || d.length < time.Second:
		return errors.New("-trials is 1 at least, -count 20, -length 1s")
	case part == "record":
		return d.record(ctx)
	case part == "neighbour":
		return d.neighbour(ctx)
	}
	d.set = figure.New("tailstat")
	d.set.Out = d.out
	d.set.Machine = figure.Machine()
	for _, name := range partNames[:4] {
		if part != "" && name != part {
			continue
		}
		fmt.Fprintf(d.out, "\n%s\n", name)
		if err := parts[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if d.results == "" {
		return nil
	}
	return d.set.Save(d.results)
}

// recorded returns the file of recorded runs.
func (d *driver) recorded() (string, error) {
	if d.runs != "" {
		return d.runs, nil
	}
	names, err := filepath.Glob(filepath.Join(d.results, "tailstat-runs-*.json.gz"))
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("no recorded runs in %s; record them on a quiet machine: go run ./tailstat -part record", d.results)
	}
	return slices.Max(names), nil
}
