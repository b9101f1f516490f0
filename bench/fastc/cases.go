//go:build linux

// Package fastc has the cases of package fastc next to cgo, purego and the technique of fastcgo.
// Each run has its own process, because fastc remembers what it has learnt of a function.
package fastc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/loadgen"
)

const (
	fromC     = "C"
	cgo       = "cgo"
	fast      = "fastc"
	budgeted  = "fastc with a budget"
	direct    = "fastc.Call"
	yielding  = "fastc that yields" // (//fastc:yield)
	purego    = "purego"
	technique = "fastcgo's technique"
	inGo      = "Go"
)

func Cases() []harness.Case {
	cases := []harness.Case{calls(), stop(), budget(), server()}
	for i := range cases {
		cases[i].Needs, cases[i].Open = "cgo and a C compiler", needCgo
	}
	return cases
}

func needCgo(context.Context, *harness.Run) (end func(), err error) {
	out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err == nil && strings.TrimSpace(string(out)) != "1" {
		err = harness.NotHere(errors.New("it needs cgo and a C compiler"))
	}
	return nil, err
}

func notHere(way, _ string) bool { return way == technique && runtime.GOARCH != "amd64" }

func probe(ctx context.Context, r *harness.Run, env []string, args ...string) error {
	args = append([]string{
		"bench/fastc/probe", "-way", r.Way, "-length", r.Length.String(), "-warmup", r.Warmup.String(),
	}, args...)
	c, err := r.Start(ctx, harness.AnyCore, env, args...)
	if err != nil {
		return err
	}
	defer c.Stop()
	return r.Take(c, r.Warmup+r.Length)
}

func calls() harness.Case {
	signatures := []string{"add2", "six int64", "add double", "dot of 8", "struct by value"}
	c := harness.Case{
		Name: "fastc/calls",
		What: "a call of C that returns at once, in ns, next to a loop in C, cgo, purego and fastcgo's technique",
		Ways: []string{fromC, cgo, fast, budgeted, purego, technique}, Skip: notHere, Length: 40 * time.Millisecond,
		Figures: append(slices.Clone(signatures), "mean"),
		Run:     func(ctx context.Context, r *harness.Run) error { return probe(ctx, r, nil, "-do", "calls") },
		Claims: []harness.Claim{
			{Way: cgo, Over: fast, Figure: "mean", Target: harness.AtLeast(3.5)},
			{Way: purego, Over: fast, Figure: "mean", Target: harness.AtLeast(10)},
			{Way: budgeted, Over: fast, Figure: signatures[0], Target: harness.AtMost(1.3)},
		},
	}
	for _, s := range signatures {
		c.Claims = append(c.Claims,
			harness.Claim{Way: fast, Over: cgo, Figure: s + ", added", Target: harness.AtMost(.22)},
			harness.Claim{Way: fast, Over: technique, Figure: s, Target: harness.AtMost(2.5)})
	}
	return c
}

func stop() harness.Case {
	c := harness.Case{
		Name: "fastc/stop",
		What: "how long the collector and a timer of 10 ms wait for loops of calls, next to loops of Go (ms)",
		Ways: []string{inGo, direct, fast, budgeted}, Rounds: 5, Length: time.Second,
		Figures: []string{"longest stop", "longest GC()", "timer late"},
	}
	type loops struct {
		call       time.Duration
		processors int
	}
	byName := map[string]loops{}
	for _, call := range []time.Duration{1, 100} {
		for _, processors := range []int{1, 2} {
			l := loops{call * time.Microsecond, processors}
			name := fmt.Sprintf("calls of %v, GOMAXPROCS=%d", l.call, l.processors)
			byName[name] = l
			c.Loads = append(c.Loads, name)
			ms := l.call.Seconds() * 1e3
			for _, way := range c.Ways[1:] {
				stop := harness.Claim{Load: name, Way: way, Unit: " ms"}
				late := stop
				stop.Figure, stop.Target = "longest stop", harness.AtMost(1+ms)
				late.Figure, late.Target = "timer late", harness.AtMost(10+ms)
				c.Claims = append(c.Claims, stop, late)
			}
		}
	}
	c.Run = func(ctx context.Context, r *harness.Run) error {
		l := byName[r.Load]
		return probe(ctx, r, []string{"GOMAXPROCS=" + strconv.Itoa(l.processors)}, "-do", "stop", "-call",
			l.call.String())
	}
	return c
}

func budget() harness.Case {
	return harness.Case{
		Name: "fastc/budget",
		What: "how long the collector waits for calls of 1 ms with a budget of 200 µs, next to cgo (ms)",
		Ways: []string{cgo, budgeted, fast}, Length: 3 * time.Second, Warmup: time.Second,
		Figures: []string{"p99 to stop"},
		Claims: []harness.Claim{
			{Way: budgeted, Minus: cgo, Figure: "p99 to stop", Target: harness.AtMost(.2), Unit: " ms"},
		},
		Run: func(ctx context.Context, r *harness.Run) error {
			return probe(ctx, r, nil, "-do", "stop", "-call", "1ms")
		},
	}
}

const (
	many   = "1,000 calls"
	matrix = "a call of 240 µs"
	single = "a call of 2 µs"
)

