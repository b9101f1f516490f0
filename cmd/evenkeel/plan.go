package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/gcgate/capacity"
)

const planHelp = `
evenkeel plan [flags] SOURCE

Says what replicas of a service need to collect their garbage: how many there must be, memory in
all, the CPU of a request with the collector's share, how far the load is from the knee, and how
many must be able to collect at once; for GOGC=100, GOGC=400 and behind gates (package gcgate),
side by side. All of it is arithmetic, in ranges; it predicts no latency.

SOURCE is a run.json of evenkeel run, the GODEBUG=gctrace=1 log of a program (- is standard
input), or the URL of a replica's status page (httpgate.Status):

  evenkeel plan run.json                   replicas for the load that was measured
  evenkeel plan -times 4 -memory 2GiB run.json
                                           for four times that, in containers of 2 GiB
  evenkeel plan -n 6 -k 2 run.json         six replicas, of which two may collect at once
  evenkeel plan -n 4 server.log            a log knows nothing of requests or of the CPU that they take
  evenkeel plan -n 4 http://10.0.0.7:8080/debug/gate
                                           one of four replicas that run now

docs/guides/plan.md explains each row.
`

// planFlags are the flags of plan.
type planFlags struct {
	replicas, turns int
	memory          byteSize
	times, rate     cli.Decimal
	held, watch     cli.Period
	label           string
	asJSON          bool
}

func runPlan(ctx context.Context, a *cli.App, args []string) error {
	f := planFlags{watch: cli.Period(10 * time.Second)}
	fs := a.NewFlags("plan", planHelp)
	fs.Var((*cli.Whole)(&f.replicas), "n", "there are `N` replicas (default: as many as are needed; of a status page, what it says)")
	fs.Var((*cli.Whole)(&f.turns), "k", "`K` replicas may collect at once (default 1; of a status page, what it says)")
	fs.Var(&f.memory, "memory", "one replica may take this `size`, such as 2GiB: a gate's trigger then follows the allocation (default: no limit; of a status page, what it says)")
	fs.Var(&f.times, "times", "plan for this many `times` the load of the source (default 1; of a status page the number of replicas, each with as much)")
	fs.Var(&f.rate, "rate", "plan for this many `requests` a second in all (default: the source's)")
	fs.Var(&f.held, "held", "a collection holds its turn for this `time` (default: what a status page has measured, else an estimate)")
	fs.Var(&f.watch, "for", "watch a status page for this `time`")
	fs.StringVar(&f.label, "label", "", "take the runs with this `label` of a run.json that has several")
	fs.BoolVar(&f.asJSON, "json", false, "print all figures as JSON")
	names, rest, err := a.Parse(fs, args)
	if err != nil {
		return err
	}
	switch names = append(names, rest...); {
	case len(names) == 0:
		return a.Wrong(fs, "no source; name a run.json, a gctrace log, - for standard input, or the URL of a status page")
	case len(names) > 1:
		return a.Wrong(fs, "%d sources; it reads one", len(names))
	case f.replicas < 0 || cli.Given(fs, "n") && f.replicas == 0:
		return a.Wrong(fs, "-n %d; write how many replicas there are", f.replicas)
	case f.turns < 0 || cli.Given(fs, "k") && f.turns == 0:
		return a.Wrong(fs, "-k %d; write how many may collect at once", f.turns)
	case cli.Given(fs, "times") && !positive(float64(f.times)):
		return a.Wrong(fs, "-times %v; write a number above 0, such as 2", float64(f.times))
	case cli.Given(fs, "rate") && !positive(float64(f.rate)):
		return a.Wrong(fs, "-rate %v; write requests a second, such as 2000", float64(f.rate))
	case cli.Given(fs, "rate") && cli.Given(fs, "times"):
		return a.Wrong(fs, "-rate and -times both say for which load; leave one out")
	case f.watch < cli.Period(time.Second):
		return a.Wrong(fs, "-for %v is too short to see what is allocated; write at least 1s", &f.watch)
	case cli.Given(fs, "held") && f.held == 0:
		return a.Wrong(fs, "-held %v; write for how long a collection holds its turn", &f.held)
	case cli.Given(fs, "for") && !isURL(names[0]):
		return a.Wrong(fs, "-for watches a status page, and %s is none", names[0])
	case f.label != "" && isURL(names[0]):
		return a.Wrong(fs, "-label is of a run.json, and %s is none", names[0])
	}
	p, err := readPlanSource(ctx, names[0], &f)
	if err != nil {
		return err
	}
	if err := p.scale(&f); err != nil {
		return err
	}
	p.Ways, err = capacity.Compare(p.service, p.options)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Source, err)
	}
	p.judge()
	if f.asJSON {
		e := json.NewEncoder(a.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(p)
	}
	_, err = io.WriteString(a.Stdout, p.text(a.Style))
	return err
}

