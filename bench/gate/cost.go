//go:build linux

package gate

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/bench/harness"
	"evenkeel.dev/bench/machine"
)

const (
	tiny = "5,000 tiny requests/s"
	few  = "250 requests/s"
)

func costGroup() group {
	args := func(more ...string) func(*system, int) []string {
		return func(s *system, _ int) []string {
			if s.Load == tiny {
				return append([]string{"-shape", "flat", "-size", "64", "-batch", "1"}, more...)
			}
			return more
		}
	}
	return group{
		Case: harness.Case{
			Name: "gate/cost", What: "what a gate costs one process, next to the stock runtime",
			Loads: []string{tiny, few}, Figures: []string{"CPU µs/request"},
			Claims: []harness.Claim{
				ratio(tiny, through, "p50", stock, harness.AtMost(1.02)),
				ratio(few, auto, "CPU µs/request", stock, harness.AtMost(1.03)),
			},
		},
		replicas: 1,
		ways: []way{
			{name: stock, window: 1000, args: args()},
			{name: through, window: 1000, gated: true, under: tiny, args: args("-gate=through")},
			{name: auto, window: 1000, gated: true, under: few, args: args("-gate")},
		},
		loads: map[string]load{tiny: {rate: 5000}, few: {rate: 250}},
	}
}

var idleWays = []way{
	{name: stock},
	{name: through, args: flags("-gate=through")},
	{name: auto, args: flags("-gate")},
	{name: "drain", args: flags("-gate=drain", "-inband")},
}

const (
	idleCPU      = "% of a core"
	idleSwitches = "switches/s"
)

// idleCase is one long run of each way.
func idleCase() harness.Case {
	g := group{ways: idleWays}
	c := harness.Case{
		Name: "gate/cost-idle", What: "CPU and context switches of a process that has had 18 requests and then none",
		Rounds: 1, Length: time.Minute, Warmup: 20 * time.Second,
		Run: func(ctx context.Context, r *harness.Run) error {
			w := g.way(r.Way)
			w.window, w.anyCore = 1000, true
			return idle(ctx, r, w)
		},
	}
	for _, w := range idleWays {
		c.Ways = append(c.Ways, w.name)
		if w.name != stock {
			c.Claims = append(c.Claims,
				harness.Claim{Way: w.name, Figure: idleCPU, Target: harness.AtMost(.2), Unit: "%"},
				harness.Claim{Way: w.name, Figure: idleSwitches, Target: harness.AtMost(100), Unit: "/s"})
		}
	}
	return c
}

func idle(ctx context.Context, r *harness.Run, w way) error {
	s, err := open(ctx, r, w, 1)
	if err != nil {
		return err
	}
	defer s.close()
	for range 18 {
		if _, err := harness.Get(ctx, "http://"+s.addrs[0]+"/push"); err != nil {
			return err
		}
	}
	var cpu [2]time.Duration
	var switched [2]int64
	pid := s.replicas[0].Pid()
	for i, wait := range []time.Duration{r.Warmup, r.Length} {
		if err := harness.Wait(ctx, wait); err != nil {
			return err
		}
		if cpu[i], err = machine.CPUTime(pid); err != nil {
			return err
		}
		if switched[i], err = switches(pid); err != nil {
			return err
		}
	}
	r.Set(idleCPU, 100*(cpu[1]-cpu[0]).Seconds()/r.Length.Seconds())
	r.Set(idleSwitches, float64(switched[1]-switched[0])/r.Length.Seconds())
	return nil
}

func switches(pid int) (n int64, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no process %d", pid)
	}
	for _, name := range files {
		for _, field := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			x, perr := strconv.ParseInt(strings.TrimSpace(machine.Field(name, field)), 10, 64)
			if perr == nil { // a thread may have ended
				n += x
			}
		}
	}
	return n, err
}

var enterLine = regexp.MustCompile(`(?m)^BenchmarkEnterExit/\S+\s+\d+\s+([0-9.]+) ns/op`)

