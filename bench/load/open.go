package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/bench/figure"
)

// open compares the open loop with vegeta's, at 30% of capacity, on three services: one that
// waits, one that computes, and one that has nothing to do. The less a service does, the more
// each tool measures what it does itself to the machine that both share.
func (b *bench) open() error {
	for _, path := range openPaths {
		if err := b.openOne(path); err != nil {
			return err
		}
	}
	return nil
}

var openPaths = []string{"/wait", "/work", "/"}

func (b *bench) openOne(path string) error {
	most := connections
	if path == "/wait" {
		most = "1000" // 50 connections would be the bound, not the service
	}
	top, err := b.hey(path, "-c", most, "-z", b.length.String())
	if err != nil {
		return err
	}
	rate := int(top.Throughput * .3)
	ours, theirs, err := inTurn(b.rounds,
		func() (sample, error) { return b.evenkeel(path, "-rate", fmt.Sprint(rate), "-z", b.length.String()) },
		func() (sample, error) { return b.vegeta(path, rate) })
	if err != nil {
		return err
	}
	b.set.Raw["open "+path] = append(slices.Clone(ours), theirs...)
	b.set.Raw["open "+path+" rate"] = rate
	b.openFigures(path, rate, ours, theirs)
	return nil
}

func (b *bench) openFigures(path string, rate int, ours, theirs []sample) {
	es, vs := seconds(ours, "p99"), seconds(theirs, "p99")
	var apart []float64 // µs, by round
	for i := range min(len(es), len(vs)) {
		apart = append(apart, (es[i]-vs[i])*1e6)
	}
	bound := math.Round(math.Max(.15*figure.Median(vs), 100e-6) * 1e6)
	b.set.Between(fmt.Sprintf("open loop, %s at %d/s: p99, evenkeel less vegeta", path, rate), apart, -bound, bound, " µs")
	for _, q := range []string{"p50", "p99", "p99.9"} {
		es, vs := seconds(ours, q), seconds(theirs, q)
		fmt.Fprintf(b.set.Out, "  %s: evenkeel %.0f µs [%.0f..%.0f], vegeta %.0f µs [%.0f..%.0f]\n", q,
			figure.Median(es)*1e6, slices.Min(es)*1e6, slices.Max(es)*1e6, figure.Median(vs)*1e6, slices.Min(vs)*1e6, slices.Max(vs)*1e6)
	}
}

// vegeta runs vegeta attack, and vegeta report over what it wrote.
func (b *bench) vegeta(path string, rate int) (sample, error) {
	targets, results := filepath.Join(b.dir, "targets"), filepath.Join(b.dir, "results.bin")
	if err := os.WriteFile(targets, []byte("GET "+b.server+path+"\n"), 0o600); err != nil {
		return sample{}, err
	}
	_, cpu, err := b.command("vegeta", "attack", "-targets", targets, "-rate", fmt.Sprint(rate), "-duration", b.length.String(), "-output", results)
	if err != nil {
		return sample{}, err
	}
	out, _, err := b.command("vegeta", "encode", "-to", "csv", results)
	if err != nil {
		return sample{}, err
	}
	// vegeta's own report estimates percentiles by t-digest; these are exact. CSV: time, code,
	// latency in ns, ...
	var xs []time.Duration
	for line := range strings.Lines(string(out)) {
		f := strings.Split(line, ",")
		if len(f) < 3 || f[1] != "200" {
			return sample{}, fmt.Errorf("vegeta: a request failed: %.200s", line)
		}
		var ns time.Duration
		if err := json.Unmarshal([]byte(f[2]), &ns); err != nil {
			return sample{}, err
		}
		xs = append(xs, ns)
	}
	if len(xs) == 0 {
		return sample{}, fmt.Errorf("vegeta: no results")
	}
	slices.Sort(xs)
	s := sample{Tool: "vegeta", Requests: float64(len(xs)), Throughput: float64(len(xs)) / b.length.Seconds(), CPU: cpu / time.Duration(len(xs)), Latency: map[string]time.Duration{}}
	for name, q := range quantiles {
		s.Latency[name] = xs[min(len(xs)-1, int(q*float64(len(xs))))]
	}
	return s, nil
}
