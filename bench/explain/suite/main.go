//go:build linux

// Command suite plants causes into programs that do not tell them, and asks package reqtrace/verdict for the cause, the
// function and the holder. make bench-explain-suite builds the programs and runs it; with -real the programs are others'
// (bench/explain/real), and the table is the guide's.
//
//	bin/explain/suite                  # all plants: some nine minutes
//	bin/explain/suite -only 3 -traces /tmp/traces
//	bin/explain/suite -only 1-12 -rounds 5
//	bin/explain/suite -real -markdown
//
// A plant is a number: function names and strings of the programs are those of a plausible program, and what is true of
// a plant stands in the driver alone (plants.go). The programs are asked for a trace over HTTP, as evenkeel explain
// does it, while loadgen loads them in the open loop.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

// driver is what the plants share.
type driver struct {
	bin             string // folder of the built programs
	traces          string // folder to keep traces in; "": none
	from            string // folder of traces that were kept, which are judged again; "": none
	rounds          int
	busy            int    // busy loops during the runs
	procs           string // GOMAXPROCS of the programs; "": the plant's, or the runtime's
	length, warmup  time.Duration
	verbose         bool
	markdown        bool
	plants          []plant // those of the suite, or the real programs
	first, last     int     // numbers of the plants to run
	upstream, names string  // addresses of the services behind
	secure          string  // of one over TLS
	office          string  // of the one over gRPC
	out             io.Writer
}

// outcome is what one round of a plant showed.
type outcome struct {
	Number   int     `json:"number"`
	Name     string  `json:"name"`
	Requests int     `json:"requests"`
	Said     said    `json:"said"`
	Right    grade   `json:"right"`
	Accused  bool    `json:"accused,omitempty"` // the collector is named first, and did not run
	Steal    float64 `json:"steal"`             // share of the processors' time that the hypervisor took
	Pressure float64 `json:"pressure"`          // part of the time in which a thread waited for a processor
}

func main() {
	log.SetFlags(0)
	d := driver{out: os.Stdout}
	flag.StringVar(&d.bin, "bin", "../bin/explain", "`folder` of the built programs")
	results := flag.String("results", "results", "`folder` for the raw results; empty: keep none")
	flag.StringVar(&d.traces, "traces", "", "`folder` to keep the traces in; empty: keep none")
	flag.StringVar(&d.from, "from", "", "`folder` of kept traces that are judged again, in place of new ones")
	flag.IntVar(&d.rounds, "rounds", 1, "rounds of each plant")
	flag.DurationVar(&d.length, "length", 6*time.Second, "length of a trace: at 200 requests a second, shorter ones have less than the ten in their slowest 1% that a verdict asks for")
	flag.DurationVar(&d.warmup, "warmup", time.Second, "load before each run")
	flag.IntVar(&d.busy, "busy", 0, "`loops` that compute while the programs run")
	flag.StringVar(&d.procs, "procs", "", "GOMAXPROCS of the programs (default: the plant's, or the runtime's)")
	flag.BoolVar(&d.verbose, "v", false, "print each sentence")
	real := flag.Bool("real", false, "plant into programs that people run (bench/explain/real)")
	flag.BoolVar(&d.markdown, "markdown", false, "print a table for a page")
	only := flag.String("only", "", "`numbers` of the plants to run: 3, or 1-12 (default: all)")
	flag.Parse()
	d.plants = slices.Concat(plants, laterPlants)
	if *real {
		d.plants = realPrograms
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.choose(*only)
	if err == nil {
		err = d.bench(ctx, *results)
	}
	stop()
	if err != nil {
		log.Fatal("bench-explain-suite: ", err)
	}
}

// choose reads which plants to run.
func (d *driver) choose(only string) (err error) {
	d.last = math.MaxInt
	if only == "" {
		return nil
	}
	first, last, many := strings.Cut(only, "-")
	if d.first, err = strconv.Atoi(first); err == nil && many {
		d.last, err = strconv.Atoi(last)
	} else {
		d.last = d.first
	}
	if err != nil {
		return fmt.Errorf("-only %q: write a plant's number, or FROM-TO", only)
	}
	return nil
}

// bench runs the plants and prints what share of them is named right.
func (d *driver) bench(ctx context.Context, results string) error {
	if err := figure.CheckSave(results); err != nil {
		return err
	}
	end, err := d.serveBehind()
	if err != nil {
		return err
	}
	defer end()
	loops, err := machine.BusyLoops(ctx, d.busy)
	if err != nil {
		return err
	}
	defer loops()
	var all []outcome
	if d.markdown {
		fmt.Fprintln(d.out, "| program | planted | said | right |\n|---|---|---|---|")
	} else {
		fmt.Fprintf(d.out, "%3s %-52s %-5s %-5s %-5s %-5s %-5s %s\n", "", "planted", "cause", "func", "holdr", "doing", "what", "said")
	}
	for i := range d.plants {
		p := &d.plants[i]
		if p.number < d.first || p.number > d.last {
			continue
		}
		for round := range d.rounds {
			o, err := d.grow(ctx, p, round)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				o.Said.Sentence = err.Error()
			}
			all = append(all, o)
			if d.markdown {
				d.row(&o, p)
			} else {
				d.print(&o, p)
			}
		}
	}
	return d.save(all, results)
}

