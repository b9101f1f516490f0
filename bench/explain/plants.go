package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/loadgen"
)

// planted is a plant, and the load under which it shows.
type planted struct {
	number     int
	name       string
	cause      string // the group that has to be named first
	gone       string // the group that is gone without the plant; "": the same
	rate       float64
	cpu, sleep time.Duration
	slow       float64 // which part of the requests may meet it
}

// plants are the plants; the last is none.
var plants = []planted{
	{1, "mark assist", "assist", "collector", 200, 100 * time.Microsecond, 0, .02},
	{2, "stop the world", "stopped", "", 400, 100 * time.Microsecond, 5 * time.Millisecond, 0},
	{3, "lock", "lock", "", 400, 100 * time.Microsecond, 0, 0},
	{4, "bursts of computing", "queue", "", 400, 100 * time.Microsecond, 0, 0},
	{5, "system call", "syscall", "", 400, 100 * time.Microsecond, 0, 0},
	{6, "service behind", "network", "", 300, 100 * time.Microsecond, 0, .04},
	{7, "worker pool", "channel", "", 400, 100 * time.Microsecond, 0, 0},
	{8, "none", "", "", 200, 100 * time.Microsecond, 0, 0},
}

// targets returns requests whose own work varies, from a seed: the same for each round and each
// variant.
func (p *planted) targets(url string, n int) (ts []loadgen.Target) {
	r := rand.New(rand.NewPCG(6, uint64(p.number)))
	for range n {
		cpu := time.Duration(float64(p.cpu) * (.5 + r.Float64()))
		slow := 0
		if r.Float64() < p.slow {
			slow = 1
		}
		ts = append(ts, loadgen.Target{URL: fmt.Sprintf("%s/?cpu=%v&sleep=%v&slow=%d", url, cpu, p.sleep, slow)})
	}
	return ts
}

// pair is the same load with a plant and without.
type pair struct {
	With    *sample  `json:"with"`
	Without *sample  `json:"without"`
	Each    *float64 `json:"each,omitempty"` // what the slowest hundredth of the requests, each beside itself, say of the truth
}

// truth returns which part of the tail's excess over the median goes with the plant. It is taken
// from the server's times, which is what the shares are of; the client's, beside it, hold as well
// what the machine did to the client.
func truth(with, without distribution) float64 {
	if with.Tail <= with.Median {
		return 0
	}
	return (with.Tail - without.Tail) / (with.Tail - with.Median)
}

// beside returns the same for the slowest hundredth of the requests, each beside itself.
func (p *pair) beside() float64 {
	d := p.With.Client
	var more, excess float64
	for i, x := range p.With.latency {
		if y := p.Without.latency[i]; x >= d.P99 && !math.IsNaN(y) {
			more += x - y
			excess += x - d.Median
		}
	}
	return more / excess
}

// round measures a plant once with it and once without.
func (d *driver) round(ctx context.Context, p *planted, round int) (*pair, error) {
	var got pair
	for i := range 2 {
		without := (i+round)%2 == 1 // neither is always the first
		s, err := d.grow(ctx, p, without)
		if err != nil {
			return nil, err
		}
		if without {
			got.Without = s
		} else {
			got.With = s
		}
	}
	each := got.beside()
	if got.Each = &each; math.IsNaN(each) || math.IsInf(each, 0) {
		got.Each = nil // nothing was slow
	}
	return &got, nil
}

// grow measures a plant once.
func (d *driver) grow(ctx context.Context, p *planted, without bool) (*sample, error) {
	return d.planted(ctx, p, fmt.Sprintf("plant-%d-%v", p.number, without), fmt.Sprintf("-without=%v", without))
}

// bound is what a tail may take more than the median where nothing has to be named, and how many
// times the median.
const (
	nothing      = .001
	nothingTimes = 2
)

