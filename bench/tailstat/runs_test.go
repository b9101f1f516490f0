//go:build linux

// Package tailstat tests package tailstat on runs of services: how often it finds a difference that is
// not there, or one that is, and whether its intervals hold the truth. TestRuns records runs, from which
// the others draw. By default each makes a few trials. -full makes as many as docs' figures took, fails
// on a claim that is missed, and saves the results:
//
//	go test -timeout 2h ./tailstat -full
package tailstat

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"
	"evenkeel.dev/tailstat"
)

// TestRuns records runs.
func TestRuns(t *testing.T) { full.Run(t, runsCase()) }

type subject struct {
	way, program string
	rate         float64
	method, path string
	args         []string
}

// window is msgpush with a longer window, which takes longer to mark.
const window = "msgpush with a longer window"

// subjects have the rates of docs' examples.
var subjects = []subject{
	{"hello", "hello", 11_000, "GET", "/", nil},
	{"msgpush", "msgpush", 2200, "GET", "/push", nil},
	{window, "msgpush", 2200, "GET", "/push", []string{"-window", "380000"}},
	{"search", "search", 310, "POST", "/search?term=president&cnn=on&bbc=on&nyt=on", nil},
}

const (
	quiet     = "quiet"
	neighbour = "next to a neighbour"
)

func runsCase() harness.Case {
	c := harness.Case{
		Name: "tailstat/runs", What: "runs of three services, for tailstat/alarms and tailstat/power",
		Rounds: 60, Length: 5 * time.Second, Warmup: 500 * time.Millisecond, Loads: []string{quiet, neighbour},
		Skip: func(way, load string) bool { return way == window && load == neighbour },
		Run:  record,
	}
	for _, s := range subjects {
		c.Ways = append(c.Ways, s.way)
	}
	for _, f := range tailstat.Figures() {
		c.Figures = append(c.Figures, f.Name)
	}
	return c
}

func record(ctx context.Context, r *harness.Run) error {
	s := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.way == r.Way })]
	c, err := r.Start(ctx, harness.AnyCore, nil, append([]string{"examples/" + s.program, "-addr", "127.0.0.1:0"},
		s.args...)...)
	if err != nil {
		return err
	}
	defer c.Stop()
	url, err := c.AwaitURL("msg=listening")
	if err != nil {
		return err
	}
	if r.Load == neighbour {
		ctx, end := context.WithCancel(ctx)
		defer end()
		go disturb(ctx)
	}
	o := loadgen.Options{
		Targets: []loadgen.Target{{Method: s.method, URL: url + s.path}}, Connections: 64,
		Rate: harness.Unless(r, s.rate, s.rate/10),
	}
	res, err := r.Measure(ctx, o, c)
	if err != nil {
		return err
	}
	if n := r.Values["failed"]; n > 0 {
		return fmt.Errorf("%v requests failed", n)
	}
	run := tailstat.Run{
		Latency: &res.Latency,
		Values: map[string]float64{
			"requests/s": res.Throughput(), "peak memory": r.Values["peak MB"] * 1e6,
			"CPU/request": r.Values["CPU µs/request"] / 1e6,
		},
	}
	for _, f := range tailstat.Figures() {
		if x, err := f.Of(&run); err == nil { // of few requests there is no p99.9
			r.Set(f.Name, x)
		}
	}
	return nil
}

func disturb(ctx context.Context) {
	for ctx.Err() == nil {
		end, err := machine.BusyLoops(ctx, 1)
		if err != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
		end()
		time.Sleep(400 * time.Millisecond)
	}
}

// rounds are those of one comparison.
const rounds = 10

// TestRecorded draws from the runs of TestRuns.
func TestRecorded(t *testing.T) { full.Run(t, alarmsCase(), powerCase()) }

// recordedRuns are what runsCase has measured, by way and load, in the order of rounds.
type recordedRuns map[string][]tailstat.Run

