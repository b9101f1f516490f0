package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/loadgen"
)

// untilRunner measures nothing: a run takes five seconds of a clock that stands still else, and the
// variant head is so many times as slow as base, give or take the deviation.
func untilRunner(t *testing.T, flags flags, slower, deviation float64) (*Runner, *bytes.Buffer) {
	t.Helper()
	var stderr bytes.Buffer
	r := &Runner{
		File: runfile.File{Version: runfile.Version}, app: &cli.App{Stderr: &stderr}, flags: &flags,
		variants: []variant{{label: "base"}, {label: "head"}},
	}
	rng := rand.New(rand.NewPCG(9, 9))
	var clock time.Time
	r.now = func() time.Time { return clock }
	r.take = func(_ context.Context, v variant, round int) (*runfile.Run, error) {
		clock = clock.Add(5 * time.Second)
		factor := math.Exp(deviation * rng.NormFloat64())
		if v.label == "head" {
			factor *= slower
		}
		l := &loadgen.Result{Answered: 1000, Duration: 5 * time.Second}
		for range 1000 {
			l.Latency.Record(time.Duration(1e6 * factor))
		}
		return &runfile.Run{Label: v.label, Repeat: round, Load: l}, nil
	}
	if err := r.checkUntil(); err != nil {
		t.Fatal(err)
	}
	return r, &stderr
}

func TestUntil(t *testing.T) {
	five := cli.Period(5 * time.Minute) // 30 looks: how many is what a test of them costs
	for _, tt := range []struct {
		name              string
		slower, deviation float64
		budget            cli.Period
		says              string
		least, most       int // rounds
	}{
		{"a clear answer", 3, .1, five, "the answer is clear", 6, 14},
		{"no difference, little noise", 1, .03, five, "the ratio of p99 is known to within 10%", 6, 14},
		{"no difference, much noise", 1, 1, five, "-budget 5m0s is spent", 30, 30},
		{"no budget", 3, .1, cli.Period(30 * time.Second), "has room for 3, but", 3, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, stderr := untilRunner(t, flags{seed: 1, until: untilFlags{width: .1, budget: tt.budget}}, tt.slower,
				tt.deviation)
			if err := r.MeasureAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			rounds := len(r.File.Plan.Order)
			if looks := int(time.Duration(tt.budget) / (10 * time.Second)); rounds < tt.least || rounds > tt.most ||
				r.File.Plan.Looks != looks {
				t.Errorf("%d rounds, want %d to %d; %d looks, want %d", rounds, tt.least, tt.most, r.File.Plan.Looks,
					looks)
			}
			if !strings.Contains(stderr.String(), tt.says) {
				t.Errorf("it says %s", stderr.String())
			}
			// What is printed is what the last look saw, and what compare prints of the file.
			c := r.Compared()
			x := c.Row("p99").Results[1]
			if tt.slower > 1 && rounds > 5 && (x.Within.Contains(1) ||
				!strings.Contains(r.soFar, ", p99 of head "+compare.Bounds(x))) {
				t.Errorf("%+v, %q", x, r.soFar)
			}
			if c.Row("p90").Results[1] != nil {
				t.Error("p90 is judged, too, and was not looked at")
			}
		})
	}
}

// TestRunFailIf has variants judged against a limit. With -until a ratio that is certainly not 1 is
// no answer to that.
func TestRunFailIf(t *testing.T) {
	until := untilFlags{width: .01, budget: cli.Period(5 * time.Minute)}
	for _, tt := range []struct {
		name              string
		slower, deviation float64
		flags             flags
		code              int
		says              string
	}{
		{
			"exceeded", 1.6, .05,
			flags{repeat: 10},
			cli.ExitLimit,
			"evenkeel run: -fail-if p99 > +20%: exceeded: p99 of \"head\": 1.",
		},
		{"kept", 1, .05, flags{repeat: 10}, cli.ExitOK, "-fail-if p99 > +20%: kept: "},
		{"at the limit", 1.2, .05, flags{repeat: 10}, cli.ExitInconclusive, "-fail-if p99 > +20%: inconclusive: "},
		{"beyond the limit at last", 1.35, .1, flags{until: until}, cli.ExitLimit, "ended after 1"},
		{"within the limit at last", 1.1, .07, flags{until: until}, cli.ExitOK, "the answer is clear"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limit, err := compare.ParseLimit("p99 > +20%")
			tt.flags.seed, tt.flags.judging.FailIf = 1, compare.Limits{limit}
			if err := errors.Join(err, tt.flags.judging.Check()); err != nil {
				t.Fatal(err)
			}
			r, stderr := untilRunner(t, tt.flags, tt.slower, tt.deviation)
			r.app.Stdout = io.Discard
			take := r.take
			r.take = func(ctx context.Context, v variant, round int) (*runfile.Run, error) {
				run, err := take(ctx, v, round)
				run.Load.Statuses = map[int]int64{200: run.Load.Answered}
				return run, err
			}
			if code := r.app.Exit("run", r.Run(t.Context())); code != tt.code ||
				!strings.Contains(stderr.String(), tt.says) {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, stderr)
			}
		})
	}
}