func enterCase() harness.Case {
	return harness.Case{
		Name: "gate/cost-enter", What: "Enter and Exit on two cores at once, next to one shared counter",
		Length: time.Second, Ways: []string{"counter", "gate"},
		Claims: []harness.Claim{{Way: "gate", Figure: "ns", Target: harness.AtMost(25), Unit: " ns"}},
		Run: func(ctx context.Context, r *harness.Run) error {
			cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkEnterExit$/^"+r.Way+"$",
				"-cpu", "2", "-benchtime", r.Length.String(), "./gcgate")
			cmd.Dir = harness.Root()
			out, err := cmd.CombinedOutput()
			m := enterLine.FindSubmatch(out)
			if err != nil || m == nil {
				return fmt.Errorf("go test -bench EnterExit: %w\n%s", err, out)
			}
			ns, err := strconv.ParseFloat(string(m[1]), 64)
			r.Set("ns", ns)
			return err
		},
	}
}

// sourceVariable names the folder of gci-go's source, because the module proxy does not have v0.2.
const (
	sourceVariable = "GCIGO"
	needsOriginal  = "for its way gci-go the source of gci-go v0.2, whose folder " + sourceVariable + " names " +
		"(git clone -b v0.2 https://github.com/gcinterceptor/gci-go)"
)

//go:embed testdata/original/main.go service/work.go
var originalSources embed.FS

func original(ctx context.Context, r *harness.Run) (program string, err error) {
	source := os.Getenv(sourceVariable)
	if source == "" {
		return "", harness.NotHere(errors.New(sourceVariable + " is empty; it has to name the folder of gci-go v0.2"))
	}
	path, err := r.Dir()
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	main := filepath.Join(path, "src/original")
	for _, name := range []string{"testdata/original", "service"} {
		part, perr := fs.Sub(originalSources, name)
		err = errors.Join(err, perr, os.CopyFS(main, part))
	}
	err = errors.Join(err, os.CopyFS(filepath.Join(path, "src/github.com/gcinterceptor/gci-go"), os.DirFS(source)))
	if err != nil {
		return "", err
	}
	program = filepath.Join(path, "gci-go")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "original")
	build.Env = append(os.Environ(), "GO111MODULE=off", "GOFLAGS=", "GOPATH="+path)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s=%s: %v: %w\n%s", sourceVariable, source, build, err, out)
	}
	return program, nil
}

// literalCase is the loop of gci-go's benchmark, in which nothing outlives an operation.
func literalCase() harness.Case {
	c := harness.Case{
		Name: "gate/literal", What: "the message-push loop of gci-go's benchmark, by size of a message",
		Needs: needsOriginal, Length: 2 * time.Second,
		Ways: []string{stock, gcigo, auto, through}, Loads: []string{"1 KB", "10 KB", "100 KB", "1 MB"}, Run: literal,
	}
	for _, load := range c.Loads {
		c.Claims = append(c.Claims,
			ratio(load, auto, "p99 µs", gcigo, harness.AtMost(1)),
			ratio(load, auto, "peak MB", gcigo, harness.AtMost(1)),
			minus(load, auto, "% refused", gcigo, harness.AtMost(0), " points"))
	}
	return c
}

var literalSizes = map[string]int{"1 KB": 1 << 10, "10 KB": 10 << 10, "100 KB": 100 << 10, "1 MB": 1 << 20}

func literal(ctx context.Context, r *harness.Run) error {
	args := []string{"-push", strconv.Itoa(literalSizes[r.Load]), "-pushing", r.Length.String()}
	if r.Way != stock && r.Way != gcigo {
		args = append(args, "-gate", r.Way)
	}
	program, err := (&system{Run: r, way: way{name: r.Way, program: service}}).programOf(ctx)
	if err != nil {
		return err
	}
	c, err := r.Start(ctx, harness.AnyCore, nil, append([]string{program}, args...)...)
	if err != nil {
		return err
	}
	defer c.Stop()
	line, err := c.Line(r.Length)
	if err != nil {
		return err
	}
	var said struct {
		Ops, Refused    float64
		Mean, P99, Each time.Duration
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Ops == 0 {
		return fmt.Errorf("%s %v says %q: %w", program, args, line, err)
	}
	peak, err := machine.PeakRSS(c.Pid())
	if err != nil {
		return err
	}
	r.Set("mean µs", said.Mean.Seconds()*1e6)
	r.Set("p99 µs", said.P99.Seconds()*1e6)
	r.Set("µs/operation", said.Each.Seconds()*1e6)
	r.Set("% refused", 100*said.Refused/said.Ops)
	r.Set("peak MB", float64(peak)/1e6)
	return nil
}