// open reads the results of runsCase on a machine.
func (rs recordedRuns) open(context.Context, *harness.Run) (end func(), err error) {
	names, _ := filepath.Glob("../results/tailstat-runs.*.json.gz")
	if len(names) == 0 {
		return nil, harness.NotHere(errors.New("no runs were recorded: TestRuns does it with -full"))
	}
	f, err := os.Open(names[len(names)-1])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	var saved struct {
		Raw struct{ Runs []harness.Run }
	}
	if err := json.NewDecoder(z).Decode(&saved); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	for _, r := range saved.Raw.Runs {
		if r.Error == "" {
			key := r.Way + ", " + r.Load
			rs[key] = append(rs[key], tailstat.Run{Round: r.Round, Values: r.Values})
		}
	}
	return func() { clear(rs) }, nil
}

const (
	byRounds = "by rounds"
	allToAll = "all with all"
	inBlocks = "base before head"
)

// alarmsCase counts what is found between a service and itself.
func alarmsCase() harness.Case {
	rs := recordedRuns{}
	c := harness.Case{
		Name: "tailstat/alarms", What: "recorded runs: how often a service differs from itself, at the level of 5%",
		Ways: []string{inBlocks, byRounds, allToAll}, Open: rs.open, Figures: []string{"found", "comparisons"},
	}
	for _, s := range subjects {
		for _, load := range []string{quiet, neighbour} {
			if s.way == window {
				continue
			}
			c.Loads = append(c.Loads, s.way+", "+load)
			for _, way := range []string{byRounds, allToAll} {
				c.Claims = append(c.Claims, harness.Claim{
					Way: way, Load: s.way + ", " + load, Figure: "found", Of: "comparisons", Target: harness.AtMost(6),
				})
			}
		}
	}
	for _, f := range tailstat.Figures() {
		c.Figures = append(c.Figures, f.Name)
	}
	draws := map[string]func(*rand.Rand, []tailstat.Run) (b, h []tailstat.Run){
		byRounds: draw, allToAll: drawLoose, inBlocks: drawBlocks,
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		runs := rs[r.Load]
		if len(runs) < 2*rounds+1 {
			return fmt.Errorf("%d runs of %s are recorded, and %d are needed", len(runs), r.Load, 2*rounds+1)
		}
		return trials(ctx, r, func(rng *rand.Rand, count func(string)) error {
			b, h := draws[r.Way](rng, runs)
			for _, f := range tailstat.Figures() {
				res, err := compare(b, h, f)
				if err != nil {
					return err
				}
				if res.Missing != "" {
					continue
				}
				count("comparisons")
				if res.Verdict != tailstat.VerdictInconclusive {
					count("found")
					count(f.Name)
				}
			}
			return nil
		})
	}
	return c
}

// compare compares one figure, which the runs have as a value.
func compare(b, h []tailstat.Run, f tailstat.Figure) (tailstat.Result, error) {
	c, err := tailstat.Compare(b, h, tailstat.Options{Figures: []tailstat.Figure{tailstat.Value(f.Name, f.More)}})
	if err != nil {
		return tailstat.Result{}, err
	}
	return c.Result[0], nil
}

// draw takes rounds of two runs that followed each other, in a random order of the two: as evenkeel
// run would have it, with the same service as both.
func draw(rng *rand.Rand, rs []tailstat.Run) (b, h []tailstat.Run) {
	return drawRounds(rng, rs[rng.IntN(2):], rounds)
}

func drawRounds(rng *rand.Rand, rs []tailstat.Run, n int) (b, h []tailstat.Run) {
	for i, at := range rng.Perm(len(rs) / 2)[:n] {
		x, y := rs[2*at], rs[2*at+1]
		if rng.IntN(2) == 0 {
			x, y = y, x
		}
		x.Round, y.Round = i+1, i+1
		b, h = append(b, x), append(h, y)
	}
	return b, h
}

// drawLoose takes as many runs, from any time: what ranks of all with all suppose.
func drawLoose(rng *rand.Rand, rs []tailstat.Run) (b, h []tailstat.Run) {
	for i, at := range rng.Perm(len(rs))[:2*rounds] {
		x := tailstat.Run{Values: rs[at].Values}
		if i%2 == 0 {
			b = append(b, x)
		} else {
			h = append(h, x)
		}
	}
	return b, h
}