// plants measures all plants and says whether they were found.
func (d *driver) plants(ctx context.Context) error {
	grown := map[string][]*pair{}
	defer func() { d.plantFigures(grown) }() // also of what was measured before an error
	for i := range plants {
		p := &plants[i]
		if d.only != 0 && p.number != d.only {
			continue
		}
		for round := range d.rounds {
			q, err := d.round(ctx, p, round)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			grown[p.name] = append(grown[p.name], q)
			d.set.Raw[plantKey+p.name] = grown[p.name]
			if d.verbose {
				fmt.Fprintf(d.out, "  with    server %v client %v cpu %.2f requests %d cut %d: %v\n", q.With.Server, q.With.Client, q.With.CPU, q.With.Requests, q.With.Cut, q.With.Shares)
				fmt.Fprintf(d.out, "  without server %v client %v cpu %.2f requests %d cut %d: %v\n", q.Without.Server, q.Without.Client, q.Without.CPU, q.Without.Requests, q.Without.Cut, q.Without.Shares)
			}
		}
	}
	return nil
}

const plantKey = "plant "

// plantFigures says of each plant, of which it has the rounds, whether it was found.
func (d *driver) plantFigures(grown map[string][]*pair) {
	if len(grown) == 0 {
		return
	}
	named, requests, cut := 0, 0, 0
	var worst, worstEach []float64 // of each plant but the last
	unknown, unknownTail := 0.0, 0.0
	fmt.Fprintf(d.out, "%-20s %9s %9s  %6s %6s %6s  %s\n", "plant", "median", "p99+", "share", "truth", "client", "of what p99+ requests take more than the median")
	for i := range plants {
		p := &plants[i]
		var share, client, server, each, median, tail []float64
		var all []shares
		for _, q := range grown[p.name] {
			share = append(share, q.With.Shares[cmp.Or(p.gone, p.cause)])
			client = append(client, truth(q.With.Client, q.Without.Client))
			server = append(server, truth(q.With.Server, q.Without.Server))
			if q.Each != nil {
				each = append(each, *q.Each)
			}
			all = append(all, q.With.Shares)
			median, tail = append(median, q.With.Server.Median), append(tail, q.With.Server.Tail)
			for _, s := range []*sample{q.With, q.Without} {
				requests += s.Requests
				cut += s.Cut
				unknown, unknownTail = max(unknown, 100*s.Unknown[0]), max(unknownTail, 100*s.Unknown[1])
			}
		}
		if len(all) == 0 {
			continue
		}
		m, besides := mean(all), ""
		if len(each) > 0 {
			besides = fmt.Sprintf("; each request beside itself %.0f%%", 100*figure.Median(each))
		}
		first := m.order()
		fmt.Fprintf(d.out, "%-20s %6.2f ms %6.2f ms  %5.0f%% %5.0f%% %5.0f%%  %v%s\n", p.name, 1e3*figure.Median(median), 1e3*figure.Median(tail),
			100*figure.Median(share), 100*figure.Median(server), 100*figure.Median(client), m, besides)
		if p.cause == "" {
			if nothingNamed(figure.Median(median), figure.Median(tail)) {
				named++
			}
			continue
		}
		if len(first) > 0 && first[0] == p.cause {
			named++
		}
		worst = append(worst, 100*math.Abs(figure.Median(share)-figure.Median(server)))
		if len(each) > 0 {
			worstEach = append(worstEach, 100*math.Abs(figure.Median(share)-figure.Median(each)))
		}
	}
	fmt.Fprintf(d.out, "%d whole requests; %d more, cut off by the edges of traces, are in no figure\n", requests, cut)
	if len(grown) < len(plants) { // -plant, or an error before the last
		return
	}
	d.set.AtLeast("planted cause named first, of 8", []float64{float64(named)}, 8, "")
	d.set.AtMost("planted cause's share less the truth, worst", []float64{slices.Max(worst)}, 10, " points")
	if len(worstEach) == len(worst) {
		d.set.AtMost("the same, each slow request beside itself, worst", []float64{slices.Max(worstEach)}, 10, " points")
	}
	d.set.AtMost("unknown, of all server time", []float64{unknown}, .1, " %")
	d.set.AtMost("unknown, of p99+ time", []float64{unknownTail}, 1, " %")
}

// nothingNamed reports whether a service without a plant is left in peace, as the report's verdict
// would: its tail is near its median.
func nothingNamed(median, tail float64) bool {
	return tail < median+nothing || tail <= nothingTimes*median
}
