//go:build linux

// Package gate has the cases of package gcgate: replicas of a service whose collector has work to
// do, with the stock runtime and with a gate, behind the balancers that teams use. The control is
// the same service with next to no heap. Its tail is that of the machine, the client and the
// balancer.
package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
)

const (
	control  = "control"
	stock    = "stock"
	gated    = "gated"
	auto     = "auto"
	through  = "through"
	noTurns  = "no turns" // all replicas may drain at once
	moderate = "moderate"
	forced   = "forced" // all replicas have to collect at once
)

// replicas that count the requests after an announcement
const service = "bench/gate/service"

type group struct {
	harness.Case
	replicas int
	ways     []way
	loads    map[string]load
}

type load struct {
	rate  float64 // requests/s over all replicas, or where the search for share begins
	share float64 // of each replica's core that the baseline takes
	times float64 // multiplies the rate that was found; 0: 1
}

// During fillWarmup each replica allocates its live heap once more. So its first collection has
// ended, and its memory is pre-faulted.
const (
	runLength   = 12 * time.Second
	shortWarmup = 2 * time.Second
	fillWarmup  = 12 * time.Second
)

// of 1 KiB, in 4.8 million objects
const messages = 300_000

func Cases() (cases []harness.Case) {
	for _, g := range []group{
		haproxyGroup(), envoyGroup(), grpcGroup(), raftGroup(), quotaGroup(), singleGroup(), wholeGroup(),
		helloGroup(), costGroup(),
	} {
		cases = append(cases, g.build())
	}
	return append(cases, literalCase(), idleCase(), enterCase())
}

func (g group) build() harness.Case {
	c := g.Case
	c.Rounds, c.Length, c.Warmup = cmp.Or(c.Rounds, 5), runLength, cmp.Or(c.Warmup, shortWarmup)
	c.Figures = slices.Concat(
		[]string{"requests", "failed", "overlapped", "collections", "p50", "p99", "p99.9", "still ms", "peak MB"},
		c.Figures)
	c.Skip = func(name, load string) bool {
		under := g.way(name).under
		return under != "" && under != load
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		return g.measure(ctx, r, g.way(r.Way), cmp.Or(r.Prepared[r.Load], g.loads[r.Load].rate))
	}
	c.Open = g.calibrate
	for _, w := range g.ways {
		c.Ways = append(c.Ways, w.name)
		if w.name == control { // its memory is pre-faulted, or a push of 64 KiB takes 16 new pages
			c.Claims = append(c.Claims, harness.Claim{
				Load: cmp.Or(w.under, c.Loads[0]), Way: control, Figure: "faults/request", Target: harness.AtMost(.5),
			})
		}
	}
	return c
}

func (g group) way(name string) way {
	return g.ways[slices.IndexFunc(g.ways, func(w way) bool { return w.name == name })]
}

func (g group) measure(ctx context.Context, r *harness.Run, w way, rate float64) error {
	start := open
	if w.leads {
		start = openLed
	}
	s, err := start(ctx, r, w, g.replicas)
	if err != nil {
		return err
	}
	defer s.close()
	return s.load(ctx, rate, r.Load == forced)
}

// mostBusy limits a rate that is found by share. A replica has to serve all requests while the
// other one collects.
const mostBusy = .65

// calibrate finds the rates at which the baseline takes a share of each replica's core, in two
// steps because the cost of a request changes with the rate.
func (g group) calibrate(ctx context.Context, prepared *harness.Run) (func(), error) {
	baseline := g.ways[max(0, slices.IndexFunc(g.ways, func(w way) bool { return w.name == stock }))]
	for _, name := range g.Loads {
		l := g.loads[name]
		if l.share == 0 {
			continue
		}
		rate := l.rate
		for range harness.Unless(prepared, 2, 1) {
			trial := *prepared
			trial.Load, trial.Values = name, nil
			if err := g.measure(ctx, &trial, baseline, rate); err != nil {
				return nil, err
			}
			used := max(trial.Values["CPU"]/float64(g.replicas)/l.share, trial.Values["busy"]/mostBusy)
			if used > 0 {
				rate *= min(4, max(.25, 1/used))
			}
		}
		prepared.Set(name, rate*cmp.Or(l.times, 1))
	}
	return nil, nil
}

func ratio(load, way, figure, over string, target harness.Target) harness.Claim {
	return harness.Claim{Load: load, Way: way, Figure: figure, Over: over, Target: target}
}

func minus(load, way, figure, other string, target harness.Target, unit string) harness.Claim {
	return harness.Claim{Load: load, Way: way, Figure: figure, Minus: other, Target: target, Unit: unit}
}

// kept claims that no request failed or overlapped a collection.
func kept(load, way string) []harness.Claim {
	return []harness.Claim{
		harness.None(way, load, "overlapped"),
		harness.None(way, load, "failed"),
		{Load: load, Way: way, Figure: "requests", Total: true, Target: harness.AtLeast(50_000)},
	}
}

