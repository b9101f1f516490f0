package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/reqtrace"
	"evenkeel.dev/reqtrace/verdict"
)

const (
	diffPairs  = 20  // of groups of traces, with a difference and without
	diffTraces = 3   // of each side
	diffMore   = 1.2 // how much longer a plant takes in the new version: so much more do the slowest 1%, which are waits for it
)

// diffPlants are the plants whose strength can be chosen, and the function that waits; "": it is not judged.
var diffPlants = map[int]string{3: "main.look", 4: "", 5: "main.askForFile", 6: "main.askBehind", 7: "main.submit"}

// change is what a comparison said of a pair of groups.
type change struct {
	Plant    string          `json:"plant"`
	Strength float64         `json:"strength"` // of the new one
	Change   *verdict.Change `json:"change"`
	Means    [2][]float64    `json:"means"` // of the slowest 1%, by trace, in seconds
}

// diff compares groups of traces of a service: of the same program, of which no cause may be named, and with a plant
// that takes a fifth longer in the new version.
func (d *driver) diff(ctx context.Context) error {
	pairs := diffPairs
	if d.quick {
		pairs = len(diffPlants)
	}
	var numbers []int
	for i := range plants {
		if _, ok := diffPlants[plants[i].number]; ok && (d.only == 0 || d.only == plants[i].number) {
			numbers = append(numbers, i)
		}
	}
	if len(numbers) == 0 {
		return fmt.Errorf("-plant %d: part diff has plants 3 to 7", d.only)
	}
	for _, strength := range []float64{1, diffMore} {
		named, right := 0, 0
		var raw []change
		var grown []float64
		for i := range pairs {
			p := &plants[numbers[i%len(numbers)]]
			x, err := d.changed(ctx, p, strength, i)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			raw = append(raw, *x)
			c := x.Change
			named += asNumber(c.Named)
			right += asNumber(p.named(c))
			grown = append(grown, 100*(float64(c.Slow.New)/float64(c.Slow.Old)-1))
			fmt.Fprintf(d.out, "%-20s × %.1f: %s\n", p.name, strength, c.Sentence)
		}
		d.set.Raw[fmt.Sprintf("diff, strength %.1f", strength)] = raw
		fmt.Fprintf(d.out, "strength × %.1f: the mean of the slowest 1%% is %+.0f%%, in the median of %d pairs\n", strength, figure.Median(grown), pairs)
		if strength == 1 {
			d.set.AtMost(fmt.Sprintf("the same program twice: pairs with a cause named, of %d", pairs), []float64{float64(named)}, 0, "")
		} else {
			d.set.AtLeast(fmt.Sprintf("a plant that takes a fifth longer: named first, of %d", pairs), []float64{float64(right)}, .9*float64(pairs), "")
		}
	}
	return nil
}

func asNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// named reports whether the first cause of a change is the plant, and takes more.
func (p *planted) named(c *verdict.Change) bool {
	if !c.Named {
		return false
	}
	first := c.Causes[0]
	return first.Slow.More > 0 && slices.Contains(groups[p.cause], first.Cause) && strings.HasPrefix(first.Site, diffPlants[p.number])
}

// changed traces a service with a plant as it is, and one with the plant's strength, in turns.
func (d *driver) changed(ctx context.Context, p *planted, strength float64, pair int) (*change, error) {
	x := &change{Plant: p.name, Strength: strength}
	var sides [2][]*reqtrace.Report
	for i := range 2 * diffTraces {
		side := (i + i/2 + pair) % 2 // neither is always the first
		s, err := d.planted(ctx, p, fmt.Sprintf("diff-%d-%.1f-%d-%d", p.number, strength, pair, i), fmt.Sprintf("-strength=%g", cmp.Or(float64(side)*strength, 1)))
		if err != nil {
			return nil, err
		}
		sides[side] = append(sides[side], s.report)
		x.Means[side] = append(x.Means[side], s.Server.Tail)
	}
	var err error
	x.Change, err = verdict.Compare(sides[0], sides[1], verdict.ChangeOptions{})
	return x, err
}

// planted measures a plant once, with these flags.
func (d *driver) planted(ctx context.Context, p *planted, name string, flags ...string) (*sample, error) {
	c, err := start(ctx, nil, append([]string{filepath.Join(d.bin, "plant"), fmt.Sprintf("-plant=%d", p.number)}, flags...)...)
	if err != nil {
		return nil, err
	}
	defer c.end()
	return d.measure(ctx, c, load{rate: p.rate, length: d.length, warmup: d.warmup, targets: p.targets(c.url, 1000)}, name)
}
