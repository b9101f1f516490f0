//go:build linux

// Package fastc has the cases of package fastc next to cgo, purego and the technique of fastcgo.
// Each run has its own process, because fastc remembers what it has learnt of a function.
package fastc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
)

const (
	fromC     = "C"
	cgo       = "cgo"
	fast      = "fastc"
	budgeted  = "fastc with a budget"
	direct    = "fastc.Call"
	yielding  = "fastc that yields" // lets other goroutines run first (//fastc:yield)
	purego    = "purego"
	technique = "fastcgo's technique"
	inGo      = "Go"
)

// Cases returns the cases.
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

// probe runs command probe, and sets the values that it prints.
func probe(ctx context.Context, r *harness.Run, env []string, args ...string) error {
	program, err := r.Program(ctx, "bench/fastc/probe")
	if err != nil {
		return err
	}
	args = append([]string{program, "-way", r.Way, "-length", r.Length.String(), "-warmup", r.Warmup.String()}, args...)
	c, err := r.Start(ctx, harness.AnyCore, env, args...)
	if err != nil {
		return err
	}
	defer c.Stop()
	text, err := c.Line(r.Warmup + r.Length)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), &r.Values)
}

// calls measures a call in ns.
func calls() harness.Case {
	signatures := []string{"add2", "six int64", "add double", "dot of 8", "struct by value"}
	c := harness.Case{
		Name: "fastc/calls",
		What: "ns of a call of C that returns at once, next to a loop in C, cgo, purego and fastcgo's technique",
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
		c.Claims = append(
			c.Claims,
			harness.Claim{Way: fast, Over: cgo, Figure: s + ", added", Target: harness.AtMost(.22)},
			harness.Claim{Way: fast, Over: technique, Figure: s, Target: harness.AtMost(2.5)},
		)
	}
	return c
}

// stop measures how long loops of calls on all processors delay the collector and a timer.
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
	for _, call := range []time.Duration{1, 10, 20, 100} {
		for _, processors := range []int{1, 2} {
			l := loops{call * time.Microsecond, processors}
			name := fmt.Sprintf("calls of %v, GOMAXPROCS=%d", l.call, l.processors)
			byName[name] = l
			c.Loads = append(c.Loads, name)
			ms := l.call.Seconds() * 1e3
			for _, way := range c.Ways[1:] {
				c.Claims = append(
					c.Claims,
					harness.Claim{
						Load: name, Way: way, Figure: "longest stop", Target: harness.AtMost(1 + ms),
						Unit: " ms",
					},
					harness.Claim{
						Load: name, Way: way, Figure: "timer late", Target: harness.AtMost(10 + ms),
						Unit: " ms",
					},
				)
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

// budget measures how long the collector waits for calls of a millisecond with a budget of 200 µs.
// The Site diverts them in the warm-up.
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