// controlOf makes a control of a way. It has GOGC=off, because a process with one P that sweeps
// looks at the network every 10 ms only (runtime/proc.go, sysmon). A page fault costs a request up
// to 10 µs, so its memory is pre-faulted, as far as that is a sixth of what the machine can give.
func controlOf(w way) way {
	w.name, w.window = control, 1000
	w.env = append([]string{"GOGC=off", "GOMEMLIMIT=4GiB"}, w.env...)
	args := w.args
	w.args = func(s *system, i int) (list []string) {
		if args != nil {
			list = args(s, i)
		}
		const most = 7 << 29                                           // below GOMEMLIMIT
		available, _ := machine.Bytes("/proc/meminfo", "MemAvailable") // 0: not known
		warm := harness.Unless(s.Run, min(most, available/6), 1<<20)
		return append(list, "-warm", fmt.Sprint(warm>>20))
	}
	return w
}

func (s *system) inTurn(args ...string) []string {
	return append(args, "-turns", s.dir+"/turns", "-replicas", "2")
}

func (s *system) server(i int) string { return fmt.Sprintf("%s,be/%c", s.admin, 'a'+i) }

func drainByAPI(s *system, i int) []string { return s.inTurn("-gate=drain", "-haproxy", s.server(i)) }

func behindHAProxy(change func(way) way) []way {
	w := way{name: stock, front: haproxy, window: messages}
	return []way{
		change(controlOf(w)), change(w),
		change(way{name: gated, front: haproxy, window: messages, gated: true, args: drainByAPI}),
	}
}

// drained is the command service with policy drain, whose health the balancer polls.
func drained(name, front string, turns bool, more ...string) way {
	return way{
		name: name, program: service, window: messages, front: front, gated: true, counts: true,
		args: func(s *system, _ int) []string {
			args := append([]string{"-gate=drain", "-health"}, more...)
			if turns {
				return s.inTurn(args...)
			}
			return args
		},
	}
}

func under(load string, w way) way {
	w.under = load
	return w
}

func haproxyGroup() group {
	ways := behindHAProxy(func(w way) way { return under(moderate, w) })
	return group{
		Case: harness.Case{
			Name:  "gate/haproxy",
			What:  "two replicas behind HAProxy, at 22% of a core each; policy drain by its runtime API",
			Needs: "HAProxy", Warmup: fillWarmup, Loads: []string{moderate, forced},
			Claims: append(slices.Concat(kept(moderate, gated), harness.NotSlower(moderate, gated, control)),
				ratio(moderate, stock, "p99", gated, harness.AtLeast(10)),
				ratio(moderate, stock, "p99.9", gated, harness.AtLeast(3)),
				harness.None(noTurns, forced, "failed")),
		},
		replicas: 2,
		ways:     append(ways, under(forced, drained(noTurns, haproxyPolls, false))),
		loads:    map[string]load{moderate: {rate: 1000, share: .22}, forced: {rate: 500}},
	}
}

const (
	polled   = "polled"   // every 10 ms
	answers  = "answers"  // in their headers, and polled every 500 ms
	defaults = "defaults" // polled, with Envoy's own settings for hosts
)

func envoyGroup() group {
	w := way{name: stock, program: service, front: envoy, window: messages, under: moderate}
	claims := slices.Concat(kept(moderate, polled), kept(moderate, answers), []harness.Claim{
		ratio(moderate, answers, "polls", polled, harness.AtMost(.1)),
		harness.None(answers, moderate, "ignored"),
		harness.None(defaults, moderate, "failed"),
		{Load: moderate, Way: defaults, Figure: "overlapped", Of: "requests", Target: harness.AtMost(.1)},
	})
	for _, way := range []string{answers, noTurns} {
		claims = append(claims, harness.None(way, forced, "failed"))
	}
	return group{
		Case: harness.Case{
			Name: "gate/envoy", What: "two replicas behind Envoy, which polls their health, at 22% of a core each",
			Needs: "Envoy (.ci/setup envoy)", Warmup: fillWarmup, Loads: []string{moderate, forced}, Claims: claims,
			Figures: []string{"polls", "ignored"},
		},
		replicas: 2,
		ways: []way{
			controlOf(w), w,
			under(moderate, drained(polled, envoy, true)), drained(answers, envoyHeader, true, "-envoy"),
			under(moderate, drained(defaults, envoyDefaults, true)), under(forced, drained(noTurns, envoy, false)),
		},
		loads: map[string]load{moderate: {rate: 1000, share: .22}, forced: {rate: 500}},
	}
}

