//go:build linux

// Package load has the cases of evenkeel load and package loadgen next to other load generators,
// against one server. Tools and server share all cores.
package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"evenkeel.dev/bench/harness"
)

// The control is a peer.
const (
	evenkeel     = "evenkeel"
	overHTTP2    = "evenkeel, HTTP/2"
	loadgenCalls = "loadgen, gRPC"
)

const (
	rate   = "requests/s"
	perAsk = "CPU µs/request" // of the tool
)

// of a closed loop
const (
	connections     = "50"
	grpcConnections = 2
)

var tools = map[string]func(t *target, ctx context.Context) error{
	"hey": (*target).hey, "vegeta": (*target).vegeta, "h2load": (*target).h2load, "ghz": (*target).ghz,
	evenkeel: (*target).evenkeel, overHTTP2: (*target).evenkeel, loadgenCalls: (*target).loadgen,
}

type target struct {
	*harness.Run
	at   string // URL of HTTP, or host:port of gRPC
	path string

	openRate int      // 0: a closed loop
	flags    []string // of hey and evenkeel
}

func Cases() []harness.Case {
	cheap := func(way, over string, least, most float64) []harness.Claim {
		return []harness.Claim{
			{Way: way, Over: over, Figure: rate, Target: harness.AtLeast(least)},
			{Way: way, Over: over, Figure: perAsk, Target: harness.AtMost(most)},
		}
	}
	cases := []harness.Case{
		{
			Name: "load/closed", What: "a closed loop of 50 connections: requests and CPU of the tool",
			Ways: []string{"hey", evenkeel}, Claims: cheap(evenkeel, "hey", .95, 1),
			Run: with(func(t *target) { t.flags = []string{"-c", connections} }),
		},
		{
			Name: "load/open",
			What: "an open loop at 30% of what the service can do: it waits, computes or does nothing",
			Ways: []string{"vegeta", evenkeel}, Loads: openPaths, Open: capacity,
			Run: with(func(t *target) { t.openRate = int(.3 * t.Prepared[t.Load]) }),
		},
		stallCase(),
		{
			Name: "load/http2", What: "a closed loop of 10 connections with 10 streams each, over h2c",
			Needs: "h2load of nghttp2-client", Ways: []string{"h2load", overHTTP2},
			Claims: cheap(overHTTP2, "h2load", .8, 1.25),
			Run:    with(func(t *target) { t.flags = []string{"-http2", "-c", h2Connections, "-streams", h2Streams} }),
		},
		{
			Name: "load/grpc", What: "a closed loop of 50 workers over 2 connections, calling gRPC's health service",
			Ways: []string{"ghz", loadgenCalls}, Claims: cheap(loadgenCalls, "ghz", 1, 1), Run: with(func(*target) {}),
		},
	}
	for i := range cases {
		c := &cases[i]
		c.Length = cmp.Or(c.Length, 5*time.Second)
		for _, path := range c.Loads {
			near := harness.Between(.85, 1.15)
			claim := harness.Claim{Load: path, Way: evenkeel, Over: "vegeta", Figure: "p99", Target: near}
			c.Claims = append(c.Claims, claim)
		}
	}
	return cases
}

func with(set func(t *target)) func(context.Context, *harness.Run) error {
	return func(ctx context.Context, r *harness.Run) error {
		t := &target{Run: r, path: cmp.Or(r.Load, "/")}
		set(t)
		rpc := r.Way == "ghz" || r.Way == loadgenCalls
		c, err := t.Start(ctx, harness.AnyCore, nil, "bench/load/server", fmt.Sprintf("-grpc=%v", rpc))
		if err != nil {
			return err
		}
		defer c.Stop()
		if t.at, err = c.Line(0); err != nil {
			return err
		}
		return tools[r.Way](t, ctx)
	}
}

// The less a service does, the more a tool measures its own load on the machine.
var openPaths = []string{"/wait", "/work", "/"}

func capacity(ctx context.Context, prepared *harness.Run) (func(), error) {
	for _, path := range openPaths {
		trial := *prepared
		trial.Way, trial.Load, trial.Values = "hey", path, nil
		most := connections
		if path == "/wait" {
			most = "1000" // so that the service is the limit
		}
		if err := with(func(t *target) { t.flags = []string{"-c", most} })(ctx, &trial); err != nil {
			return nil, err
		}
		prepared.Set(path, trial.Values[rate])
	}
	return nil, nil
}

const (
	stallPeriod  = time.Second
	stallLength  = 200 * time.Millisecond
	stallService = 20 * time.Millisecond
	stallRate    = 500
)

var quantiles = map[string]float64{"p50": .5, "p90": .9, "p95": .95, "p99": .99, "p99.9": .999}

// One request in five waits for up to a stall, evenly.
func stallQuantile(q float64) time.Duration {
	calm := 1 - float64(stallLength)/float64(stallPeriod)
	if q <= calm {
		return stallService
	}
	return (stallService + time.Duration((q-calm)/(1-calm)*float64(stallLength))).Round(time.Microsecond)
}

func stallCase() harness.Case {
	c := harness.Case{
		Name: "load/stall",
		What: "a service that stalls for 200 ms each second, 500 requests/s: " +
			"percentiles next to the computed ones, in %",
		Rounds: 5, Length: 20 * time.Second, Ways: []string{"hey", evenkeel, overHTTP2, loadgenCalls},
		Claims: []harness.Claim{{Way: "hey", Figure: off("p95"), Target: harness.AtMost(-5), Unit: "%"}},
	}
	for _, q := range slices.Sorted(maps.Keys(quantiles)) {
		c.Figures = append(c.Figures, off(q))
		for _, way := range c.Ways[1:] {
			c.Claims = append(c.Claims,
				harness.Claim{Way: way, Figure: off(q), Target: harness.Between(-5, 5), Unit: "%"})
		}
	}
	run := with(func(t *target) {
		t.path, t.openRate = "/stall", stallRate
		switch t.Way {
		case evenkeel:
			t.flags = []string{"-warmup", t.Warmup.String()}
		case overHTTP2:
			t.flags = []string{"-warmup", t.Warmup.String(), "-http2", "-c", "10", "-streams", "100"}
		}
	})
	c.Run = func(ctx context.Context, r *harness.Run) error {
		err := run(ctx, r)
		for name, q := range quantiles {
			r.Set(off(name), (r.Values[name]/ms(stallQuantile(q))-1)*100)
		}
		return err
	}
	return c
}

func off(q string) string { return q + " off by" }

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }
