package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/gcgate/capacity"
)

// How replicas share a turn.
const (
	turnsReplicas = 4
	turnsTrigger  = 72 << 20 // bytes, fixed, so that the law's figures are known
	turnsJitter   = .1       // the gate's default
	turnsFirst    = 300      // requests a second, of the first run
	turnsGrowth   = 4        // of the rate, at most, from one run to the next

	lawHolds     = .9  // load up to which the time held is held against the law
	turnsSuffice = 1.5 // and no collection goes without a turn
)

// turnsWanted are the loads of the turn that are tried.
var turnsWanted = []float64{.3, .6, .85, 1.4}

// turnsMode is replicas with one turn, which the client spreads requests over.
var turnsMode = mode{
	name: "turns", what: "policy drain, told in answers; one turn for four replicas", law: true,
	work: []string{"-shape", "ptr", "-size", "1024", "-batch", "256", "-window", "33000"},
	args: func(p place) []string {
		trigger := fmt.Sprintf("%dMiB", turnsTrigger>>20)
		return []string{"-gate=drain", "-inband", "-turns", p.turns, "-min-trigger", trigger, "-max-trigger", trigger}
	},
}

// turnCounts are what became of a turn in one run.
type turnCounts struct {
	Load        float64 `json:"load"` // by the law: above 1 one turn does not suffice
	Held        float64 `json:"held"` // share of the time
	Collections int64   `json:"collections"`
	WithoutTurn int64   `json:"without_turn"`
}

// turnGate are the figures of a gate that the law is about.
type turnGate struct {
	Live, Allocated float64
	WithoutTurn     int64
	Turn            struct {
		Held struct {
			Count int64
			Total time.Duration
		}
	}
}

// turnGates reads these figures of each replica.
func turnGates(of []*stats) (gates []turnGate, err error) {
	for _, s := range of {
		var g turnGate
		err = errors.Join(err, json.Unmarshal(s.Gate, &g))
		gates = append(gates, g)
	}
	return gates, err
}

// countTurns returns what became of the replicas' turn between two readings.
func countTurns(before, after []turnGate, window time.Duration) *turnCounts {
	c := new(turnCounts)
	var live, allocated float64
	var held time.Duration
	n := int64(0)
	for i, b := range after {
		a := before[i]
		live += b.Live / float64(len(after))
		allocated += b.Allocated - a.Allocated
		held += b.Turn.Held.Total - a.Turn.Held.Total
		n += b.Turn.Held.Count - a.Turn.Held.Count
		c.WithoutTurn += b.WithoutTurn - a.WithoutTurn
	}
	c.Collections = n + c.WithoutTurn
	c.Held = held.Seconds() / window.Seconds()
	if n > 0 {
		c.Load = capacity.TurnLoad(allocated/window.Seconds(), capacity.Room(live, turnsTrigger, turnsJitter), held/time.Duration(n), 1)
	}
	return c
}

// simulatedKey is that of the raw results.
const simulatedKey = "turns, simulated"

// simulatedTurns is what became of the turns of a simulated group.
type simulatedTurns struct {
	Replicas    int     `json:"replicas"`
	Load        float64 `json:"load"` // by the law
	Held        float64 `json:"held"` // share of the time
	Collections int64   `json:"collections"`
	WithoutTurn int64   `json:"without_turn"`
	Law         bool    `json:"law"` // the gates did not know how many they are: it is the law that is tried
}

// simulations are the tests of package gcgate that run groups in virtual time, simulatedLine what they say of one.
const simulations = "^(TestTurnsFollowTheLaw|TestQueueSuffices)$"

var simulatedLine = regexp.MustCompile(`(\d+) replicas(?:, \d+ turns: (law)| at) ([0-9.]+)[,:] held ([0-9.]+), (\d+) collections, (\d+) without a turn`)

// simulate runs these tests.
func (d *driver) simulate(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-count", "1", "-v", "-run", simulations, "evenkeel.dev/gcgate")
	if !d.quick {
		cmd.Env = append(os.Environ(), "EVENKEEL_TEST=check") // all groups, as make check runs them
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	for _, m := range simulatedLine.FindAllStringSubmatch(string(out), -1) {
		var s simulatedTurns
		if _, err := fmt.Sscan(strings.Join([]string{m[1], m[3], m[4], m[5], m[6]}, " "), &s.Replicas, &s.Load, &s.Held, &s.Collections, &s.WithoutTurn); err != nil {
			return fmt.Errorf("%v: %q: %w", cmd, m[0], err)
		}
		s.Law = m[2] != ""
		d.simulated = append(d.simulated, s)
		fmt.Fprintln(d.out, "simulated:", m[0])
	}
	return nil
}

// turns loads replicas until one turn suffices, and until it does not.
func (d *driver) turns(ctx context.Context) error {
	defer d.turnsFigures() // also of what was measured before an error
	if err := d.simulate(ctx); err != nil {
		return err
	}
	for round := 1; round <= d.rounds; round++ {
		rate, load0 := float64(turnsFirst), 0.
		for _, want := range turnsWanted {
			if load0 > 0 {
				rate *= min(want/load0, turnsGrowth)
			}
			s, err := d.measure(ctx, turnsMode, turnsReplicas, load{name: fmt.Sprintf("turns %g", want), rate: rate}, round)
			if err != nil {
				return err
			}
			load0 = s.Turns.Load
			fmt.Fprintf(d.out, "the turn: load %.2f by the law (%.2f wanted), held for %.2f of the time, %d collections, %d without it\n",
				s.Turns.Load, want, s.Turns.Held, s.Turns.Collections, s.Turns.WithoutTurn)
		}
	}
	return nil
}

// turnsFigures holds the turn against the law.
func (d *driver) turnsFigures() {
	if d.quick {
		return
	}
	var ratios []float64
	alone, all := int64(0), int64(0)
	add := func(law bool, load, held float64, collections, without int64) {
		if law && load <= lawHolds {
			ratios = append(ratios, held/load)
		}
		if load <= turnsSuffice {
			alone += without
			all += collections
		}
	}
	put := func(what string) {
		if all > 0 {
			d.set.AtMost(fmt.Sprintf("turns%s: of %d collections up to a load of %g, without a turn", what, all, turnsSuffice), []float64{float64(alone)}, 0, "")
		}
		if name := fmt.Sprintf("turns%s: time held / the law, up to a load of %g", what, lawHolds); len(ratios) > 0 {
			slices.Sort(ratios)
			if what == "" {
				d.set.Between(name, ratios, .9, 1.1, "x")
			} else { // there is no noise, so each counts, and the furthest off stands for all
				furthest := ratios[0]
				if most := ratios[len(ratios)-1]; most-1 > 1-furthest {
					furthest = most
				}
				d.set.Between(name, []float64{furthest}, .9, 1.1, "")
			}
		}
		ratios, alone, all = nil, 0, 0
	}
	for _, s := range d.simulated {
		if s.Law {
			add(true, s.Load, s.Held, 0, 0)
		} else {
			add(false, s.Load, s.Held, s.Collections, s.WithoutTurn)
		}
	}
	put(", simulated")
	for _, want := range turnsWanted {
		for _, s := range d.good(turnsMode.name, fmt.Sprintf("turns %g", want)) {
			if s.Turns != nil && s.Turns.Load > 0 {
				add(true, s.Turns.Load, s.Turns.Held, s.Turns.Collections, s.Turns.WithoutTurn)
			}
		}
	}
	put("")
}
