//go:build linux

// Package httpd has the cases of package httpd next to net/http's server and its peers. One client
// asks all servers. Client and server have a process and a core each.
package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evenkeel.dev/bench/harness"
)

const (
	control = "nethttp"
	epoll   = "httpd-epoll"
	uring   = "httpd-uring"
)

var (
	ours = []string{control, epoll, uring}
	// gnet has no parser.
	all = []string{control, epoll, uring, "fasthttp", "gnet", "nbio", "hertz"}
)

type load struct {
	name       string
	kind, path string // -load, and what is asked for; default: closed, /hello
	conns      int
	tls, h2    bool
	classic    bool            // TLS without ML-KEM, whose hello is a third as long
	crowd      string          // of beside
	claims     []harness.Claim // without a way: of all that are ours

	// Of cores.
	unix  bool
	rests time.Duration
}

type group struct {
	name, what string
	ways       []string
	loads      []load
	figures    []string
	cores      bool // server and client may use all cores
}

const (
	keeps    = "bytes/connection"
	perAsk   = "CPU µs/request"
	rate     = "requests/s"
	memory   = "MB"
	noAnswer = "unanswered"
	busiest  = "busiest loop %"
	serial   = "serial %"
	uneven   = "busiest/mean"
)

var latencies = []string{rate, perAsk, "p50", "p99", "p99.9", "client cores", noAnswer, memory}

var groups = []group{
	{
		name: "idle", what: "memory of a connection that has had one answer, next to net/http",
		ways: all, figures: []string{keeps},
		loads: []load{
			{name: "plain", kind: "hold", conns: 10_000, claims: bytesAtMost(700)},
			{name: "TLS", kind: "hold", conns: 10_000, tls: true, claims: bytesAtMost(6000)},
			{
				name: "TLS without ML-KEM", kind: "hold", conns: 10_000, tls: true, classic: true,
				claims: bytesAtMost(6000),
			},
			{name: "HTTP/2", kind: "hold", conns: 2000, h2: true, claims: sameBytes},
			{name: "HTTP/2 over TLS", kind: "hold", conns: 2000, h2: true, tls: true, claims: sameBytes},
		},
	},
	closed("hello", "CPU and latency of a small answer", "/hello", all, cpuAtMost(.9)),
	closed("json", "CPU and latency of an encoded answer", "/json", ours, cpuAtMost(.9)),
	closed("64k", "CPU and latency of an answer of 64 KiB", "/64k", ours, cpuAtMost(.9)),
	closed("sleep", "handlers that sleep for 1 ms", "/sleep", ours, cpuAtMost(1.05, over(rate, harness.AtLeast(.95)))),
	{
		name: "cpu", what: "handlers that compute, 100 connections, next to net/http",
		ways: ours, figures: latencies,
		loads: []load{
			{name: "100 µs", path: "/cpu-100us", conns: 100, claims: cpuAtMost(1)},
			{name: "1 ms", path: "/cpu-1ms", conns: 100, claims: cpuAtMost(1)},
		},
	},
	{
		name: "tls", what: "CPU and latency of a small answer over TLS, 100 connections, next to net/http",
		ways: ours, figures: latencies,
		loads: []load{{name: "hello", conns: 100, tls: true, claims: cpuAtMost(1)}},
	},
	{
		name: "burst", what: "8,192 connections at once, each with one request, next to net/http",
		ways: all, figures: []string{rate, perAsk, noAnswer},
		loads: []load{{name: "8192", kind: "burst", conns: 8192, claims: burstClaims}},
	},
	{
		name: "crowd",
		what: "memory, and the tail of requests, while other connections are idle or attack, next to net/http",
		ways: ours, figures: latencies,
		loads: []load{
			crowd("idle", 18_000, 1./15),
			crowd("trickle", 15_000, .25),
			crowd("silent", 15_000, .25),
			crowd("resets", 500, 1.1),
		},
	},
	{
		name: "cores", cores: true,
		what: "a small answer by one to eight loops on all cores, which the client shares, next to net/http",
		ways: []string{control, "1 loop", "2 loops", "8 loops"},
		figures: []string{
			rate, perAsk, "p50", "p99", "p99.9", "loops", busiest, serial, uneven, "client cores", noAnswer,
		},
		loads: []load{
			{name: "100", conns: 100, claims: onCores},
			{name: "1000", conns: 1000, claims: onCores},
			{name: "10000", conns: 10_000, claims: onCores},
			{name: "unequal", conns: 500, rests: time.Second, claims: balanced},
			{name: "unix, 100", conns: 100, unix: true, claims: onCores},
		},
	},
}

var onCores = append(
	harness.NotSlower("", "2 loops", control),
	harness.Claim{Way: "2 loops", Over: control, Figure: perAsk, Target: harness.AtMost(.9)},
	harness.Claim{Way: "2 loops", Over: control, Figure: rate, Target: harness.AtLeast(1)},
	harness.Claim{Way: "8 loops", Figure: busiest, Target: harness.AtMost(6), Unit: "%"},
	harness.Claim{Way: "8 loops", Figure: serial, Target: harness.AtMost(2), Unit: "%"},
)

var balanced = []harness.Claim{
	{Way: "2 loops", Figure: uneven, Target: harness.AtMost(1.2)},
	{Way: "8 loops", Figure: uneven, Target: harness.AtMost(1.2)},
}

func closed(name, what, path string, ways []string, claims []harness.Claim) group {
	return group{
		name: name, what: what + ", next to net/http", ways: ways, figures: latencies,
		loads: []load{
			{name: "100", path: path, conns: 100, claims: claims},
			{name: "1000", path: path, conns: 1000, claims: claims},
		},
	}
}

