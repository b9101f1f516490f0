//go:build linux

// Package aio has the cases of package aio next to package net, its peers and a server in C. One
// client loads all servers. Client and server have a process and a core each.
package aio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/harness"
)

// overGaio use net.Conns and gaio's API.
const (
	control       = "net"
	accept4       = "accept4" // in a loop
	gaio          = "gaio"
	gnet          = "gnet"
	nbio          = "nbio"
	cepoll        = "C-epoll"
	epoll         = "aio-epoll"
	uring         = "aio-uring"
	overGaioEpoll = "aio/gaio-epoll"
	overGaioURing = "aio/gaio-uring"
)

var (
	all  = []string{control, gaio, gnet, nbio, cepoll, epoll, uring}
	inGo = slices.DeleteFunc(slices.Clone(all), func(way string) bool { return way == cepoll })
)

// arguments of command server, by way; default: -way with the way's name
var server = map[string][]string{
	epoll:         {"-way", "aio", "-backend", "epoll"},
	uring:         {"-way", "aio", "-backend", "io_uring"},
	overGaioEpoll: {"-way", "aio/gaio", "-backend", "epoll"},
	overGaioURing: {"-way", "aio/gaio", "-backend", "io_uring"},
}

type load struct {
	name   string
	ways   []string
	conns  int
	size   int    // bytes of a message
	client string // -load
	do     string // -do; default: echo
	buf    int    // of a connection; default: the library shares one
	count  int    // see -count
	trace  bool   // count system calls
	says   bool   // the server prints values, too
	more   []string
	claims []harness.Claim // without a way: of both backends
}

type group struct {
	harness.Case
	loads   []load
	measure func(ctx context.Context, r *harness.Run, l load) error // default: exchange
}

const (
	rate     = "messages/s"
	perEcho  = "CPU µs/message"
	calls    = "syscalls/message"
	keeps    = "bytes/connection"
	perConn  = "CPU µs/connection"
	accepted = "connections/s"
	takes    = "ms"
	stalled  = "stalled"
	allocs   = "allocs/connection"
	slope    = "ms/1,000 connections"
	lateMean = "late, mean"
)

const (
	length  = 1500 * time.Millisecond
	own     = 4096
	early   = 512
	sleeper = "-sleeper"
)

var groups = []*group{
	{
		Case: harness.Case{
			Name: "aio/echo", What: "a message of 64 B at a time on each connection, next to package net and its peers",
			Ways: all, Length: length, Figures: []string{rate, perEcho, "p50", "p99", "p99.9", calls},
		},
		loads: echoes(),
	},
	{
		Case: harness.Case{
			Name: "aio/echo64k", What: "gaio's BenchmarkEcho64K with a process for each end: 64 KiB on one connection",
			Ways: all, Length: length, Figures: []string{"MB/s", "p50", "p99", perEcho},
		},
		loads: []load{{
			name: "64 KiB", conns: 1, size: 64 << 10, buf: 64 << 10, client: "pingpong", claims: []harness.Claim{
				{Figure: "MB/s", Over: gaio, Target: harness.AtLeast(1.8)},
				{Figure: "MB/s", Over: control, Target: harness.AtLeast(1)},
				{Figure: "MB/s", Over: gnet, Target: harness.AtLeast(1)},
				{Figure: "MB/s", Over: nbio, Target: harness.AtLeast(1)},
			},
		}},
	},
	{
		Case: harness.Case{
			Name: "aio/accept-burst",
			What: "connections that are accepted and kept, next to a loop of accept4, and gaio's Test8k: " +
				"8,192 clients at once, each with one message",
			Ways:    slices.Concat([]string{accept4}, all),
			Figures: []string{perConn, allocs, takes, accepted, "p99", stalled},
		},
		loads: []load{{
			name: "16,000 kept", ways: []string{accept4, epoll, uring}, do: "accept", count: 16_000,
			client: "silent", says: true, claims: []harness.Claim{
				{Figure: perConn, Over: accept4, Target: harness.AtMost(1.15)},
				{Figure: allocs, Target: harness.AtMost(3)},
			},
		}, {
			name: "8,192 at once", ways: all, conns: 8192, size: 1024, buf: own, client: "burst",
			claims: []harness.Claim{
				{Figure: takes, Over: gnet, Target: harness.AtMost(1.3)},
				{Figure: takes, Over: gaio, Target: harness.AtMost(.8)},
				{Figure: accepted, Over: gnet, Target: harness.AtLeast(1)},
				harness.None("", "", stalled),
			},
		}},
	},
	{
		Case: harness.Case{
			Name: "aio/idle", What: "memory of a connection that has had one answer, next to package net and its peers",
			Ways: slices.Concat(inGo, []string{overGaioEpoll, overGaioURing}), Figures: []string{keeps},
		},
		measure: hold,
		loads: []load{{
			name: "8,000", conns: 8000, size: 64, client: "hold",
			claims: slices.Concat(idle(epoll), idle(uring), idle(overGaioEpoll), idle(overGaioURing)),
		}, {
			name: "18,000", ways: []string{gnet, epoll, uring}, conns: 18_000, size: 64, client: "hold",
			claims: []harness.Claim{
				{Figure: keeps, Target: harness.AtMost(450), Unit: " B"},
				{Figure: keeps, Over: gnet, Target: harness.AtMost(1)},
			},
		}},
	},
	{
		Case: harness.Case{
			Name: "aio/sleeper",
			What: "how late a goroutine wakes that sleeps 5 ms in a loaded server, next to its peers",
			Ways: inGo, Length: length, Figures: []string{lateMean, "late, p99", rate},
		},
		loads: []load{{
			name: "100", conns: 100, size: 64, buf: own, client: "pingpong", says: true, more: []string{sleeper},
			claims: []harness.Claim{{Figure: lateMean, Over: gnet, Target: harness.AtMost(.2)}},
		}},
	},
	{
		Case: harness.Case{
			Name: "aio/regression",
			What: "gaio's regression: ms to connect, send 1 KiB and read it back, by connections",
			Ways: []string{gaio, epoll, uring}, Figures: append(columns(), slope),
		},
		measure: regression,
		loads: []load{{
			name: "1 KiB", size: 1024, buf: own, client: "burst",
			claims: []harness.Claim{{Figure: slope, Over: gaio, Target: harness.AtMost(1)}},
		}},
	},
	{
		Case: harness.Case{
			Name: "aio/hostile", Ways: []string{control, epoll, uring}, Length: length,
			What:    "latency next to a peer that sends without end, and next to slow system calls",
			Figures: []string{rate, "p50", "p99"},
		},
		loads: hostile,
	},
}

