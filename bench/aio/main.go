// Command aio measures package aio beside its peers and a server in C: the same client, each
// server in a process of its own on a core of its own, in interleaved rounds. make bench-aio runs
// it; -judge shows the tables, figures and plots of a run that is recorded.
//
//	go run ./aio                          # all parts, over an hour: figures with targets, raw results
//	go run ./aio -quick                   # six minutes
//	go run ./aio -part hostile            # one of them: echo, accept, idle, hostile
//	go run ./aio -only echo64k -servers gaio,gnet,aio-epoll -rounds 3
//	go run ./aio -judge results/aio-DATE.json -plots ../docs/img
//
// It needs Linux and two cores. Root lets it count system calls; a C compiler builds the limit.
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
	"runtime"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
)

// driver is what the measurements share.
type driver struct {
	bin     string        // folder of the built programs
	rounds  int           // of the part that has most
	length  time.Duration // of a measured time
	warmup  time.Duration
	quick   bool
	tiny    bool // as little as shows that everything is there
	swap    bool // aio reads into its shared buffers where messages are small
	servers []server
	loads   []load
	out     io.Writer

	raw recorded
}

func main() {
	log.SetFlags(0)
	var d driver
	flag.StringVar(&d.bin, "bin", "../bin/aio", "`folder` of the built server, client and cepoll")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.IntVar(&d.rounds, "rounds", 0, "interleaved `rounds` (default: 10, of part hostile 20)")
	flag.DurationVar(&d.length, "length", 1500*time.Millisecond, "length of a measured time")
	flag.BoolVar(&d.quick, "quick", false, "two rounds, short ones, of a part of the points")
	chosen := flag.String("part", "", "comma-separated `parts`: echo, accept, idle, hostile (default: all)")
	only := flag.String("only", "", "comma-separated `workloads` of these: "+workloadNames()+" (default: all)")
	servers := flag.String("servers", "", "comma-separated `servers`: "+strings.Join(names(allServers), ", ")+" (default: all)")
	read := flag.String("read", "own", "what aio reads small messages into: own (a buffer a connection, as gaio's README does) or swap (its shared one)")
	markdown := flag.Bool("markdown", false, "print the figures as the guide's table, too")
	plots := flag.String("plots", "../docs/img", "`folder` for the plots; empty: draw none")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["plots"] && (again.File != "" || d.quick || *chosen != "" || *only != "" || *servers != "") {
		*plots = "" // a part of a run does not take the place of a whole one's pictures
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	d.out = os.Stdout
	d.swap = *read == "swap"
	err := error(nil)
	switch {
	case again.File != "":
		err = show(again, *plots, *markdown, d.out)
	case !d.swap && *read != "own":
		err = fmt.Errorf("-read %s is not known: it is swap or own", *read)
	default:
		if err = d.choose(*chosen, *only, *servers, given); err == nil {
			err = d.bench(ctx, *chosen, *results, *plots, *markdown)
		}
	}
	stop()
	if err != nil {
		log.Fatal("bench-aio: ", err)
	}
}

// bench measures, shows and keeps what came out; also what came out before an interrupt.
func (d *driver) bench(ctx context.Context, chosen, results, plots string, markdown bool) error {
	if runtime.NumCPU() < 2 {
		return errors.New("server and client need a core each, and there is one: run it on a machine with two")
	}
	if err := errors.Join(d.checkFiles(), figure.CheckSave(results)); err != nil {
		return err
	}
	set := figure.New("aio")
	if chosen != "" {
		set.Benchmark += "-" + strings.ReplaceAll(chosen, ",", "-")
	}
	set.Out = d.out
	set.Machine = figure.Machine()
	set.Versions["peers"] = peers()
	d.raw = recorded{Rounds: d.rounds, LengthMS: d.length.Milliseconds(), Quick: d.quick, Read: map[bool]string{true: "swap", false: "own"}[d.swap]}
	if err := d.findDefault(ctx); err != nil {
		return err
	}
	d.printPlan()
	err := d.measure(ctx)
	if len(d.raw.Samples) == 0 {
		return errors.Join(err, errors.New("nothing was measured"))
	}
	set.Raw["aio"] = &d.raw
	tables(&d.raw, d.out)
	targets(set, &d.raw)
	if markdown {
		figureTable(set, d.out)
	}
	if results != "" {
		err = errors.Join(err, set.Save(results))
	}
	if plots != "" && err == nil {
		err = plotAll(&d.raw, plots)
	}
	if n := len(d.raw.Failures); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d runs failed: they are listed above and in the results", n))
	}
	return err
}

// checkFiles reports a limit on open files that 8,192 connections do not fit into.
func (d *driver) checkFiles() error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return err
	}
	// gaio duplicates each descriptor of 8,192 before it closes the first.
	const need = 18_000 + 512 // of idle18k; 2*8192 are less
	if r.Max < need {
		return fmt.Errorf("servers need %d descriptors and the hard limit is %d: raise it with ulimit -Hn %d as root, or as CONTRIBUTING.md says", need, r.Max, need)
	}
	return nil
}

// path returns a built program.
func (d *driver) path(name string) string { return filepath.Join(d.bin, name) }
