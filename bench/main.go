//go:build linux

// Command bench measures what README.md and docs claim:
//
//	go run . -list                  # every claim, with its peer, control and target
//	go run . -run 'gate/*'          # some cases; results go to bench/results
//	go run . -run httpd/json -quick # one short round, which saves nothing
//	go run . -judge results/FILE    # verdicts of saved results
//	go run . -page                  # docs/benchmarks.md, from the saved results
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/aio"
	"evenkeel.dev/bench/explain"
	"evenkeel.dev/bench/fastc"
	"evenkeel.dev/bench/gate"
	"evenkeel.dev/bench/gc"
	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/httpd"
	"evenkeel.dev/bench/load"
	"evenkeel.dev/bench/recorder"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	h := &harness.Harness{Cases: cases(), Out: os.Stdout}
	list := flag.Bool("list", false, "print the cases and their claims, and measure nothing")
	run := flag.String("run", "", "`case` to measure: a name, a group or a pattern such as gate/* (default: all)")
	ways := flag.String("ways", "", "comma-separated `ways` of a case to measure (default: all)")
	page := flag.Bool("page", false, "print docs/benchmarks.md from the results, and measure nothing")
	judge := flag.String("judge", "", "print the verdicts of this `file` of results again, and measure nothing")
	flag.BoolVar(&h.Quick, "quick", false, "one short round, to see that everything works; nothing is saved")
	flag.IntVar(&h.Rounds, "rounds", 0, "`rounds` of each case (default: the case's own number)")
	flag.DurationVar(&h.Length, "length", 0, "length of what is measured of a run (default: the case's own)")
	flag.DurationVar(&h.Patience, "patience", 2*time.Minute, "most to wait for a quiet machine before each run")
	flag.StringVar(&h.Results, "results", "results", "`directory` for the results; empty: save none")
	flag.StringVar(&h.Keep, "keep", "", "`directory` for what programs write, such as traces (default: keep nothing)")
	flag.Parse()
	if *ways != "" {
		h.Ways = strings.Split(*ways, ",")
		h.Results = "" // a part of a case does not replace the whole
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; name a case with -run", flag.Arg(0))
	case *list:
		h.List()
	case *page:
		err = h.Page(h.Results)
	case *judge != "":
		err = h.Judge(*judge)
	default:
		err = h.Run(ctx, *run)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func cases() []harness.Case {
	return slices.Concat(aio.Cases(), explain.Cases(), fastc.Cases(), gate.Cases(), gc.Cases(), httpd.Cases(),
		load.Cases(), recorder.Cases())
}
