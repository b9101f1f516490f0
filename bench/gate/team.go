package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/bench/machine"
)

// team is a part that measures what a team runs: modes beside each other, the floor among them, in interleaved rounds.
type team struct {
	replicas int
	rounds   int    // 0: as many as of the other parts
	modes    []mode // with the first of them loads are calibrated
	loads    []load
	targets  map[string][]target // of ratios, by load
	counts   []count
	more     func(*driver) // adds other figures; may be nil
}

// count is a target of counts: how many requests failed, or met a collection, in all rounds together.
type count struct {
	mode, load string
	met        bool    // requests that met a collection; else those that failed
	most       float64 // of all requests, in percent
}

// loneRate is what a replica without a balancer gets, a second. saturating times the rate that takes half of its core is all that it can do: requests
// take less CPU time each the more there are.
const (
	loneRate   = 1100
	saturating = 2.4
)

// enough is how many requests a count of those that met a collection is made of.
const enough = 50_000

// teams are these parts, by name.
var teams = map[string]team{
	"lone": {
		replicas: 1,
		modes: []mode{
			modeNamed(single, "default"), modeNamed(single, "auto"), asRival(modeNamed(idleModes, "memory")),
			{name: "GOGC=400", rival: true, what: "collects a quarter as often", env: []string{"GOGC=400"}},
			onlyUnder("lone", floor(mode{})), // saturated it would have to collect
		},
		loads: []load{{name: "lone", rate: loneRate}, {name: "lone saturated", share: .5, times: saturating}},
		targets: map[string][]target{
			"lone":           {{"auto", "default", "p99.9", .5, false}},
			"lone saturated": {{"auto", "default", "p99.9", 1.1, false}},
		},
		counts: []count{{mode: "auto", load: "lone"}},
	},
	"haproxy": {
		replicas: 2,
		modes: []mode{
			onlyUnder("haproxy", modeNamed(modes, "default")), onlyUnder("haproxy", modeNamed(modes, "gated")), onlyUnder("haproxy", modeNamed(modes, "floor")),
			subjectMode(mode{name: noTurns, what: "policy drain without turns, health polled every 10 ms", front: haproxyPolls, under: "haproxy forced"}, false),
		},
		loads: []load{{name: "haproxy", share: moderate}, {name: "haproxy forced", rate: 500, forced: true}},
		targets: map[string][]target{"haproxy": {
			{"gated", "floor", "p99", 1.1, false},
			{"gated", "floor", "p99.9", 1.1, false},
			{"default", "gated", "p99", 10, true},
			{"default", "gated", "p99.9", 3, true},
		}},
		counts: []count{{mode: "gated", load: "haproxy", met: true}, {mode: "gated", load: "haproxy"}, {mode: noTurns, load: "haproxy forced"}},
	},
	"envoy": envoyTeam,
	"grpc":  grpcTeam,
	"raft":  raftTeam,
	"quota": quotaTeam,

	"wholepath": wholeTeam,

	"hello":    helloTeam,
	"shedding": sheddingTeam,
}

// noCollections is the environment of a floor. GOGC=3000 in its place has it sweep some 120 MB now and then, and while it sweeps a runtime with
// one P looks at the network every 10 ms only (runtime/proc.go, sysmon). The limit is for machines with less memory.
var noCollections = []string{"GOGC=off", "GOMEMLIMIT=3GiB"}

// floor makes of m the rest of the tail, which is the machine's: nearly no heap, no collection, and memory that is not new to the kernel, as each
// page that is costs requests up to 10 µs.
func floor(m mode) mode {
	m.name, m.what, m.env = "floor", "nearly no heap, and no collection", noCollections
	others := m.args
	m.args = func(p place) (args []string) {
		if others != nil {
			args = others(p)
		}
		return append(args, "-window", "1000", "-warm", fmt.Sprint(p.warm))
	}
	return m
}

// warmMiB is what a floor takes at its start: less than noCollections allows, and eight have room.
func (d *driver) warmMiB() int64 {
	if d.quick {
		return 1
	}
	const most = 5 << 29
	return min(most, machine.Memory("MemAvailable")/8) >> 20
}

