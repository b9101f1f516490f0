package main

import (
	"fmt"
	"slices"

	"evenkeel.dev/bench/figure"
)

// judge holds a run to the targets. They are for aio with the backend that it chooses itself;
// what the other backend reaches stands below as information.
type judge struct {
	set   *figure.Set
	raw   *recorded
	ours  string
	other string
}

// targets prints every figure that has a target, met or missed.
func targets(set *figure.Set, raw *recorded) {
	j := judge{set: set, raw: raw, ours: raw.Default, other: aioEpoll}
	if j.ours == aioEpoll {
		j.other = aioURing
	}
	fmt.Fprintf(set.Out, "\nFigures: medians over rounds of the ratio in each; where no backend is named, aio is %s\n", j.ours)
	if j.has("echo") {
		j.syscalls()
		j.rates()
		j.cpu()
		j.latency()
		j.sleeper()
	}
	if j.ran("idle") {
		j.idle()
	}
	if j.has("echo") {
		j.echo()
		j.burst()
	}
	if j.ran("idle18k") {
		j.idle18k()
	}
	if j.has("accept") {
		j.accept()
	}
	if j.has("hostile") {
		j.hostile()
	}
}

// has reports whether anything of a part was measured, and ran the same of a workload.
func (j judge) has(name string) bool {
	i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
	return slices.ContainsFunc(parts[i].workloads, j.ran)
}

func (j judge) ran(workload string) bool {
	return slices.ContainsFunc(j.raw.Samples, func(s sample) bool { return s.Workload == workload })
}

func pingpongAt(size int, conns ...int) (ps []point) {
	for _, n := range conns {
		ps = append(ps, point{"pingpong", size, n})
	}
	return ps
}

// atMost and atLeast add a figure of our server and a line about the other.
func (j judge) atMost(name string, bound float64, of func(server string) []float64) {
	if xs := of(j.ours); j.measured(name, xs) {
		j.set.AtMost(name, xs, bound, "x")
		j.inform(of(j.other))
	}
}

func (j judge) atLeast(name string, bound float64, of func(server string) []float64) {
	if xs := of(j.ours); j.measured(name, xs) {
		j.set.AtLeast(name, xs, bound, "x")
		j.inform(of(j.other))
	}
}

func (j judge) measured(name string, xs []float64) bool {
	if len(xs) == 0 {
		fmt.Fprintf(j.set.Out, "%-58s not measured\n", name)
	}
	return len(xs) > 0
}

func (j judge) inform(xs []float64) {
	if len(xs) > 0 {
		fmt.Fprintf(j.set.Out, "  %s: %.4g [%.4g..%.4g]\n", j.other, figure.Median(xs), slices.Min(xs), slices.Max(xs))
	}
}

// over returns the ratios to a peer.
func (j judge) over(peer string, of func(sample) float64, ps ...point) func(string) []float64 {
	return func(server string) []float64 { return j.raw.ratios(server, peer, of, ps...) }
}

func (j judge) syscalls() {
	n, reason := 0, ""
	for _, s := range j.raw.Samples {
		if s.Untraced != "" {
			n, reason = n+1, s.Untraced
		}
	}
	if n > 0 {
		fmt.Fprintf(j.set.Out, "%d runs have no count of system calls; of the last: %s\n", n, reason)
	}
	for i, conns := range []int{100, 1000} {
		bound := []float64{.10, .02}[i]
		name := fmt.Sprintf("system calls a message, %d connections, io_uring / gnet", conns)
		if xs := j.raw.ratios(aioURing, gnet, syscalls, pingpongAt(64, conns)...); j.measured(name, xs) {
			j.set.AtMost(name, xs, bound, "x")
		}
	}
}