func quotaGroup() group {
	return group{
		Case: harness.Case{
			Name:  "gate/quota",
			What:  "two replicas behind HAProxy that may use 30 ms of CPU in 100; at 10% of a core each",
			Needs: "HAProxy, root and control groups", Rounds: 7, Warmup: fillWarmup, Loads: []string{moderate},
			Claims: append(kept(moderate, gated),
				ratio(moderate, stock, "p99", gated, harness.AtLeast(10)),
				ratio(moderate, stock, "p99.9", gated, harness.AtLeast(6))),
		},
		replicas: 2,
		ways: behindHAProxy(func(w way) way {
			w.anyCore, w.quota = true, true
			w.env = append([]string{"GOMAXPROCS=2"}, w.env...)
			return w
		}),
		loads: map[string]load{moderate: {rate: 500, share: .1}},
	}
}

const saturated = "saturated"

func singleGroup() group {
	w := way{name: stock, window: messages}
	return group{
		Case: harness.Case{
			Name: "gate/single-replica", What: "one replica without a balancer, with 2 GiB to spend",
			Warmup: fillWarmup, Loads: []string{moderate, saturated},
			Claims: []harness.Claim{
				ratio(moderate, auto, "p99.9", stock, harness.AtMost(.5)),
				ratio(saturated, auto, "p99.9", stock, harness.AtMost(1.1)),
				harness.None(auto, moderate, "failed"),
			},
		},
		replicas: 1,
		ways: []way{
			under(moderate, controlOf(w)), // saturated it would have to collect
			w,
			{name: "GOGC=400", window: messages, env: []string{"GOGC=400"}, under: moderate},
			{name: auto, window: messages, gated: true, args: flags("-gate", "-limit", "2GiB")},
		},
		loads: map[string]load{moderate: {rate: 1100}, saturated: {rate: 1100, share: .5, times: 2.4}},
	}
}

func flags(list ...string) func(*system, int) []string {
	return func(*system, int) []string { return slices.Clone(list) }
}

// Ways of examples/wholepath, whose stock and gated replicas use net/http.
const (
	counted = "counted" // net/http with policy through
	byHTTPD = "httpd"
)

func wholeGroup() group {
	whole := func(name string, args func(*system, int) []string) way {
		return way{
			name: name, program: "examples/wholepath", window: 30_000, path: "/report", front: haproxy, idle: 5000,
			gated: name != stock,
			args: func(s *system, i int) []string {
				return append([]string{"-admin", "127.0.0.1:0"}, args(s, i)...)
			},
		}
	}
	claims := kept(moderate, byHTTPD)
	for _, over := range []string{stock, gated} {
		claims = append(claims,
			ratio(moderate, byHTTPD, "CPU µs/request", over, harness.AtMost(1)),
			ratio(moderate, byHTTPD, "own MB", over, harness.AtMost(1)))
		claims = append(claims, harness.NotSlower(moderate, byHTTPD, over)...)
	}
	return group{
		Case: harness.Case{
			Name:  "gate/wholepath",
			What:  "httpd, recorder and gate together, with 10,000 idle connections, next to net/http",
			Needs: "HAProxy and 10,000 open files", Rounds: 7, Loads: []string{moderate}, Claims: claims,
			Figures: []string{"own MB", "CPU µs/request"},
		},
		replicas: 2,
		ways: []way{
			whole(stock, flags("-nethttp")), whole(counted, flags("-nethttp", "-gate=through", "-no-turns")),
			whole(gated, func(s *system, i int) []string { return append(drainByAPI(s, i), "-nethttp") }),
			whole(byHTTPD, drainByAPI),
		},
		loads: map[string]load{moderate: {rate: 1000, share: .22}}, // one can carry all
	}
}

// Ways of the hello of gci-go, the Garbage Collector Control Interceptor.
const (
	gcigo = "gci-go"
	guard = "guard" // httpgate.Guard without options
)

func helloGroup() group {
	g := group{
		Case: harness.Case{
			Name: "gate/hello", What: "the hello of gci-go, 10 x 1 MB for each of 150 requests/s, next to gates",
			Needs: needsOriginal, Loads: []string{"hello"},
		},
		replicas: 1,
		ways: []way{
			{name: stock, program: service, path: "/", anyCore: true, args: flags("-hello")},
			{name: gcigo, path: "/", anyCore: true, args: flags("-hello")},
		},
		loads: map[string]load{"hello": {rate: 150}},
	}
	for _, policy := range []string{guard, auto, through, "shed"} {
		g.ways = append(g.ways, way{
			name: policy, program: service, path: "/", anyCore: true, gated: true,
			args: flags("-hello", "-gate", policy),
		})
	}
	for _, way := range []string{guard, auto} {
		g.Claims = append(g.Claims,
			ratio("hello", way, "p99", gcigo, harness.AtMost(1)),
			ratio("hello", way, "peak MB", gcigo, harness.AtMost(1)),
			minus("hello", way, "failed", gcigo, harness.AtMost(0), "")) // a refused request has failed
	}
	return g
}
