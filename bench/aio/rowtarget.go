package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evenkeel.dev/bench/figure"
)

// each calls of for both backends of aio, with the name by which figures tell them apart. A figure of a part is held to its
// target on each, as epoll is what most containers get.
func (j judge) each(of func(server, backend string)) {
	for _, s := range both {
		of(s, ", "+strings.TrimPrefix(s, "aio-"))
	}
}

// all returns what a server reached in a workload of rows.
func (j judge) all(server, workload string, of func(sample) float64) []float64 {
	return j.raw.all(server, j.at(workload), of)
}

// at returns the point at which a workload was measured, which is the row's.
func (j judge) at(workload string) point { return rows[workload].point }

// most and least add a figure of runs, and say where there are none.
func (j judge) most(name string, xs []float64, bound float64, unit string) {
	if j.measured(name, xs) {
		j.set.AtMost(name, xs, bound, unit)
	}
}

func (j judge) least(name string, xs []float64, bound float64, unit string) {
	if j.measured(name, xs) {
		j.set.AtLeast(name, xs, bound, unit)
	}
}

// beside prints what a peer reached.
func (j judge) beside(peer, workload, unit string, of func(sample) float64) {
	if xs := j.all(peer, workload, of); len(xs) > 0 {
		fmt.Fprintf(j.set.Out, "  %s: %.4g%s [%.4g..%.4g]\n", peer, figure.Median(xs), unit, slices.Min(xs), slices.Max(xs))
	}
}

func (j judge) accept() {
	ratio := func(server, peer string, workload string, of func(sample) float64) []float64 {
		return j.raw.ratios(server, peer, of, j.at(workload))
	}
	j.each(func(server, backend string) {
		j.most("accept: CPU a connection / a loop of accept4"+backend, ratio(server, raw, "accept", value("cpu_ns")), 1.15, "x")
		for _, peer := range []string{gnet, std} {
			if xs := ratio(server, peer, "accept", value("cpu_ns")); len(xs) > 0 {
				fmt.Fprintf(j.set.Out, "  / %s: %.4g [%.4g..%.4g]\n", peer, figure.Median(xs), slices.Min(xs), slices.Max(xs))
			}
		}
		j.most("accept: allocations a connection"+backend, j.all(server, "accept", value("allocs")), 3, "")
		j.least("accept: 8,192 clients at once, connections a second / gnet"+backend, ratio(server, gnet, "rush", rate), 1, "x")
	})
}

func (j judge) idle18k() {
	p := j.at("idle18k")
	j.each(func(server, backend string) {
		j.most("18,000 idle connections, resident bytes each"+backend, j.raw.all(server, p, anonymous), 450, "")
		j.most("18,000 idle connections, resident bytes / gnet"+backend, j.raw.ratios(server, gnet, anonymous, p), 1, "x")
	})
}

// worst returns, for each round, the largest of what several workloads found.
func (j judge) worst(server string, of func(sample) float64, workloads ...string) (xs []float64) {
	by := map[int]float64{}
	for _, w := range workloads {
		for round, x := range j.raw.rounds(server, j.at(w), of) {
			by[round] = max(x, by[round])
		}
	}
	for round := range j.raw.Rounds {
		if x, ok := by[round]; ok {
			xs = append(xs, x)
		}
	}
	return xs
}

func (j judge) hostile() {
	j.each(func(server, backend string) {
		xs := j.all(server, "closed", value("complete"))
		if len(xs) > 0 {
			xs = []float64{slices.Min(xs)}
		}
		j.least(fmt.Sprintf("writes, then Close: complete of %d, the worst run%s", closedRounds, backend), xs, closedRounds, "")
	})
	j.most("p99 beside 150 ms system calls, io_uring / epoll", j.raw.ratios(aioURing, aioEpoll, p99, j.at("slowcalls")), 2, "x")
	for _, s := range with(std) {
		j.beside(s, "slowcalls", " ms", milli(p99))
	}
	orders := []string{"deadlines-up", "deadlines-random", "deadlines-down"}
	j.each(func(server, backend string) {
		j.most("100,000 deadlines in any order: the latest"+backend, j.worst(server, value("late_ms"), orders...), 20, " ms")
		j.most("100,000 deadlines in any order: WaitIO silent for"+backend, j.worst(server, value("gap_ms"), orders...), 10, " ms")
	})
	j.each(func(server, backend string) {
		j.most("small write beside 100 x 1,000 queued, the longest"+backend, j.all(server, "queued", value("max_ms")), 20, " ms")
	})
	j.each(func(server, backend string) {
		j.most("new connection while 500 peers do not read, the longest"+backend, j.all(server, "unread", milli(slowest)), 100, " ms")
	})
	j.each(func(server, backend string) {
		j.most("ping beside a bulk peer, p50 / net"+backend, j.raw.ratios(server, std, p50, j.at("bulk")), 3, "x")
		j.most("ping beside a bulk peer, p99 / net"+backend, j.raw.ratios(server, std, p99, j.at("bulk")), 1, "x")
	})
	j.beside(std, "bulk", " ms p50", milli(p50))
	j.beside(std, "bulk", " ms p99", milli(p99))
	j.each(j.short)
	j.each(func(server, backend string) {
		xs := j.all(server, "crowd", stalls)
		name := fmt.Sprintf("8,192 clients at once: clients that stalled, most of %d rounds%s", len(xs), backend)
		if len(xs) > 0 {
			xs = []float64{slices.Max(xs)}
		}
		j.most(name, xs, 0, "")
	})
	j.beside(gaio, "crowd", " stalled", stalls)
	j.most("reads a message, 2,000 connections, the default swap, epoll", j.all(aioEpoll, "swapreads", perMessage("reads")), 1.2, "")
	for _, s := range []string{aioURing, gaio} {
		j.beside(s, "swapreads", "", perMessage("reads"))
	}
}

// short adds the messages of all rounds of which a read returned a part.
func (j judge) short(server, backend string) {
	var cut, messages float64
	for _, s := range j.raw.Samples {
		if x := value("short")(s); s.Server == server && s.Workload == "short" && !math.IsNaN(x) {
			cut, messages = cut+x, messages+float64(s.Messages)
		}
	}
	name := fmt.Sprintf("messages of 100 B to 30 KB that a read cut, of %.0f%s", messages, backend)
	if messages == 0 {
		j.measured(name, nil)
		return
	}
	j.set.AtMost(name, []float64{cut}, 0, "")
}
