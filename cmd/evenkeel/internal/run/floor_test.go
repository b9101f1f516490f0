package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/judge"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

// TestFloor measures one variant against itself before two are compared.
func TestFloor(t *testing.T) {
	r, stderr := untilRunner(t, flags{
		seed: 5, aa: true, repeat: 10,
		judging: judge.Flags{Figures: "p99", Base: "base"},
	}, 1.5, .1)
	if err := r.MeasureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := r.File.Floor
	if f == nil || len(f.First) != 10 || len(f.Second) != 10 || len(r.File.Runs) != 20 {
		t.Fatalf("%d runs, floor %+v", len(r.File.Runs), f)
	}
	for i := range f.First {
		if x, y := f.First[i], f.Second[i]; x.Label != "base" || y.Label != "base" || x.Round != i+1 || y.Round != i+1 {
			t.Errorf("round %d: %s %d, %s %d", i, x.Label, x.Round, y.Label, y.Round)
		}
	}
	for _, want := range []string{"base against itself, 10 rounds: the smallest changes that 10 such rounds show on " +
		"this machine: p99 +", "+10% of p99 takes "} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it does not say %q but\n%s", want, stderr)
		}
	}
	var text, asJSON strings.Builder
	if err := r.File.Write(&text); err != nil {
		t.Fatal(err)
	}
	saved, err := runfile.Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	c := compare.Files([]*runfile.File{saved}, []string{"run.json"})
	if err := errors.Join(c.Text(&text, textfmt.Style{}), c.JSON(&asJSON)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" floor\n", "floor: the smallest change that 10 rounds show on this machine"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, &text)
		}
	}
	if !strings.Contains(asJSON.String(), `"floor": 1.`) {
		t.Errorf("no floor in %s", &asJSON)
	}
}

// TestFloorAlone measures one variant and nothing else; an interruption leaves what there is.
func TestFloorAlone(t *testing.T) {
	flags := flags{seed: 5, aa: true, judging: judge.Flags{Figures: "p99"}}
	r, _ := untilRunner(t, flags, 1, .1)
	r.variants = r.variants[:1]
	if err := r.MeasureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.File.Runs) != 10 || r.Compared().Row("p99").FloorText() == "" {
		t.Errorf("%d runs, %q", len(r.File.Runs), r.Compared().Row("p99").FloorText())
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
	if err := r.MeasureAll(ctx); !errors.Is(err, cli.ErrInterrupted) ||
		len(r.File.Floor.First)+len(r.File.Floor.Second) != 5 || len(r.File.Runs) == 0 {
		t.Errorf("%v, %d runs", err, len(r.File.Runs))
	}
}

// TestFloorUntil says what the budget has room for.
func TestFloorUntil(t *testing.T) {
	r, stderr := untilRunner(t, flags{
		seed: 5, aa: true,
		until: untilFlags{width: .1, budget: cli.Period(5 * time.Minute)},
	}, 3, .1)
	if err := r.MeasureAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stderr.String(),
		"base against itself, 8 rounds: the smallest changes that 30 such rounds show") {
		t.Error(stderr.String())
	}
}