func positive(x float64) bool { return x > 0 && x <= math.MaxFloat64 }

// plan is what evenkeel plan says.
type plan struct {
	Source       string             `json:"source"`
	Requests     float64            `json:"requests_per_second,omitempty"` // of all replicas; 0: not known
	AllocRate    float64            `json:"bytes_per_second"`              // of all replicas
	Live         float64            `json:"live_bytes"`                    // of one
	Procs        int                `json:"procs,omitempty"`               // of one; 0: not known
	Replicas     int                `json:"replicas,omitempty"`            // 0: as many as are needed
	Turns        int                `json:"turns"`
	MemoryBytes  float64            `json:"memory_bytes,omitempty"` // of one; 0: no limit
	HeldMeasured bool               `json:"held_measured"`
	Held         capacity.Range     `json:"held_seconds,omitzero"` // where it was measured or given
	Ways         []capacity.Outlook `json:"ways"`
	Notes        []string           `json:"notes,omitempty"`

	service  capacity.Service
	options  capacity.Options
	measured float64 // CPU of requests, seconds a second; 0: not known
}

func (p *plan) note(format string, a ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, a...)) }

// scale makes of what was measured what to plan for.
func (p *plan) scale(f *planFlags) error {
	times := max(float64(f.times), 0)
	if f.replicas > 0 {
		p.options.Replicas = f.replicas
	}
	if f.turns > 0 {
		p.options.Turns = f.turns
	}
	if f.memory > 0 {
		p.options.Memory = float64(f.memory)
	}
	s := &p.service
	switch {
	case f.rate > 0 && s.Requests == 0:
		return fmt.Errorf("%s: it says nothing of requests, so -rate means nothing: write -times instead, for how many times its load", p.Source)
	case f.rate > 0:
		times = float64(f.rate) / s.Requests
	case times == 0:
		times = 1
		if isURL(p.Source) {
			times = float64(max(p.options.Replicas, 1))
		}
	}
	s.Work = capacity.WorkAtKnee(p.measured, float64(max(s.Procs, 1))).Times(times)
	s.Requests *= times
	s.AllocRate *= times
	if f.held > 0 {
		s.Held = capacity.Exactly(time.Duration(f.held).Seconds())
	}
	p.Requests, p.AllocRate, p.Live, p.Procs, p.Held, p.HeldMeasured = s.Requests, s.AllocRate, s.Live, s.Procs, s.Held, !s.Held.IsZero()
	p.Replicas, p.Turns, p.MemoryBytes = p.options.Replicas, max(p.options.Turns, 1), p.options.Memory
	return nil
}

// readPlanSource reads what a source says: of one process, and of the load that it had.
func readPlanSource(ctx context.Context, name string, f *planFlags) (*plan, error) {
	if strings.Contains(name, "://") {
		return planOfStatus(ctx, name, time.Duration(f.watch))
	}
	in, source := io.Reader(os.Stdin), cli.StdinName
	if name != cli.ToStdout {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, source = file, name
	}
	b := bufio.NewReader(in)
	first, err := b.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is empty: name a run.json, or a log with GODEBUG=gctrace=1 lines", source)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", source, err)
	case first[0] == '{':
		return planOfRuns(source, b, f.label)
	case f.label != "":
		return nil, fmt.Errorf("%s is no run.json, and has no labels: leave -label out", source)
	}
	return planOfLog(source, b)
}

// byteSize is a flag of a size in bytes.
type byteSize int64

func (s *byteSize) String() string { return strconv.FormatInt(int64(*s), 10) }

// Set reads a whole number, with a unit: B (or none), KiB, MiB, GiB, TiB, or kB, MB, GB, TB.
func (s *byteSize) Set(text string) error {
	number := strings.TrimRight(text, "kKMGTiB")
	unit, ok := map[string]float64{
		"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}[text[len(number):]]
	x, err := strconv.ParseFloat(number, 64)
	if bytes := x * unit; !ok || err != nil || !(bytes >= 1 && bytes < math.MaxInt64) {
		return errors.New("write a size such as 900MiB or 2GiB")
	}
	*s = byteSize(x * unit)
	return nil
}