// noTurns is the mode of replicas that may all be away at once.
const noTurns = "no turns"

// onlyUnder has a mode measured under one of its part's loads, in each round.
func onlyUnder(load string, m mode) mode {
	m.under, m.rival = load, false
	return m
}

// asRival has a mode measured in some rounds only: no target hangs on it.
func asRival(m mode) mode {
	m.rival = true
	return m
}

// forcedEvery is the longest pause between two times that all replicas are asked to collect.
const forcedEvery = 50 * time.Millisecond

// under returns the modes that are measured under a load.
func (t team) under(l load) (ms []mode) {
	for _, m := range t.modes {
		if m.under == "" || m.under == l.name {
			ms = append(ms, m)
		}
	}
	return ms
}

// usualRounds are those of a part that has no number of its own.
const usualRounds = 5

// roundsOf returns how many rounds a part takes: its own number, unless -rounds gives another one than the usual.
func (d *driver) roundsOf(t team) int {
	if t.rounds > 0 && d.rounds == usualRounds {
		return t.rounds
	}
	return d.rounds
}

// runs returns how many runs the part takes, those of calibration included.
func (d *driver) runs(t team) (n int) {
	for _, l := range t.loads {
		for _, m := range t.under(l) {
			n += d.roundsIn(m, d.roundsOf(t))
		}
		if l.share > 0 {
			n += 3
		}
	}
	return n
}

// roundsIn returns in how many of the rounds a mode is measured.
func (d *driver) roundsIn(m mode, rounds int) int {
	if m.rival {
		return min(rounds, d.rivals)
	}
	return rounds
}

// team measures the part of this name.
func (d *driver) team(ctx context.Context, name string) error {
	t := teams[name]
	d.lastRate, d.polling = 0, pollings[0] // another way to the service
	if slices.ContainsFunc(t.modes, func(m mode) bool { return m.original }) {
		if err := d.buildOriginal(ctx); err != nil {
			return err
		}
		if d.program == "" {
			d.withoutOriginal()
		}
	}
	defer d.teamFigures(t) // also of what was measured before an error
	var loads []load
	for _, l := range t.loads {
		if l.rate == 0 {
			var err error
			if l, err = d.calibrate(ctx, t.modes[0], t.replicas, l); err != nil {
				return err
			}
			l.rate *= cmp.Or(l.times, 1)
		}
		loads = append(loads, l)
	}
	for round := 1; round <= d.roundsOf(t); round++ {
		for _, l := range loads {
			for _, m := range order(t.under(l), round) {
				if round > d.roundsIn(m, d.roundsOf(t)) || m.original && d.program == "" {
					continue
				}
				if _, err := d.measure(ctx, m, t.replicas, l, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// teamFigures adds the figures of a part that was measured.
func (d *driver) teamFigures(t team) {
	for _, l := range t.loads {
		d.table(l.name, t.modes)
		d.ratios(l.name, t.targets[l.name])
	}
	if d.quick {
		return
	}
	for _, c := range t.counts {
		d.countFigure(c)
	}
	if t.more != nil {
		t.more(d)
	}
}

// countFigure adds the figures of a count.
func (d *driver) countFigure(c count) {
	var all, hits int64
	ss := d.good(c.mode, c.load)
	for _, s := range ss {
		all += s.Requests
		hits += s.Failed
	}
	if c.met {
		hits = overlap(ss)
	}
	if all == 0 {
		return
	}
	name := fmt.Sprintf("%s: %s: failed requests", c.load, c.mode)
	if c.met {
		d.set.AtLeast(fmt.Sprintf("%s: %s: requests", c.load, c.mode), []float64{float64(all)}, enough, "")
		name = fmt.Sprintf("%s: %s: requests that met a collection", c.load, c.mode)
	}
	if c.most > 0 {
		d.set.Share(name, int(hits), int(all), 0, c.most)
	} else {
		d.set.AtMost(name, []float64{float64(hits)}, 0, "")
	}
}
