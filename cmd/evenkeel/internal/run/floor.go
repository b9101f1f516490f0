package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

const (
	floorRounds      = 10  // of -aa, where -repeat does not say
	floorRoundsUntil = 8   // of -aa before -until
	floorShown       = 1.1 // the change of which -aa says how many rounds show it
)

// measureFloor measures one variant, the base, twice in each round, in random order, and says
// which change the rounds that follow can show.
func (r *Runner) measureFloor(ctx context.Context) error {
	rounds := r.flags.repeat
	if r.flags.until.width > 0 {
		rounds = floorRoundsUntil
	}
	base := r.variants[max(slices.IndexFunc(r.variants, func(v variant) bool {
		return v.label == r.flags.judging.Base
	}), 0)]
	floor := &runfile.Floor{}
	defer func() {
		r.twin, r.File.Floor = "", floor
		if len(r.variants) == 1 {
			r.File.Runs = slices.Clone(floor.First) // the first of each round, so that there is a table
		}
	}()
	rng := rand.New(rand.NewPCG(r.flags.seed, 0)) // rounds that are compared begin with 1
	begun := r.now()
	for i := 1; i <= rounds; i++ {
		order := []struct {
			twin string
			to   *[]runfile.Run
		}{{"first", &floor.First}, {"second", &floor.Second}}
		rng.Shuffle(2, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, o := range order {
			r.twin = o.twin
			run, err := r.take(ctx, base, i)
			if run != nil {
				run.Round = i
				*o.to = append(*o.to, *run)
			}
			if err == nil && ctx.Err() != nil {
				err = cli.ErrInterrupted
			}
			if err != nil {
				return err
			}
		}
	}
	r.sayFloor(floor, base.label, r.now().Sub(begun)/time.Duration(rounds))
	return nil
}

// sayFloor says what can be shown in the time given, before it is spent. pair is how long two runs
// took.
func (r *Runner) sayFloor(floor *runfile.Floor, label string, pair time.Duration) {
	f := runfile.File{Floor: floor, Runs: floor.First}
	if r.File.Plan != nil {
		f.Plan = &runfile.Plan{Figures: r.File.Plan.Figures, Variants: []string{label}}
	}
	c := compare.Files([]*runfile.File{&f}, []string{""})
	round := pair * time.Duration(max(len(r.variants), 2)) / 2
	rounds := r.flags.repeat
	if u := r.flags.until; u.width > 0 {
		rounds = max(int(time.Duration(u.budget)/max(round, 1)), 1)
	}
	var shown []string
	for i := range c.Rows {
		row := &c.Rows[i]
		if row.FloorText() == "" {
			continue
		}
		text := "none"
		if x, ok := row.FloorWith(rounds); ok {
			text = compare.Change(x)
		}
		shown = append(shown, row.Name+" "+text)
	}
	fmt.Fprintf(r.app.Stderr, "%s against itself, %s: the smallest changes that %s show on this machine: %s\n",
		label, textfmt.Plural(len(floor.First), "round"), textfmt.Plural(rounds, "such round"),
		strings.Join(shown, ", "))
	lead := c.Lead()
	if lead == nil {
		return
	}
	if n, ok := lead.FloorNeeded(floorShown); ok {
		fmt.Fprintf(r.app.Stderr, "%s of %s takes %s, %s\n", compare.Change(floorShown), lead.Name,
			textfmt.Plural(n, "round"), (time.Duration(n) * round).Round(time.Second))
	} else {
		fmt.Fprintf(r.app.Stderr, "no number of rounds shows %s of %s here\n", compare.Change(floorShown), lead.Name)
	}
}
