package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/judge"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
)

// TestFloor measures one variant against itself before two are compared.
func TestFloor(t *testing.T) {
	r, stderr := untilRunner(t, runFlags{seed: 5, aa: true, repeat: 10, judging: judge.Flags{Figures: "p99", Base: "base"}}, 1.5, .1)
	if err := r.measureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := r.file.Floor
	if f == nil || len(f.First) != 10 || len(f.Second) != 10 || len(r.file.Runs) != 20 {
		t.Fatalf("%d runs, floor %+v", len(r.file.Runs), f)
	}
	for i := range f.First {
		if x, y := f.First[i], f.Second[i]; x.Label != "base" || y.Label != "base" || x.Round != i+1 || y.Round != i+1 {
			t.Errorf("round %d: %s %d, %s %d", i, x.Label, x.Round, y.Label, y.Round)
		}
	}
	for _, want := range []string{"base against itself, 10 rounds: the smallest changes that 10 such rounds show on this machine: p99 +", "+10% of p99 takes "} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it does not say %q but\n%s", want, stderr)
		}
	}
	name := filepath.Join(t.TempDir(), "run.json")
	if err := r.file.Save(name); err != nil {
		t.Fatal(err)
	}
	call("compare", name).check(t, cli.ExitOK, []string{" floor\n", "floor: the smallest change that 10 rounds show on this machine"}, nil)
	call("compare", "-json", name).check(t, cli.ExitOK, []string{`"floor": 1.`}, nil)
}

// TestFloorAlone measures one variant and nothing else; an interruption leaves what there is.
func TestFloorAlone(t *testing.T) {
	flags := runFlags{seed: 5, aa: true, judging: judge.Flags{Figures: "p99"}}
	r, _ := untilRunner(t, flags, 1, .1)
	r.variants = r.variants[:1]
	if err := r.measureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.file.Runs) != 10 || r.compared().Row("p99").FloorText() == "" {
		t.Errorf("%d runs, %q", len(r.file.Runs), r.compared().Row("p99").FloorText())
	}

	ctx, cancel := context.WithCancel(t.Context())
	r, _ = untilRunner(t, flags, 1, .1)
	r.variants = r.variants[:1]
	take := r.take
	r.take = func(c context.Context, v variant, round int) (*runfile.Run, error) {
		if round == 3 {
			cancel()
		}
		return take(c, v, round)
	}
	if err := r.measureAll(ctx); !errors.Is(err, cli.ErrInterrupted) || len(r.file.Floor.First)+len(r.file.Floor.Second) != 5 || len(r.file.Runs) == 0 {
		t.Errorf("%v, %d runs", err, len(r.file.Runs))
	}
}

// TestFloorUntil says what the budget has room for.
func TestFloorUntil(t *testing.T) {
	r, stderr := untilRunner(t, runFlags{seed: 5, aa: true, until: untilFlags{width: .1, budget: cli.Period(5 * time.Minute)}}, 3, .1)
	if err := r.measureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stderr.String(), "base against itself, 8 rounds: the smallest changes that 30 such rounds show") {
		t.Error(stderr.String())
	}
}