func echoes() (list []load) {
	for _, conns := range []int{1, 100, 1000, 8000} {
		list = append(list, load{
			name: fmt.Sprint(conns), conns: conns, size: 64, buf: own, client: "pingpong", trace: true,
			claims: echoClaims[conns],
		})
	}
	return list
}

var echoClaims = map[int][]harness.Claim{
	1: {{Way: uring, Figure: "p50", Over: gaio, Target: harness.AtMost(.17)}},
	100: append(
		ahead(1.05),
		harness.Claim{Way: uring, Figure: rate, Over: gaio, Target: harness.AtLeast(2)},
		harness.Claim{Way: uring, Figure: "p99.9", Over: gnet, Target: harness.AtMost(1)},
		harness.Claim{Way: uring, Figure: "p99.9", Over: gaio, Target: harness.AtMost(.15)},
		harness.Claim{Way: uring, Figure: calls, Over: gnet, Target: harness.AtMost(.1)},
	),
	1000: append(
		ahead(1.03),
		harness.Claim{Way: uring, Figure: rate, Over: gaio, Target: harness.AtLeast(2)},
		harness.Claim{Way: uring, Figure: calls, Over: gnet, Target: harness.AtMost(.02)},
	),
	8000: ahead(.95),
}

func ahead(least float64) []harness.Claim {
	return []harness.Claim{
		{Figure: rate, Over: gnet, Target: harness.AtLeast(least)},
		{Figure: perEcho, Over: gnet, Target: harness.AtMost(.9)},
		{Figure: perEcho, Over: cepoll, Target: harness.AtMost(1.15)},
	}
}

func idle(way string) []harness.Claim {
	return []harness.Claim{
		{Way: way, Figure: keeps, Over: gnet, Target: harness.AtMost(1)},
		{Way: way, Figure: keeps, Over: control, Target: harness.AtMost(.1)},
	}
}

var both = []string{epoll, uring}

var hostile = []load{
	{
		name: "slow system calls", conns: 100, size: 64, buf: own, client: "pingpong",
		more:   []string{"-slowcalls", "150ms"},
		claims: []harness.Claim{{Way: uring, Figure: "p99", Over: epoll, Target: harness.AtMost(2)}},
	},
	{
		name: "a bulk peer", conns: 1, size: 64, buf: 64 << 10, client: "bulk", claims: []harness.Claim{
			{Figure: "p50", Over: control, Target: harness.AtMost(3)},
			{Figure: "p99", Over: control, Target: harness.AtMost(1)},
		},
	},
}

func Cases() (list []harness.Case) {
	for _, g := range groups {
		c := g.Case
		c.Needs = "20,000 open files, cgo for the server in C, root to count system calls"
		for _, l := range g.loads {
			c.Loads = append(c.Loads, l.name)
			c.Claims = append(c.Claims, l.all()...)
		}
		c.Skip = func(way, load string) bool {
			ways := g.load(load).ways
			return ways != nil && !slices.Contains(ways, way)
		}
		c.Run = g.run
		list = append(list, c)
	}
	return list
}

