//go:build cgo && unix

// Command fastc compares leaf calls through package fastc with ordinary cgo, purego and the
// technique of fastcgo: a call, a stop of the world beside loops of calls, a budget, a request of
// examples/fastcserver. make bench-fastc runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/bench/figure"
	"evenkeel.dev/fastc"
)

// bench is one run of the command.
type bench struct {
	ctx    context.Context
	set    *figure.Set
	bin    string        // folder of evenkeel and fastcserver
	rounds int           // of everything
	length time.Duration // of a run against the server
}

var parts = []struct {
	name string
	run  func(*bench) error
}{
	{"calls", (*bench).calls},
	{"crash", (*bench).crash},
	{"stop", (*bench).stop},
	{"budget", (*bench).budget},
	{"server", (*bench).server},
}

func main() {
	log.SetFlags(0)
	bin := flag.String("bin", "../bin", "`folder` of the built evenkeel and fastcserver")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	quick := flag.Bool("quick", false, "a minute: few and short rounds, nothing is kept")
	only := flag.String("only", "", "one `part`: calls, crash, stop, budget or server")
	var again figure.Again
	again.Flags(flag.CommandLine)
	flag.Parse()
	if again.File != "" {
		if err := again.Judge("fastc", os.Stdout, judge); err != nil {
			log.Fatal("bench-fastc: ", err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	b := &bench{ctx: ctx, set: figure.New("fastc"), bin: *bin, rounds: 10, length: 4 * time.Second}
	if *quick {
		b.rounds, b.length = 2, time.Second
	}
	b.set.Machine = figure.Machine()
	b.set.Versions["fastc"] = fastc.Source()
	fmt.Println(fastc.Source())
	if *quick {
		*results = ""
	}
	err := b.measure(*only, *results)
	stop()
	if err != nil {
		log.Fatal("bench-fastc: ", err)
	}
}

// measure runs all parts, or one, and keeps what came out; also of those before an interrupt.
func (b *bench) measure(only, results string) (err error) {
	if err := figure.CheckSave(results); err != nil {
		return err
	}
	found := false
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		found = true
		if failed := p.run(b); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, failed))
			fmt.Fprintf(b.set.Out, "%s: %v\n", p.name, failed)
		}
		if b.ctx.Err() != nil {
			break
		}
	}
	if !found {
		return fmt.Errorf("no part %q: calls, crash, stop, budget or server", only)
	}
	if results != "" && (err == nil || len(b.set.Raw) > 0) {
		err = errors.Join(err, b.set.Save(results))
	}
	return err
}

// way is one way to call, in the tables.
type way struct {
	name string
	loop func(sig.Signature) func(int) float64
}

var ways = []way{
	{"C", func(s sig.Signature) func(int) float64 { return s.C }},
	{"cgo", func(s sig.Signature) func(int) float64 { return s.Cgo }},
	{"fast", func(s sig.Signature) func(int) float64 { return s.Fast }},
	{"Site", func(s sig.Signature) func(int) float64 { return s.Measured }},
	{"purego", func(s sig.Signature) func(int) float64 { return s.Purego }},
	{"fastcgo's technique", func(s sig.Signature) func(int) float64 { return s.Technique }},
}

// table prints a line a row: its name, then cells under the heads.
func table(heads []string, rows [][]string) {
	for _, row := range slices.Insert(slices.Clone(rows), 0, heads) {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s", []int{30, 22}[min(i, 1)], cell)
		}
		fmt.Println("  " + strings.TrimRight(line.String(), " "))
	}
}
