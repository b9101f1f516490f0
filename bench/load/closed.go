package main

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/figure"
)

const connections = "50"

// closed compares the closed loop with hey's: requests a second, and CPU time a request.
func (b *bench) closed() error {
	ours, heys, err := inTurn(b.rounds,
		func() (sample, error) { return b.evenkeel("/", "-c", connections, "-z", b.length.String()) },
		func() (sample, error) { return b.hey("/", "-c", connections, "-z", b.length.String()) })
	if err != nil {
		return err
	}
	b.set.Raw["closed"] = append(slices.Clone(ours), heys...)
	b.closedFigures(ours, heys)
	return nil
}

func (b *bench) closedFigures(ours, heys []sample) {
	rate := func(s sample) float64 { return s.Throughput }
	cpu := func(s sample) float64 { return float64(s.CPU) }
	b.set.AtLeast("closed loop: requests/s, evenkeel / hey", figure.Ratios(each(ours, rate), each(heys, rate)), .95, "x")
	b.set.AtMost("closed loop: CPU a request, evenkeel / hey", figure.Ratios(each(ours, cpu), each(heys, cpu)), 1, "x")
	fmt.Fprintf(b.set.Out, "  evenkeel %.0f requests/s, %.1f µs of CPU each; hey %.0f, %.1f µs\n",
		figure.Median(each(ours, rate)), figure.Median(each(ours, cpu))/1e3, figure.Median(each(heys, rate)), figure.Median(each(heys, cpu))/1e3)
}

func each(ss []sample, of func(sample) float64) []float64 {
	var xs []float64
	for _, s := range ss {
		xs = append(xs, of(s))
	}
	return xs
}

var heyRate = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)

// hey runs hey for its summary. hey keeps at most a million latencies, which it prints to a
// tenth of a millisecond: heyLatencies has them finer, for short runs.
func (b *bench) hey(path string, args ...string) (sample, error) {
	out, cpu, err := b.command("hey", append(args, b.server+path)...)
	if err != nil {
		return sample{}, err
	}
	m := heyRate.FindSubmatch(out)
	if m == nil {
		return sample{}, fmt.Errorf("hey: no Requests/sec in its output:\n%s", out)
	}
	rate, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return sample{}, err
	}
	n := 0.0
	for _, l := range regexp.MustCompile(`\[2\d\d\]\s+(\d+) responses`).FindAllSubmatch(out, -1) {
		c, err := strconv.ParseFloat(string(l[1]), 64)
		if err != nil {
			return sample{}, err
		}
		n += c
	}
	if n == 0 {
		return sample{}, fmt.Errorf("hey: no answers in its output:\n%s", out)
	}
	return sample{Tool: "hey", Requests: n, Throughput: rate, CPU: time.Duration(float64(cpu) / n)}, nil
}

// heyLatencies runs hey for its CSV, and takes percentiles of it.
func (b *bench) heyLatencies(path string, args ...string) (sample, error) {
	out, cpu, err := b.command("hey", append(append([]string{"-o", "csv"}, args...), b.server+path)...)
	if err != nil {
		return sample{}, err
	}
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil || len(rows) < 2 {
		return sample{}, fmt.Errorf("hey: no CSV: %w\n%.200s", err, out)
	}
	var xs []time.Duration
	for _, r := range rows[1:] {
		x, err := strconv.ParseFloat(r[0], 64) // response-time, in seconds
		if err != nil {
			return sample{}, err
		}
		xs = append(xs, time.Duration(x*1e9))
	}
	slices.Sort(xs)
	s := sample{Tool: "hey", Requests: float64(len(xs)), CPU: cpu / time.Duration(len(xs)), Latency: map[string]time.Duration{}}
	for name, q := range quantiles {
		s.Latency[name] = xs[min(len(xs)-1, int(q*float64(len(xs))))]
	}
	return s, nil
}