var paths = map[string]map[string]string{
	many:   {cgo: "/many/cgo", fast: "/many/fast"},
	matrix: {cgo: "/cgo/62/2", fast: "/blockcall/62/2", yielding: "/yield/62/2", inGo: "/go/62/2"},
	single: {cgo: "/cgo/8/1", fast: "/blockcall/8/1"},
}

const ownCores, sharedCores = ", a core each", ", shared cores"

func path(way, load string) string {
	what, _ := strings.CutSuffix(load, ownCores)
	what, _ = strings.CutSuffix(what, sharedCores)
	return paths[what][way]
}

const handler = "handler p99.9"

// server is ab -k -c 10.
func server() harness.Case {
	return harness.Case{
		Name: "fastc/server",
		What: "/cgo and /blockcall of examples/fastcserver, ten connections in a closed loop (ms)",
		Ways: []string{cgo, fast, yielding, inGo}, Rounds: 5, Length: 4 * time.Second,
		Loads: []string{many + ownCores, matrix + ownCores, single + ownCores, matrix + sharedCores},
		Skip:  func(way, load string) bool { return path(way, load) == "" }, Run: serve,
		Figures: []string{"requests/s", "p50", "p99", "p99.9", handler},
		Claims: []harness.Claim{
			{Load: many + ownCores, Way: fast, Over: cgo, Figure: "requests/s", Target: harness.AtLeast(1.6)},
			{Load: many + ownCores, Way: fast, Over: cgo, Figure: "p99", Target: harness.AtMost(.6)},
			{Load: matrix + ownCores, Way: yielding, Over: cgo, Figure: handler, Target: harness.AtMost(.1)},
			{Load: matrix + sharedCores, Way: yielding, Over: cgo, Figure: "p99", Target: harness.AtMost(1)},
		},
	}
}

func serve(ctx context.Context, r *harness.Run) error {
	program, err1 := r.Program(ctx, "examples/fastcserver")
	evenkeel, err2 := r.Program(ctx, "cmd/evenkeel")
	dir, err3 := r.Dir()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	serverCore, clientCore := 0, 1
	if strings.HasSuffix(r.Load, sharedCores) {
		serverCore, clientCore = harness.AnyCore, harness.AnyCore
	}
	// This program must not run while the server does, so the access log goes to a file.
	log, result := filepath.Join(dir, "access.log"), filepath.Join(dir, "load.json")
	srv, err := r.Start(ctx, serverCore, nil, "sh", "-c", `exec "$0" -addr 127.0.0.1:0 >"$1"`, program, log)
	if err != nil {
		return err
	}
	defer srv.Stop()
	addr, err := listening(ctx, srv, log)
	if err != nil {
		return err
	}
	cl, err := r.Start(ctx, clientCore, nil, evenkeel, "load", "-c", "10", "-warmup", r.Warmup.String(),
		"-z", r.Length.String(), "-o", result, "http://"+addr+path(r.Way, r.Load))
	if err != nil {
		return err
	}
	defer cl.Stop()
	select {
	case <-cl.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return take(r, log, result)
}

var listens = regexp.MustCompile(`msg=listening .*?(127\.0\.0\.1:[0-9]+)`)

func listening(ctx context.Context, srv *harness.Child, log string) (addr string, err error) {
	var text []byte
	var unread error // it may not be there at first
	err = srv.Until(ctx, "listen", func(context.Context) bool {
		text, unread = os.ReadFile(log)
		m := listens.FindSubmatch(text)
		if m != nil {
			addr = string(m[1])
		}
		return m != nil
	})
	if err != nil {
		_, complaint := srv.Output()
		err = fmt.Errorf("fastcserver: %w: %s%s", errors.Join(err, unread), text, complaint)
	}
	return addr, err
}

func take(r *harness.Run, log, result string) error {
	run, err := harness.ReadRun(result)
	if err != nil {
		return err
	}
	client := run.Load
	if ok := client.Statuses[200]; ok != client.Requests() {
		return fmt.Errorf("of %d requests %d were answered with 200", client.Requests(), ok)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	inside, err := handlers(text, path(r.Way, r.Load))
	if err != nil {
		return err
	}
	if inside.Count() < client.Requests() {
		return fmt.Errorf("%d of %d requests are in the access log", inside.Count(), client.Requests())
	}
	r.Set("requests/s", client.Throughput())
	r.Set("p50", client.Latency.Quantile(.5).Seconds()*1e3)
	r.Set("p99", client.Latency.Quantile(.99).Seconds()*1e3)
	r.Set("p99.9", client.Latency.Quantile(.999).Seconds()*1e3)
	r.Set(handler, inside.Quantile(.999).Seconds()*1e3)
	return nil
}

// Gin's default format (gin-gonic/gin, logger.go)
var accessLine = regexp.MustCompile(`^\[GIN\] .*\| (\d{3}) \| +([0-9.µa-z]+) \| .* \| [A-Z]+ +"([^"]*)"`)

func handlers(text []byte, path string) (times loadgen.Histogram, err error) {
	for line := range bytes.Lines(text) {
		m := accessLine.FindSubmatch(line)
		if m == nil || string(m[1]) != "200" || string(m[3]) != path {
			continue
		}
		took, err := time.ParseDuration(string(m[2]))
		if err != nil {
			return times, fmt.Errorf("access log: %q: %w", bytes.TrimSpace(line), err)
		}
		times.Record(took)
	}
	return times, nil
}