func crowd(does string, conns int, most float64) load {
	return load{
		name: does, kind: "beside", conns: conns, crowd: does,
		claims: append(notSlower, over(memory, harness.AtMost(most)), over(rate, harness.AtLeast(.9))),
	}
}

var notSlower = slices.Clip(harness.NotSlower("", "", control))

func over(figure string, target harness.Target) harness.Claim {
	return harness.Claim{Over: control, Figure: figure, Target: target}
}

// HTTP/2 is net/http's
var sameBytes = []harness.Claim{over(keeps, harness.AtMost(1.1))}

func cpuAtMost(most float64, more ...harness.Claim) []harness.Claim {
	return slices.Concat([]harness.Claim{over(perAsk, harness.AtMost(most))}, notSlower, more)
}

func bytesAtMost(most float64) []harness.Claim {
	return []harness.Claim{{Figure: keeps, Target: harness.AtMost(most), Unit: " B"}}
}

var burstClaims = []harness.Claim{
	{Figure: perAsk, Target: harness.AtMost(60), Unit: " µs"}, over(rate, harness.AtLeast(1.5)),
}

func Cases() (list []harness.Case) {
	for _, g := range groups {
		c := harness.Case{
			Name: "httpd/" + g.name, What: g.what, Needs: "20,000 open files",
			Ways: g.ways, Skip: g.skip, Run: g.run, Figures: g.figures,
		}
		own := slices.DeleteFunc(slices.Clone(g.ways), func(way string) bool {
			return way != epoll && way != uring && !g.cores || way == control
		})
		for _, way := range own {
			c.Claims = append(c.Claims, harness.None(way, "", noAnswer))
		}
		for _, l := range g.loads {
			c.Loads = append(c.Loads, l.name)
			for _, way := range own {
				for _, claim := range l.claims {
					if claim.Way == "" || claim.Way == way {
						claim.Way, claim.Load = way, l.name
						c.Claims = append(c.Claims, claim)
					}
				}
			}
		}
		if g.cores {
			c.Warmup = 4 * time.Second // until all loops have begun
		}
		list = append(list, c)
	}
	return list
}

func (g group) load(name string) load {
	return g.loads[slices.IndexFunc(g.loads, func(l load) bool { return l.name == name })]
}

func (g group) skip(way, load string) bool {
	l := g.load(load)
	return (l.tls || l.h2) && !slices.Contains(ours, way)
}

const quickConns = 200

func (g group) run(ctx context.Context, r *harness.Run) error {
	l := g.load(r.Load)
	conns := harness.Unless(r, l.conns, min(l.conns, quickConns))
	if err := harness.Files(conns + 512); err != nil {
		return err
	}
	kind, loops := r.Way, "1"
	if n, ok := strings.CutSuffix(strings.TrimSuffix(r.Way, "s"), " loop"); ok {
		kind, loops = uring, n
	}
	serverCore, clientCore, warmup := 0, 1, r.Warmup
	var env []string
	if g.cores {
		serverCore, clientCore = harness.AnyCore, harness.AnyCore
	}
	if l.rests > 0 {
		warmup = harness.Unless(r, 10*time.Second, warmup)
	}
	var socket string
	if l.unix {
		dir, err := r.Dir()
		if err != nil {
			return err
		}
		socket = filepath.Join(dir, "socket")
	}
	speaks := []string{"-tls=" + strconv.FormatBool(l.tls), "-h2=" + strconv.FormatBool(l.h2)}
	srv, err := r.Start(ctx, serverCore, env,
		slices.Concat([]string{"bench/httpd/server", "-kind", kind, "-loops", loops, "-unix", socket}, speaks)...)
	if err != nil {
		return err
	}
	defer srv.Stop()
	addr, err := srv.Line(0)
	if err != nil && r.Way == uring && strings.Contains(err.Error(), "io_uring") {
		return harness.NotHere(err)
	}
	if err != nil {
		return err
	}
	if !l.unix {
		if err := srv.Listens(ctx, addr); err != nil {
			return err
		}
	}
	cl, err := r.Start(ctx, clientCore, nil, slices.Concat([]string{
		"bench/httpd/client", "-addr", addr, "-pid", strconv.Itoa(srv.Pid()), "-load", cmp.Or(l.kind, "closed"),
		"-path", cmp.Or(l.path, "/hello"),
		"-classic=" + strconv.FormatBool(l.classic), "-crowd", l.crowd, "-conns", strconv.Itoa(conns),
		"-warmup", warmup.String(), "-length", r.Length.String(), "-rests", l.rests.String(),
	}, speaks)...)
	if err != nil {
		return err
	}
	defer cl.Stop()
	if l.kind == "hold" {
		rest := harness.Unless(r, 3*time.Second, 0) // idle workers end, half of them per second
		bytes, err := harness.KeptBytes(srv, cl, conns, rest)
		if err := errors.Join(err, cl.Say("")); err != nil {
			return err
		}
		r.Set(keeps, bytes)
	}
	if g.cores && harness.Wait(ctx, warmup) == nil {
		if err := errors.Join(srv.Signal(syscall.SIGUSR2), r.Take(srv, 3*time.Second)); err != nil {
			return err
		}
	}
	err = r.Take(cl, warmup+r.Length)
	if srv.Ended() {
		_, complaint := srv.Output()
		return fmt.Errorf("the server ended under load: %s", strings.TrimSpace(complaint))
	}
	return err
}