// TestUntilEachLimit: that one limit is certainly exceeded is no answer to another one.
func TestUntilEachLimit(t *testing.T) {
	for _, tt := range []struct {
		limits []string
		says   string
	}{
		{[]string{"p99 > +20%", "p99 > +5%"}, "the answer is clear"},
		{
			[]string{"p99 > +20%", "p99 > +60%"},
			"-budget 5m0s is spent",
		},
	} {
		flags := flags{seed: 1, until: untilFlags{width: .01, budget: cli.Period(5 * time.Minute)}}
		for _, text := range tt.limits {
			limit, err := compare.ParseLimit(text)
			if err != nil {
				t.Fatal(err)
			}
			flags.judging.FailIf = append(flags.judging.FailIf, limit)
		}
		if err := flags.judging.Check(); err != nil {
			t.Fatal(err)
		}
		r, stderr := untilRunner(t, flags, 1.6, .1)
		if err := r.MeasureAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("%q: it says %s", tt.limits, stderr)
		}
	}
}

// TestUntilWidens has the same runs judged with and without looks: those that were looked at have
// wider intervals.
func TestUntilWidens(t *testing.T) {
	r, _ := untilRunner(t, flags{seed: 1, until: untilFlags{width: 1e-9, budget: cli.Period(5 * time.Minute)}}, 1, .1)
	if err := r.MeasureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	looked := r.Compared().Row("p99").Results[1].Within
	r.File.Plan.Looks = 0
	once := r.Compared().Row("p99").Results[1].Within
	if looked.HalfWidth() <= once.HalfWidth() {
		t.Errorf("30 looks: %v, one: %v", looked, once)
	}
}

// TestUntilInterrupted keeps what there is, and compares the rounds that are whole.
func TestUntilInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := untilRunner(t, flags{seed: 3, until: untilFlags{width: .1, budget: cli.Period(5 * time.Minute)}}, 1.01, .5)
	take := r.take
	r.take = func(c context.Context, v variant, round int) (*runfile.Run, error) {
		if round == 8 {
			cancel() // in the first run of the round, which is cut short
		}
		run, err := take(c, v, round)
		run.Load.Interrupted = round == 8
		return run, err
	}
	if err := r.MeasureAll(ctx); !errors.Is(err, cli.ErrInterrupted) {
		t.Fatal(err)
	}
	if n := len(r.File.Runs); n != 15 {
		t.Errorf("%d runs, want 15", n)
	}
	if d := r.Compared().Data(); !d.Columns[1].Paired || d.Figures[0].Cells[1].Cell == nil {
		t.Errorf("%+v", d.Columns[1])
	}
}

// TestDraw draws each order as often as the other, the same from the same seed, and writes them
// down.
func TestDraw(t *testing.T) {
	r, _ := untilRunner(t, flags{seed: 42, repeat: 1}, 1, 0)
	first := 0
	for i := range 1000 {
		if r.draw(i + 1)[0].label == "base" {
			first++
		}
	}
	if first < 430 || first > 570 {
		t.Errorf("base is first in %d of 1000 rounds", first)
	}
	again, _ := untilRunner(t, flags{seed: 42, repeat: 1}, 1, 0)
	again.draw(7)
	if !slices.Equal(again.File.Plan.Order[0], r.File.Plan.Order[6]) {
		t.Error("the same seed draws another order")
	}
	var seeds []uint64
	for range 3 {
		x, _ := untilRunner(t, flags{repeat: 1}, 1, 0)
		seeds = append(seeds, x.File.Plan.Seed)
	}
	if seeds[0] == seeds[1] && seeds[1] == seeds[2] {
		t.Errorf("seeds %v", seeds)
	}
}
