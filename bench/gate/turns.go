//go:build linux

package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/gcgate/capacity"
)

// The trigger is fixed, so that the formula's figures are known.
const (
	turnsTrigger = 72 << 20 // bytes
	turnsJitter  = .1       // the gate's default
	turnsRate    = 300      // requests per second, by which the rates of the loads are found
)

// turnsLoads are loads of the turn by the formula. Above 1 one turn does not suffice for ever.
var turnsLoads = map[string]float64{"30%": .3, "60%": .6, "85%": .85, "140%": 1.4}

// The figures of a turn.
const (
	turnLoad    = "load of the turn"
	heldBy      = "held, by the formula"
	withoutTurn = "without a turn"
)

func turnsGroup() group {
	trigger := fmt.Sprintf("%dMiB", turnsTrigger>>20)
	g := group{replicas: 4, ways: []way{{
		name: "one turn", window: 33_000, gated: true, inBand: true,
		args: func(s *system, _ int) []string {
			return []string{
				"-batch", "256", "-gate=drain", "-inband", "-turns", s.dir + "/turns",
				"-min-trigger", trigger, "-max-trigger", trigger,
			}
		},
	}}}
	g.Case = harness.Case{
		Name: "gate/turns", What: "four replicas that share one turn: for how long it is held, next to the formula of package capacity",
		Loads: []string{"30%", "60%", "85%", "140%"}, Figures: []string{turnLoad, heldBy, withoutTurn},
		Open: func(ctx context.Context, prepared *harness.Run) (func(), error) {
			trial := *prepared
			trial.Way, trial.Values = "one turn", nil
			if err := g.measure(ctx, &trial, g.ways[0], turnsRate); err != nil {
				return nil, err
			}
			measured := trial.Values[turnLoad]
			if measured == 0 && !prepared.Quick {
				return nil, errors.New("no replica collected; measure for longer by -length")
			}
			for name, want := range turnsLoads {
				prepared.Set(name, turnsRate*want/max(measured, .1))
			}
			return nil, nil
		},
	}
	for _, load := range g.Loads {
		g.Claims = append(g.Claims, harness.None("one turn", load, withoutTurn))
		if turnsLoads[load] <= .9 {
			g.Claims = append(g.Claims,
				harness.Claim{Load: load, Way: "one turn", Figure: heldBy, Target: harness.Between(.9, 1.1), Unit: "x"})
		}
	}
	return g
}

// turns sets what became of the replicas' turn between two readings.
func (s *system) turns(before, after []stats) {
	var live, allocated float64
	var held time.Duration
	var collections uint64
	var without int64
	for i := range after {
		was, now := before[i].Gate, after[i].Gate
		live += now.Live / float64(len(after))
		allocated += now.Allocated - was.Allocated
		held += now.Turn.Held.Total - was.Turn.Held.Total
		collections += now.Turn.Held.Count - was.Turn.Held.Count
		without += now.WithoutTurn - was.WithoutTurn
	}
	s.Set(withoutTurn, float64(without))
	if collections == 0 {
		return
	}
	room := capacity.Room(live, turnsTrigger, turnsJitter)
	load := capacity.TurnLoad(allocated/s.Length.Seconds(), room, held/time.Duration(collections), 1)
	s.Set(turnLoad, load)
	s.Set(heldBy, held.Seconds()/s.Length.Seconds()/load)
}
