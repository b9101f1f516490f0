package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
)

const (
	floorRounds      = 10 // of -aa without -repeat
	floorRoundsUntil = 8
	floorShown       = 1.1
)

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
			r.File.Runs = slices.Clone(floor.First) // for a table
		}
	}()
	rng := rand.New(rand.NewPCG(r.flags.seed, 0)) // compared rounds begin with 1
	begun := r.now()
	for i := 1; i <= rounds; i++ {
		order := []struct {
			twin string
			to   *[]runfile.Run
		}{{"first", &floor.First}, {"second", &floor.Second}}
		rng.Shuffle(2, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, o := range order {
			r.twin = o.twin
			if err := r.add(ctx, base, i, o.to); err != nil {
				return err
			}
		}
	}
	r.sayFloor(floor, base.label, r.now().Sub(begun)/time.Duration(rounds))
	return nil
}

// sayFloor says which change the given time can show. pair is the time of two runs.
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
	for _, row := range c.Rows {
		if row.FloorResult == nil {
			continue
		}
		text := "none"
		if x, ok := row.FloorResult.Detectable(rounds); ok {
			text = compare.Change(x)
		}
		shown = append(shown, row.Name+" "+text)
	}
	fmt.Fprintf(r.app.Stderr, "%s against itself, %s: the smallest changes that %s show on this machine: %s\n",
		label, textfmt.Plural(len(floor.First), "round"), textfmt.Plural(rounds, "such round"),
		strings.Join(shown, ", "))
	lead := c.MainRow()
	if lead == nil {
		return
	}
	if n, ok := lead.FloorResult.Needed(floorShown); ok {
		fmt.Fprintf(r.app.Stderr, "%s of %s takes %s, %s\n", compare.Change(floorShown), lead.Name,
			textfmt.Plural(n, "round"), (time.Duration(n) * round).Round(time.Second))
	} else {
		fmt.Fprintf(r.app.Stderr, "no number of rounds shows %s of %s here\n", compare.Change(floorShown), lead.Name)
	}
}
