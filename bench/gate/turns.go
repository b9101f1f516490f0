//go:build linux

package gate

import (
	"fmt"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/gcgate/capacity"
)

// The trigger is fixed, so that the formula can be computed.
const (
	turnsTrigger = 72 << 20 // bytes
	turnsJitter  = .1       // the gate's default

	formulaHolds = .9  // up to this load
	turnSuffices = 1.5 // up to this load
)

const (
	turnLoad    = "load of the turn" // by the formula; above 1 one turn does not suffice
	heldBy      = "held, by the formula"
	withoutTurn = "without a turn"
)

func turnsGroup() group {
	const oneTurn = "one turn"
	trigger := fmt.Sprintf("%dMiB", turnsTrigger>>20)
	g := group{
		Case: harness.Case{
			Name: "gate/turns", What: "four replicas share one turn: how long it is held, next to package capacity's formula",
			Loads: []string{"30%", "60%", "85%", "140%"}, Figures: []string{turnLoad, heldBy, withoutTurn},
		},
		replicas: 4,
		ways: []way{{
			name: oneTurn, window: 33_000, gated: true, inBand: true,
			args: func(s *system, _ int) []string {
				return []string{
					"-batch", "256", "-gate=drain", "-inband", "-turns", s.dir + "/turns",
					"-min-trigger", trigger, "-max-trigger", trigger,
				}
			},
		}},
		loads: map[string]load{
			"30%": {rate: 300, share: .3, of: turnLoad}, "60%": {rate: 600, share: .6, of: turnLoad},
			"85%": {rate: 850, share: .85, of: turnLoad}, "140%": {rate: 1400, share: 1.4, of: turnLoad},
		},
	}
	for _, load := range g.Loads {
		g.Claims = append(g.Claims, harness.None(oneTurn, load, withoutTurn))
		if g.loads[load].share <= formulaHolds {
			g.Claims = append(g.Claims,
				harness.Claim{Load: load, Way: oneTurn, Figure: heldBy, Target: harness.Between(.9, 1.1), Unit: "x"})
		}
	}
	return g
}

// turns sets how the replicas used their turn between two readings.
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
	if collections == 0 {
		return
	}
	room := capacity.Room(live, turnsTrigger, turnsJitter)
	load := capacity.TurnLoad(allocated/s.Length.Seconds(), room, held/time.Duration(collections), 1)
	s.Set(turnLoad, load)
	if load <= formulaHolds {
		s.Set(heldBy, held.Seconds()/s.Length.Seconds()/load)
	}
	if load <= turnSuffices {
		s.Set(withoutTurn, float64(without))
	}
}