// drawBlocks takes runs that followed each other, all of one set before all of the other: what
// happens without rounds.
func drawBlocks(rng *rand.Rand, rs []tailstat.Run) (b, h []tailstat.Run) {
	at := rng.IntN(len(rs) - 2*rounds + 1)
	for i := range rounds {
		b = append(b, tailstat.Run{Values: rs[at+i].Values})
		h = append(h, tailstat.Run{Values: rs[at+rounds+i].Values})
	}
	if rng.IntN(2) == 0 {
		b, h = h, b
	}
	return b, h
}

// powerCase counts how often a change of p99 is found.
func powerCase() harness.Case {
	rs := recordedRuns{}
	changes := map[string]struct {
		slower float64
		rounds int
	}{"msgpush": {1.2, 10}, "search": {1.5, 20}, "hello": {1.5, 20}}
	c := harness.Case{
		Name: "tailstat/power",
		What: "recorded runs: how often a p99 that is 20% longer (msgpush) or 50% longer is found",
		Ways: []string{"hello", "msgpush", "search", window}, Open: rs.open,
		Figures: []string{"found", "wrong", "trials"},
	}
	for _, way := range c.Ways {
		if way == "msgpush" || way == "search" { // hello's noise is what it is, and the window's p99 is not longer
			c.Claims = append(c.Claims, harness.Claim{
				Way: way, Figure: "found", Of: "trials",
				Target: harness.AtLeast(80),
			})
		}
		c.Claims = append(c.Claims, harness.Claim{Way: way, Figure: "wrong", Of: "trials", Target: harness.AtMost(2.5)})
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		p99 := tailstat.Quantile(.99)
		r.Set("found", 0)
		r.Set("wrong", 0)
		return trials(ctx, r, func(rng *rand.Rand, count func(string)) error {
			var b, h []tailstat.Run
			if change, ok := changes[r.Way]; ok {
				runs := rs[r.Way+", "+quiet]
				b, h = drawRounds(rng, runs, min(change.rounds, len(runs)/2))
				for i := range h {
					h[i].Values = map[string]float64{p99.Name: change.slower * h[i].Values[p99.Name]}
				}
			} else {
				b, h = rs.planted(rng)
			}
			res, err := compare(b, h, p99)
			switch {
			case err != nil:
				return err
			case res.Verdict == tailstat.VerdictSlower:
				count("found")
			case res.Verdict == tailstat.VerdictFaster:
				count("wrong")
			}
			return nil
		})
	}
	return c
}

// planted draws rounds of msgpush as it is, and with a longer window.
func (rs recordedRuns) planted(rng *rand.Rand) (b, h []tailstat.Run) {
	changed := rs[window+", "+quiet]
	for _, at := range rng.Perm(len(changed)) {
		same := func(r tailstat.Run) bool { return r.Round == changed[at].Round }
		if i := slices.IndexFunc(rs["msgpush, "+quiet], same); i >= 0 && len(b) < rounds {
			b, h = append(b, rs["msgpush, "+quiet][i]), append(h, changed[at])
		}
	}
	return b, h
}

// trials makes trials on all processors, and sets how many there were and what they counted.
func trials(ctx context.Context, r *harness.Run, trial func(*rand.Rand, func(figure string)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := harness.Unless(r, 200, 2)
	var mu sync.Mutex
	next, counts := 0, map[string]float64{}
	count := func(figure string) {
		mu.Lock()
		defer mu.Unlock()
		counts[figure]++
	}
	take := func() (i int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next, next <= n && ctx.Err() == nil
	}
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i, more := take(); more; i, more = take() {
				if err := trial(rand.New(rand.NewPCG(uint64(r.Round), uint64(i))), count); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	r.Set("trials", float64(n))
	for figure, x := range counts {
		r.Set(figure, x)
	}
	return context.Cause(ctx)
}
