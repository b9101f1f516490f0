package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// part is workloads that answer one question, which -part chooses.
type part struct {
	name      string
	rounds    int
	workloads []string
}

var parts = []part{
	{"echo", 10, []string{"echo64k", "pingpong", "burst", "sleeper", "regression"}},
	{"accept", 10, []string{"accept", "rush"}},
	{"idle", 10, []string{"idle", "idle18k"}},
	{"hostile", 20, []string{"closed", "slowcalls", "deadlines-up", "deadlines-random", "deadlines-down", "queued", "unread", "bulk", "short", "crowd", "swapreads"}},
}

// row is a workload of the parts accept, idle and hostile.
type row struct {
	point   point
	servers []string
	kind    string   // of command server, before the server's own; empty: the echo server
	args    []string // of command server, beyond
	buf     int      // of command server: bytes of a buffer, or of a write
	load    string   // of the client
	n       int      // of what the client or the server counts: -n
	says    bool     // the server says values, too
	takes   time.Duration
}

var both = []string{aioEpoll, aioURing}

// with returns servers that aio is measured beside.
func with(peers ...string) []string { return append(peers, both...) }

// slowCall is the length of the system calls of part hostile.
const slowCall = 150 * time.Millisecond

// Operations of one run, where the figures say how many there were.
const (
	closedRounds = 200     // of writes, then Close
	mixedReads   = 100_000 // messages that are read without a buffer, in all rounds
)

var rows = map[string]row{
	"accept":           {point: point{"accept", 0, 16_512}, servers: with(raw, std, gnet), kind: "accept", load: "silent", n: 16_000, says: true, takes: time.Second},
	"rush":             {point: point{"rush", 1024, burstConns}, servers: with(gnet), buf: 4096, load: "burst", takes: time.Second},
	"idle18k":          {point: point{"idle18k", 64, 18_000}, servers: with(gnet), takes: 3 * time.Second},
	"closed":           {point: point{"closed", 100, 1}, servers: both, kind: "closed", load: "closed", n: closedRounds, takes: time.Second},
	"slowcalls":        {point: point{"slowcalls", 64, 100}, servers: with(std), args: []string{"-slowcalls", slowCall.String()}, buf: 4096, load: "pingpong", takes: 2 * time.Second},
	"deadlines-up":     deadlineRow("up"),
	"deadlines-random": deadlineRow("random"),
	"deadlines-down":   deadlineRow("down"),
	"queued":           {point: point{"queued", 100, 101}, servers: both, kind: "queued", buf: 100, load: "drain", n: 1000, says: true, takes: 2 * time.Second},
	"unread":           {point: point{"unread", 64, 500}, servers: both, kind: "unread", buf: 512, load: "unread", n: 980, takes: 4 * time.Second},
	"bulk":             {point: point{"bulk", 64, 1}, servers: with(std), buf: 64 << 10, load: "bulk", takes: 2 * time.Second},
	"short":            {point: point{"short", 0, 1}, servers: with(gaio), kind: "reads", load: "reads", n: mixedReads, takes: time.Second},
	"crowd":            {point: point{"crowd", 1024, burstConns}, servers: with(gaio), buf: 4096, load: "burst", takes: time.Second},
	"swapreads":        {point: point{"swapreads", 1000, 2000}, servers: with(gaio), kind: "reads", load: "reads", n: 40_000, takes: time.Second},
}

// deadlineRow is 100,000 reads of 100 silent peers, submitted in an order.
func deadlineRow(order string) row {
	return row{
		point: point{"deadlines-" + order, 0, 100}, servers: both, kind: "deadlines", args: []string{"-order", order}, load: "silent",
		n: 1000, says: true, takes: 3 * time.Second,
	}
}

// chosenWorkloads returns those of a part, or of all, and their rounds.
func (d *driver) chosenWorkloads(partName, only string) (chosen []string, err error) {
	ps, err := pick(partName, "-part", parts, func(p part) string { return p.name })
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range ps {
		all = append(all, p.workloads...)
	}
	return pick(only, "-only", all, func(s string) string { return s })
}

// partOf returns the part of a workload.
func partOf(workload string) part {
	i := slices.IndexFunc(parts, func(p part) bool { return slices.Contains(p.workloads, workload) })
	return parts[i]
}

// count returns -n of a run.
func (d *driver) count(workload string) int {
	n := rows[workload].n
	if workload == "short" {
		n = (n + d.rounds - 1) / d.rounds
	}
	if d.quick && workload != "closed" && workload != "accept" {
		n = min(n, 5000)
	}
	if d.tiny {
		n = min(n, 10)
	}
	return n
}

// rowArgv returns the command line of a server for a workload of rows.
func (d *driver) rowArgv(s server, r row, p point) []string {
	argv := append([]string{d.path("server"), "-kind", s.kind}, s.args...)
	if r.kind != "" {
		argv[2] = r.kind + "-" + s.kind
	}
	argv = append(argv, r.args...)
	return append(argv, "-buf", fmt.Sprint(r.buf), "-conns", fmt.Sprint(p.conns), "-n", fmt.Sprint(cmp.Or(d.count(p.workload), 1)))
}

// workloadNames returns all of them.
func workloadNames() string {
	var all []string
	for _, p := range parts {
		all = append(all, p.workloads...)
	}
	return strings.Join(all, ", ")
}
