package main

import (
	"fmt"
	"slices"

	"evenkeel.dev/bench/figure"
)

// The modes of the part envoy with a gate that Envoy is told of.
const (
	polledEnvoy  = "polled"
	headerEnvoy  = "header"
	defaultEnvoy = "Envoy's defaults"
)

// mostAfterFlip is how many requests may come, with the header, after the announcement.
const mostAfterFlip = 10

// envoyTeam is two replicas behind Envoy, which polls their health.
var envoyTeam = team{
	replicas: 2,
	modes: []mode{
		{name: "default", what: "the stock runtime", front: envoyPolls, program: "subject", under: "envoy"},
		subjectMode(mode{name: polledEnvoy, what: "policy drain, health polled every 10 ms", front: envoyPolls}, true),
		subjectMode(mode{name: headerEnvoy, what: "policy drain, told in answers, and health polled every 500 ms", front: envoyHeader}, true, "-envoy"),
		subjectMode(mode{name: defaultEnvoy, what: "policy drain behind an Envoy with its own settings for hosts", front: envoyDefaults, under: "envoy"}, true),
		subjectMode(mode{name: noTurns, what: "policy drain without turns", front: envoyPolls, under: "envoy forced"}, false),
		floor(mode{front: envoyPolls, program: "subject", under: "envoy"}),
	},
	loads: []load{{name: "envoy", share: moderate}, {name: "envoy forced", rate: 500, forced: true}},
	counts: []count{
		{mode: polledEnvoy, load: "envoy", met: true},
		{mode: polledEnvoy, load: "envoy"},
		{mode: headerEnvoy, load: "envoy", met: true},
		{mode: headerEnvoy, load: "envoy"},
		{mode: defaultEnvoy, load: "envoy", met: true, most: .1},
		{mode: defaultEnvoy, load: "envoy"},
		{mode: polledEnvoy, load: "envoy forced"},
		{mode: headerEnvoy, load: "envoy forced"},
		{mode: noTurns, load: "envoy forced"},
	},
	more: (*driver).envoyFigures,
}

// subjectMode fills in a mode of subject with policy drain, by turns or without.
func subjectMode(m mode, turns bool, more ...string) mode {
	m.program, m.counts = "subject", true
	m.args = func(p place) []string {
		args := append([]string{"-gate=drain", "-health", "-fall", "1", "-rise", "1"}, more...)
		if turns {
			args = p.inTurn(args...)
		}
		return args
	}
	return m
}

// envoyFigures adds what Envoy was told with how many polls, how soon it heeded that, and when the gates noticed that
// it does not.
func (d *driver) envoyFigures() {
	const load = "envoy"
	for _, mode := range []string{polledEnvoy, headerEnvoy} { // targets are of the overlap: a count
		d.beside(load, "default", mode)
		d.beside(load, mode, "floor")
	}
	polls := func(mode string) (xs []float64) {
		for _, s := range d.good(mode, load) {
			n := 0
			for _, c := range s.Counted {
				n += c.Polls
			}
			xs = append(xs, float64(n))
		}
		return xs
	}
	if xs := figure.Ratios(polls(headerEnvoy), polls(polledEnvoy)); len(xs) > 0 {
		d.set.AtMost("envoy: polls, header / polled", xs, .1, "x")
	}
	var after []float64
	for _, s := range d.good(headerEnvoy, load) {
		for _, c := range s.Counted {
			for _, a := range c.Away {
				after = append(after, float64(a.Announced))
			}
		}
	}
	if len(after) > 0 {
		d.set.AtMost("envoy: header: most requests after an announcement", []float64{slices.Max(after)}, mostAfterFlip, "")
	}
	late, unheeded := 0, 0
	for _, s := range d.good(defaultEnvoy, load) {
		for _, c := range s.Counted {
			first := slices.IndexFunc(c.Away, func(a away) bool { return a.Drained > mostAfterFlip })
			if first < 0 {
				continue
			}
			unheeded++
			if c.Warned == nil || *c.Warned > first {
				late++
			}
		}
	}
	if unheeded > 0 {
		d.set.AtMost(fmt.Sprintf("envoy: its defaults: of %d gates that were not heeded, did not warn at once", unheeded), []float64{float64(late)}, 0, "")
	}
}
