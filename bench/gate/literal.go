package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"evenkeel.dev/bench/figure"
)

// literalKey is that of the raw results.
const literalKey = "literal loop"

// literalFor is how long each run of the original's loop takes.
const literalFor = 2 * time.Second

// The loop of the original, as it has it: sizes of a message, and what collects.
var (
	literalSizes    = []int{1 << 10, 10 << 10, 100 << 10, 1 << 20}
	literalPolicies = []string{"", gcigo, "auto", "through", "idle"} // "": the stock runtime's
)

// pushed is what came of one run of the loop.
type pushed struct {
	Policy  string        `json:"policy"`
	Size    int           `json:"size_bytes"`
	Round   int           `json:"round"`
	Ops     int64         `json:"ops"`
	Refused int64         `json:"refused"` // of them, that had to wait first
	Mean    time.Duration `json:"mean_ns"` // of a push
	P99     time.Duration `json:"p99_ns"`
	Each    time.Duration `json:"each_ns"` // of an operation, what is beside the push included
	Peak    int64         `json:"peak_rss_bytes"`
}

// literal runs the original's own loop under it, under gates with their defaults and under the stock runtime, each in a process of its own.
func (d *driver) literal(ctx context.Context) error {
	if err := d.buildOriginal(ctx); err != nil {
		return err
	}
	defer d.literalFigures() // also of what was measured before an error
	length, sizes := literalFor, literalSizes
	if d.quick {
		length, sizes = time.Millisecond, sizes[:1]
	}
	for round := 1; round <= d.rounds; round++ {
		for _, size := range sizes {
			policies := slices.Clone(literalPolicies)
			if round%2 == 0 {
				slices.Reverse(policies)
			}
			for _, policy := range policies {
				argv := nicer(filepath.Join(d.bin, "subject"), "-push", fmt.Sprint(size), "-pushing", length.String(), "-gate", policy)
				if policy == gcigo {
					if d.program == "" {
						continue
					}
					argv = nicer(d.program, "-push", fmt.Sprint(size), "-pushing", length.String())
				}
				out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
				if err != nil {
					return fmt.Errorf("%v: %w", argv, err)
				}
				p := pushed{Policy: policy, Size: size, Round: round}
				if err := json.Unmarshal(out, &p); err != nil {
					return fmt.Errorf("%v: %w", argv, err)
				}
				d.pushed = append(d.pushed, p)
			}
		}
	}
	if d.program == "" {
		d.withoutOriginal()
	}
	return nil
}

// literalFigures holds what the defaults choose to what the original does: auto is the default.
func (d *driver) literalFigures() {
	if len(d.pushed) == 0 {
		return
	}
	of := func(policy string, size int, what func(pushed) float64) (xs []float64) {
		for _, p := range d.pushed {
			if p.Policy == policy && p.Size == size {
				xs = append(xs, what(p))
			}
		}
		return xs
	}
	p99 := func(p pushed) float64 { return p.P99.Seconds() }
	refused := func(p pushed) float64 { return 100 * float64(p.Refused) / float64(p.Ops) }
	peak := func(p pushed) float64 { return float64(p.Peak) }
	fmt.Fprintf(d.out, "\n%-10s %-8s %9s %9s %9s %9s %9s   medians of the rounds\n", "literal", "bytes", "mean µs", "p99 µs", "each µs", "refused", "peak MB")
	for _, size := range literalSizes {
		for _, policy := range literalPolicies {
			median := func(what func(pushed) float64) float64 { return figure.Median(of(policy, size, what)) }
			if len(of(policy, size, p99)) > 0 {
				fmt.Fprintf(d.out, "%-10s %-8d %9.0f %9.0f %9.0f %8.3g%% %9.0f\n", policy, size, median(func(p pushed) float64 { return p.Mean.Seconds() * 1e6 }),
					median(p99)*1e6, median(func(p pushed) float64 { return p.Each.Seconds() * 1e6 }), median(refused), median(peak)/1e6)
			}
		}
	}
	if d.quick {
		return
	}
	for _, size := range literalSizes {
		if len(of(gcigo, size, p99)) == 0 {
			continue
		}
		name := fmt.Sprintf("literal %d bytes: auto / %s, ", size, gcigo)
		d.set.AtMost(name+"p99", figure.Ratios(of("auto", size, p99), of(gcigo, size, p99)), 1, "x")
		d.set.AtMost(name+"peak memory", figure.Ratios(of("auto", size, peak), of(gcigo, size, peak)), 1, "x")
		more := of("auto", size, refused)
		for i, theirs := range of(gcigo, size, refused) {
			if i < len(more) {
				more[i] -= theirs
			}
		}
		d.set.AtMost(fmt.Sprintf("literal %d bytes: refused by auto beyond %s", size, gcigo), more, 0, " points")
	}
}