func (l load) all() (list []harness.Claim) {
	for _, c := range l.claims {
		c.Load = l.name
		ways := both
		if c.Way != "" {
			ways = []string{c.Way}
		}
		for _, c.Way = range ways {
			list = append(list, c)
		}
	}
	return list
}

func (g *group) load(name string) load {
	return g.loads[slices.IndexFunc(g.loads, func(l load) bool { return l.name == name })]
}

const (
	quickConns  = 200
	quickCount  = 100
	quickLength = 50 * time.Millisecond
)

func (g *group) run(ctx context.Context, r *harness.Run) error {
	l := g.load(r.Load)
	if r.Quick {
		l.conns, l.count = min(l.conns, quickConns), min(l.count, quickCount)
		r.Length, r.Warmup = quickLength, quickLength/5
	}
	if l.do == "accept" {
		l.conns = early + l.count
	}
	if err := harness.Files(harness.Unless(r, 20_000, 2000)); err != nil {
		return err
	}
	if g.measure != nil {
		return g.measure(ctx, r, l)
	}
	return exchange(ctx, r, l)
}

func command(r *harness.Run, l load) []string {
	if r.Way == cepoll {
		return []string{"bench/aio/cepoll"}
	}
	if r.Way == control {
		l.buf = cmp.Or(l.buf, own) // package net shares none
	}
	way := server[r.Way]
	if way == nil {
		way = []string{"-way", r.Way}
	}
	return slices.Concat([]string{
		"bench/aio/server", "-do", cmp.Or(l.do, "echo"), "-buf", strconv.Itoa(l.buf),
		"-count", strconv.Itoa(l.count),
	}, way, l.more)
}

func start(ctx context.Context, r *harness.Run, l load) (srv, client *harness.Child, err error) {
	args := command(r, l)
	if r.Way == cepoll {
		if _, err := r.Program(ctx, args[0]); err != nil {
			return nil, nil, harness.NotHere(err) // it needs cgo
		}
	}
	oneP := []string{"GOMAXPROCS=1"}
	if srv, err = r.Start(ctx, 0, oneP, args...); err != nil {
		return nil, nil, err
	}
	addr, err := srv.Line(0)
	if err == nil {
		client, err = r.Start(
			ctx, 1, oneP, "bench/aio/client", "-addr", addr, "-pid", strconv.Itoa(srv.Pid()), "-load", l.client,
			"-size", strconv.Itoa(l.size), "-conns", strconv.Itoa(l.conns),
			"-length", r.Length.String(), "-warmup", r.Warmup.String(), "-trace="+strconv.FormatBool(l.trace),
		)
	} else if said := err.Error(); strings.Contains(said, "needs a build with cgo") ||
		strings.HasSuffix(r.Way, "uring") && strings.Contains(said, "io_uring") {
		err = harness.NotHere(err)
	}
	if err != nil {
		srv.Stop()
	}
	return srv, client, err
}

// exchange takes what the client and the server print.
func exchange(ctx context.Context, r *harness.Run, l load) error {
	srv, cl, err := start(ctx, r, l)
	if err != nil {
		return err
	}
	defer srv.Stop()
	defer cl.Stop()
	if err := r.Take(cl, r.Warmup+r.Length); err != nil || !l.says {
		return err
	}
	if slices.Contains(l.more, sleeper) {
		err = srv.Signal(syscall.SIGUSR2)
	}
	return errors.Join(err, r.Take(srv, 0))
}

// hold measures what a connection that has had an answer keeps.
func hold(ctx context.Context, r *harness.Run, l load) error {
	srv, cl, err := start(ctx, r, l)
	if err != nil {
		return err
	}
	defer srv.Stop()
	defer cl.Stop()
	bytes, err := harness.KeptBytes(srv, cl, l.conns, 100*time.Millisecond)
	r.Set(keeps, bytes)
	return err
}

var steps = []int{500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000}

func columns() (names []string) {
	for _, n := range steps {
		names = append(names, strconv.Itoa(n))
	}
	return names
}

// regression gives each number of connections a fresh server, and fits a line by least squares.
func regression(ctx context.Context, r *harness.Run, l load) error {
	var n, x, y, xx, xy float64
	for _, conns := range steps[:harness.Unless(r, len(steps), 2)] {
		l.conns = conns
		one := *r
		one.Values = nil
		if err := exchange(ctx, &one, l); err != nil {
			return err
		}
		ms := one.Values[takes]
		r.Set(strconv.Itoa(conns), ms)
		thousands := float64(conns) / 1000
		n, x, y, xx, xy = n+1, x+thousands, y+ms, xx+thousands*thousands, xy+thousands*ms
	}
	r.Set(slope, (n*xy-x*y)/(n*xx-x*x))
	return nil
}