// grow runs a plant once. What cannot be analysed is wrong, and its error is what was said.
func (d *driver) grow(ctx context.Context, p *plant, round int) (o outcome, err error) {
	o = outcome{Number: p.number, Name: p.name}
	name := fmt.Sprintf("%02d-%d.trace", p.number, round)
	var t taken
	if d.from != "" {
		t, err = readTaken(filepath.Join(d.from, name))
	} else {
		t, err = d.trace(ctx, p)
	}
	if err == nil && d.traces != "" {
		err = errors.Join(os.MkdirAll(d.traces, 0o755), t.write(filepath.Join(d.traces, name)))
	}
	if err != nil {
		return o, err
	}
	o.Steal, o.Pressure = t.beside.Steal, t.waited
	return o, o.hear(ctx, &t, p)
}

// trace takes a trace of a plant's program under load.
func (d *driver) trace(ctx context.Context, p *plant) (taken, error) {
	dir, err := os.MkdirTemp("", "suite-")
	if err != nil {
		return taken{}, err
	}
	defer os.RemoveAll(dir)
	c, err := d.start(ctx, p, dir)
	if err != nil {
		return taken{}, err
	}
	defer func() { _ = c.Stop() }()
	return p.load.run(ctx, c, d.length, d.warmup)
}

// hear has a trace explained, and judges what is said.
func (o *outcome) hear(ctx context.Context, t *taken, p *plant) error {
	r, err := reqtrace.Analyze(ctx, bytes.NewReader(t.trace), reqtrace.Options{Beside: &t.beside})
	if err != nil {
		return err
	}
	v := verdict.Of(r)
	o.Requests, o.Said = r.Requests, saidBy(v)
	if r.Requests > 0 {
		o.Right = judge(o.Said, p.truth)
	}
	o.Accused = slices.Contains(collector, o.Said.Cause) &&
		!slices.ContainsFunc(r.Spans, func(s reqtrace.Span) bool { return !s.Stopped })
	return nil
}

func (d *driver) print(o *outcome, p *plant) {
	mark := func(judged, right bool) string {
		switch {
		case !judged:
			return "-"
		case right:
			return "yes"
		}
		return "NO"
	}
	t := &p.truth
	none := len(t.causes) == 0
	s := &o.Said
	text := fmt.Sprintf("%s %.0f%% at %s", s.Cause, 100*s.Share, s.Site)
	switch {
	case s.Cause == "":
		text = s.Sentence
	case s.Holder != "":
		text += fmt.Sprintf(", held by %s (%s)", s.Holder, s.Doing)
	}
	fmt.Fprintf(d.out, "%3d %-52s %-5s %-5s %-5s %-5s %-5s %s\n", o.Number, o.Name, mark(true, o.Right.Cause), mark(len(t.at) > 0, o.Right.Function),
		mark(len(t.holder) > 0, o.Right.Holder), mark(len(t.doing) > 0, o.Right.Doing), mark(!none && len(t.ops) > 0, o.Right.Op), text)
	if d.verbose {
		fmt.Fprintf(d.out, "    %d requests: %s\n", o.Requests, s.Sentence)
	}
}

// row prints an outcome as a row of a table in Markdown.
func (d *driver) row(o *outcome, p *plant) {
	right := "yes"
	if !o.Right.all() {
		right = "no"
	}
	program, planted, _ := strings.Cut(p.name, ": ")
	fmt.Fprintf(d.out, "| %s | %s | %s | %s |\n", program, planted, o.Said.Sentence, right)
}

// save prints the shares and keeps all.
func (d *driver) save(all []outcome, results string) error {
	name := "explain-suite"
	if d.plants[0].number > 100 {
		name = "explain-real"
	}
	set := figure.New(name)
	set.Out, set.Machine = d.out, figure.Machine()
	if d.markdown {
		set.Out = io.Discard
	}
	set.Raw["plants"], set.Raw["rounds"], set.Raw["seconds"] = all, d.rounds, d.length.Seconds()
	set.Raw["busy_loops"], set.Raw["gomaxprocs"] = d.busy, d.procs
	var planted, right, abstained, held, holders, nothing, silent, accused float64
	for i := range all {
		o := &all[i]
		t := d.truthOf(o.Number)
		accused += count(o.Accused)
		switch {
		case len(t.causes) == 0:
			nothing++
			silent += count(o.Right.Cause)
			continue
		case len(t.holder) > 0:
			held++
			holders += count(o.Right.Holder)
		}
		planted++
		right += count(o.Right.Cause && o.Right.Function)
		abstained += count(o.Said.Cause == "")
	}
	fmt.Fprintf(set.Out, "\n%.0f of %.0f causes (%.0f abstentions), %.0f of %.0f holders\n",
		right, planted, abstained, holders, held)
	fmt.Fprintf(set.Out, "no cause in %.0f of %.0f traces without a plant, the collector in %.0f where none ran\n",
		silent, nothing, accused)
	least := 90.
	if d.busy > 0 {
		least = 80
	}
	if planted > 0 {
		set.AtLeast("cause and function right and first", []float64{100 * right / planted}, least, " %")
	}
	if held > 0 {
		set.AtLeast("holder right", []float64{100 * holders / held}, least, " %")
	}
	if nothing > 0 {
		set.AtLeast("no cause where nothing is planted", []float64{100 * silent / nothing}, 100-100./60, " %")
	}
	set.AtMost("the collector named where none ran", []float64{accused}, 0, "")
	if results == "" {
		return nil
	}
	return errors.Join(os.MkdirAll(results, 0o755), set.Save(results))
}

func count(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

func (d *driver) truthOf(number int) truth {
	for i := range d.plants {
		if d.plants[i].number == number {
			return d.plants[i].truth
		}
	}
	return truth{}
}