func (j judge) rates() {
	three := pingpongAt(64, 100, 1000, 8000)
	j.atLeast("msg/s, 64 B, mean over 100, 1000, 8000 connections, / gnet", 1.10, j.over(gnet, rate, three...))
	j.atLeast("msg/s, 64 B, the worst of these points, / gnet", .95, func(server string) (worst []float64) {
		for _, p := range three {
			if xs := j.raw.ratios(server, gnet, rate, p); len(xs) > 0 && (worst == nil || figure.Median(xs) < figure.Median(worst)) {
				worst = xs
			}
		}
		return worst
	})
	for _, p := range pingpongAt(64, 100, 1000) {
		j.atLeast(fmt.Sprintf("msg/s, 64 B, %d connections, / gaio", p.conns), 2, j.over(gaio, rate, p))
	}
	for i, p := range three {
		low := []float64{1.05, 1.03, .95}[i] // where the interval of aio-2026-11-21-1855.json begins
		j.atLeast(fmt.Sprintf("msg/s, 64 B, %d connections, / gnet: no less than recorded", p.conns), low, j.over(gnet, rate, p))
	}
	if xs := j.raw.ratios(j.ours, gnet, rate, pingpongAt(512, 100, 1000, 8000)...); len(xs) > 0 {
		fmt.Fprintf(j.set.Out, "  with 512 B, the same mean: %.4g of gnet [%.4g..%.4g], no target\n", figure.Median(xs), slices.Min(xs), slices.Max(xs))
	}
}

func (j judge) cpu() {
	three := pingpongAt(64, 100, 1000, 8000)
	j.atMost("server CPU a message, 64 B, the same mean, / C epoll", 1.15, j.over(cepoll, cpu, three...))
	j.atMost("server CPU a message, 64 B, the same mean, / gnet", .90, j.over(gnet, cpu, three...))
}

func (j judge) latency() {
	hundred := point{"pingpong", 64, 100}
	j.atMost("p99.9, 64 B, 100 connections, / gnet", 1, j.over(gnet, p999, hundred))
	j.atMost("p99.9, 64 B, 100 connections, / gaio", .15, j.over(gaio, p999, hundred))
	j.atMost("p50, 64 B, one connection, / gaio", .17, j.over(gaio, p50, point{"pingpong", 64, 1}))
}

func (j judge) sleeper() {
	p := point{"sleeper", 64, sleeperConns}
	j.atMost("mean lateness of a 5 ms sleeper under load, / gnet", .2, j.over(gnet, lateMean, p))
}

// attach is the suffix of servers with attached connections in files of when net.Conns were the common way.
const attach = "+attach"

func (j judge) idle() {
	p := point{"idle", 64, idleConns}
	hows := []struct{ name, suffix string }{{"accepted in the loop", ""}, {"a net.Conn of aio/gaio", overGaio}}
	if len(j.raw.all(j.ours+attach, p, anonymous)) > 0 { // and the others attached
		hows = []struct{ name, suffix string }{{"attached", attach}, {"a net.Conn that is kept", ""}}
	}
	for _, how := range hows {
		of := judge{set: j.set, raw: j.raw, ours: j.ours + how.suffix, other: j.other + how.suffix}
		of.atMost("resident bytes an idle connection, "+how.name+", / gnet", 1, of.over(gnet, anonymous, p))
		of.atMost("resident bytes an idle connection, "+how.name+", / net", .10, of.over(std, anonymous, p))
	}
}

func (j judge) echo() {
	p := point{"echo64k", 64 << 10, 1}
	j.atLeast("64 KiB echo, / the best peer of the round", 1, func(server string) (xs []float64) {
		best := map[int]float64{}
		for _, peer := range peersOnly {
			for i, x := range j.raw.rounds(peer, p, megabytes) {
				best[i] = max(best[i], x)
			}
		}
		for i, x := range j.raw.rounds(server, p, megabytes) {
			if best[i] > 0 {
				xs = append(xs, x/best[i])
			}
		}
		return xs
	})
	j.atLeast("64 KiB echo, / gaio", 1.8, j.over(gaio, megabytes, p))
}

func (j judge) burst() {
	p := point{"burst", 1024, burstConns}
	j.atMost("8,192 clients x 1 KiB, / gnet", 1.3, j.over(gnet, wall, p))
	j.atMost("8,192 clients x 1 KiB, / gaio", .8, j.over(gaio, wall, p))
	const name = "8,192 clients x 1 KiB: clients that stalled, most of a round"
	xs := j.raw.all(j.ours, p, stalls)
	if !j.measured(name, xs) {
		return
	}
	j.set.AtMost(name, []float64{slices.Max(xs)}, 0, "")
	if others := j.raw.all(j.other, p, stalls); len(others) > 0 {
		fmt.Fprintf(j.set.Out, "  %s: %.0f\n", j.other, slices.Max(others))
	}
}
