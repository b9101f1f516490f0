package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evenkeel.dev/bench/machine"
	"evenkeel.dev/loadgen"

	"evenkeel.dev/bench/figure"
)

func TestThisProcess(t *testing.T) {
	if _, err := machine.CPUTime(os.Getpid()); err != nil {
		t.Error(err)
	}
	if n, err := machine.PeakRSS(os.Getpid()); n < 1<<20 || err != nil {
		t.Errorf("peak memory %d, %v", n, err)
	}
	if n, err := switches(os.Getpid()); n <= 0 || err != nil {
		t.Errorf("%d switches, %v", n, err)
	}
	if _, err := switches(-1); err == nil {
		t.Error("a process that is not there has switches")
	}
	if j, err := machine.ReadTimes(); j.Total == 0 || err != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if got := (machine.Times{Total: 200, Steal: 5}).StealSince(machine.Times{Total: 100, Steal: 3}); got != .02 {
		t.Errorf("steal %v, want 0.02", got)
	}
}

func TestChoose(t *testing.T) {
	ms, err := choose("gated,off no balancer")
	if err != nil || len(ms) != 2 || ms[1].name != "off, no balancer" {
		t.Errorf("%v, %v", ms, err)
	}
	if _, err := choose("fast"); err == nil || !strings.Contains(err.Error(), "gctuner") {
		t.Errorf("%v, want the names", err)
	}
}

// TestOrder sees that modes which need the memory of others come after them, and that no mode
// is always the first.
func TestOrder(t *testing.T) {
	for round := 1; round <= 2; round++ {
		var late bool
		for _, m := range order(modes, round) {
			if late && !m.memory {
				t.Errorf("round %d: %s comes too late", round, m.name)
			}
			late = late || m.memory
		}
	}
	if a, b := order(modes, 1)[0].name, order(modes, 2)[0].name; a == b {
		t.Errorf("%s is always first", a)
	}
}

// TestTargets sees that targets name modes that there are.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		in      []mode
		targets map[string][]target
	}{{modes, pairTargets}, {single, singleTargets}} {
		for load, ts := range c.targets {
			for _, x := range ts {
				for _, name := range []string{x.over, x.under} {
					if !slices.ContainsFunc(c.in, func(m mode) bool { return m.name == name }) {
						t.Errorf("%s: no mode %q", load, name)
					}
				}
			}
		}
	}
}

func TestGoodLeavesOutVoidRuns(t *testing.T) {
	d := driver{samples: []sample{
		{Mode: "gated", Load: "high", Round: 1, Try: 1, P99: 9},
		{Mode: "gated", Load: "high", Round: 1, Try: 2, P99: 2},
		{Mode: "default", Load: "high", Round: 1, Try: 1, P99: 40},
		{Mode: "gated", Load: "high", Round: 2, Try: 1, P99: 4},
	}}
	if got := d.column("gated", "high", "p99"); !slices.Equal(got, []float64{2e-9, 4e-9}) {
		t.Errorf("p99 %v", got)
	}
	if got := d.column("default", "", "p99"); len(got) != 1 {
		t.Errorf("p99 %v", got)
	}
}

// TestAllSetAside sees that a run during which the machine stood still all the time counts with all
// its requests, and as disturbed, and not with quantiles of nothing.
func TestAllSetAside(t *testing.T) {
	r := &loadgen.Result{Answered: 1}
	r.Latency.Record(time.Second)
	s := sample{Raw: r.Latency, Touched: 1}
	s.take(r)
	if s.P50 < 999*time.Millisecond || !s.disturbed() {
		t.Errorf("p50 %v, disturbed %v", s.P50, s.disturbed())
	}
}

// programs is the folder in which build builds.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "gate-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(programs)
	os.Exit(code)
}

// build builds what the driver runs, once, and returns its folder.
var build = sync.OnceValues(func() (bin string, err error) {
	for dir, pkgs := range map[string][]string{"../../examples": {"./msgpush", "./raftkv", "./wholepath"}, "..": {"./gate/peer", "./gate/subject"}} {
		cmd := exec.Command("go", append([]string{"build", "-ldflags=-w", "-o", programs}, pkgs...)...) // no test debugs them
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
	}
	return programs, nil
})

// quick returns a driver with short runs. The tests of those are parallel: they wait, most of the time.
func quick(t *testing.T) *driver {
	t.Helper()
	need(t, "nice")
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{bin: bin, deploy: "../../deploy", quick: true, rivals: 1, out: t.Output()}
	if err := d.prepare("", "moderate"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d.dir) })
	d.length, d.settle, d.idleFor, d.polledFor = 300*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	return d
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("needs %s", program)
	}
}

// TestModes runs every mode whose balancer is here, shortly.
func TestModes(t *testing.T) {
	t.Parallel()
	d := quick(t)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			if m.front != "" {
				need(t, strings.Fields(strings.ReplaceAll(m.front, ",", ""))[0])
			}
			s, err := d.measure(t.Context(), m, 2, load{name: "moderate", rate: 300}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if s.Requests != 90 || len(s.PeakRSS) != 2 || s.P50 == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("single", func(t *testing.T) {
		if err := d.single(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestIdle sees that each policy runs, and that all are counted.
func TestIdle(t *testing.T) {
	t.Parallel()
	d := quick(t)
	if err := d.idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	figures := d.idled
	if len(figures) != len(idleModes) {
		t.Errorf("%+v", figures)
	}
	for _, f := range figures {
		if f.Window < d.idleFor || f.CPU < 0 || f.Switches < 0 {
			t.Errorf("%+v", f)
		}
	}
}

// TestPolls sees that HAProxy polls in each way, and that both replicas collect when asked.
func TestPolls(t *testing.T) {
	t.Parallel()
	need(t, "haproxy")
	d := quick(t)
	if err := d.polls(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := d.cases
	if len(all) != len(pollings) {
		t.Errorf("%+v", all)
	}
	for _, p := range all {
		if p.Requests != 150 || len(p.Gates) != 2 || p.Collections < 2*p.Asked {
			t.Errorf("%+v", p)
		}
	}
}

// TestHello runs the example of the original under what stands in for it and under the gates.
func TestHello(t *testing.T) {
	t.Parallel()
	d := testTeam(t, "hello")
	for _, m := range helloTeam.modes {
		s := d.good(m.name, "hello")[0]
		if s.Requests != 45 {
			t.Errorf("%s: %+v", m.name, s)
		}
		if m.name == "default" && s.Collections[0] == 0 { // others may have no reason yet
			t.Errorf("%s: no collection was counted", m.name)
		}
	}
}

// TestShedding has HAProxy ask the other replica where one refuses.
func TestShedding(t *testing.T) {
	t.Parallel()
	need(t, "haproxy")
	testTeam(t, "shedding")
}

// standIn returns a folder with packages that have the names of gci-go's, and do nothing.
func standIn(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"gccontrol/gccontrol.go": `package gccontrol

import "time"

type Interceptor struct{}

type ShedResponse struct {
	Unavailabity time.Duration
	ShouldShed   bool
}

func NewInterceptor() *Interceptor             { return &Interceptor{} }
func (i *Interceptor) Before() ShedResponse    { return ShedResponse{} }
func (i *Interceptor) After(r ShedResponse)    {}
`,
		"httphandler/handler.go": "package httphandler\n\nimport \"net/http\"\n\nfunc GCI(next http.Handler) http.Handler { return next }\n",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLiteral pushes under what stands in for the original and under the gates. What is said of their memory has nothing of that of who started
// them.
func TestLiteral(t *testing.T) {
	d := quick(t)
	const own = 128 << 20
	if _, err := machine.Touch(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	d.original = standIn(t)
	if err := d.literal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.pushed) != len(literalPolicies) {
		t.Errorf("%+v", d.pushed)
	}
	for _, p := range d.pushed {
		if p.Ops == 0 || p.Mean == 0 || p.P99 == 0 || p.Each < p.Mean || p.Peak < 1<<20 || p.Peak >= own {
			t.Errorf("%+v", p)
		}
	}
}

// TestLiteralFigures holds the loop under the defaults to what the original does.
func TestLiteralFigures(t *testing.T) {
	for want, times := range map[figure.Verdict]int64{figure.Met: 1, figure.Missed: 2} {
		d := driver{set: &figure.Set{Out: t.Output()}, out: t.Output()}
		for round := 1; round <= 6; round++ {
			d.pushed = append(d.pushed, pushed{Policy: gcigo, Size: 1 << 10, Round: round, Ops: 100, Refused: 1, P99: 10, Peak: 10},
				pushed{Policy: "auto", Size: 1 << 10, Round: round, Ops: 100, Refused: times, P99: 10 * time.Duration(times), Peak: 10 * times})
		}
		d.literalFigures()
		if len(d.set.Figures) != 3 {
			t.Errorf("%+v", d.set.Figures)
		}
		for _, f := range d.set.Figures {
			if f.Verdict != want {
				t.Errorf("%s is %v, want %v", f.Name, f.Verdict, want)
			}
		}
	}
}

// TestPush runs the benchmarks of the message push once at one size: their names are the driver's.
func TestPush(t *testing.T) {
	t.Parallel()
	d := quick(t)
	if err := d.push(t.Context()); err != nil {
		t.Fatal(err)
	}
	ns := d.set.Raw["message push, ns"].(map[string][]float64)
	for _, name := range slices.Concat(d.pushes()...) {
		if len(ns[name]) != 1 || ns[name][0] <= 0 {
			t.Errorf("%s: %v", name, ns[name])
		}
	}
}

// TestAddrs asks for as many addresses as a driver and some servers need: no two are alike.
func TestAddrs(t *testing.T) {
	seen := map[string]bool{}
	for range 300 {
		addr, err := freeAddr()
		if err != nil || seen[addr] {
			t.Fatalf("%s after %d others, %v", addr, len(seen), err)
		}
		seen[addr] = true
	}
}

// TestFaults breaks each thing once and sees that the driver puts it right again.
func TestFaults(t *testing.T) {
	const endless = 1e5 // a quick run ends with the last fault
	slow := load{rate: 100}
	for _, c := range []struct {
		name  string
		needs func(d *driver) []string
		run   func(d *driver) error
		kinds []string
	}{
		{
			"", func(*driver) []string { return []string{"haproxy", "etcd"} },
			func(d *driver) error { return d.faultsHAProxy(t.Context(), endless, slow) },
			[]string{replicaKilled, "HAProxy reloaded", "etcd killed", "replica stopped", "etcd stopped", "replica restarted"},
		},
		{
			haproxyFaults, func(*driver) []string { return []string{"haproxy"} },
			func(d *driver) error { return d.faultsFront(t.Context(), endless, slow, killedHAProxy) },
			[]string{replicaKilled, "HAProxy killed", "replica stopped", "HAProxy stopped", "replica restarted"},
		},
		{
			envoyFaults, func(d *driver) []string { return []string{d.envoyProgram()} },
			func(d *driver) error { return d.faultsFront(t.Context(), endless, slow, killedEnvoy) },
			[]string{replicaKilled, "Envoy killed", "replica stopped", "Envoy stopped", "replica restarted"},
		},
		{
			raftFaults, func(*driver) []string { return nil },
			func(d *driver) error { return d.faultsRaft(t.Context(), endless) },
			[]string{"leader stopped", "follower stopped", "leader killed"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := quick(t)
			for _, program := range c.needs(d) {
				need(t, program)
			}
			if err := c.run(d); err != nil {
				t.Fatal(err)
			}
			faults, _ := d.set.Raw[c.name+"faults"].([]fault)
			for _, kind := range c.kinds {
				if !slices.ContainsFunc(faults, func(f fault) bool { return f.Kind == kind }) {
					t.Errorf("no %s: %v", kind, faults)
				}
			}
			if lost, ok := d.set.Raw[c.name+lostKey]; ok && lost != 0 {
				t.Errorf("%v writes were lost", lost)
			}
		})
	}
}

// TestFaultsAreKept sees that what was measured is kept where another system cannot be, and that an interrupt ends all.
func TestFaultsAreKept(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	d := &driver{set: &figure.Set{Out: t.Output(), Raw: map[string]any{}}}
	failed, dir := errors.New("it does not start"), t.TempDir()
	err := d.faultsIn(ctx, []faultySystem{
		{"a", func(*driver, context.Context, int, load) error { return failed }},
		{"b", func(d *driver, _ context.Context, n int, l load) error {
			d.lostFigure(n + int(l.rate))
			interrupt()
			return nil
		}},
		{"c", func(*driver, context.Context, int, load) error { panic("after an interrupt") }},
	}, 8, load{rate: 1}, dir)
	files, gerr := filepath.Glob(filepath.Join(dir, "gate-faults-*.json"))
	if !errors.Is(err, failed) || gerr != nil || len(files) != 1 || len(d.set.Figures) != 1 || d.set.Figures[0].Measured != 9 {
		t.Errorf("%v, %v: %v, %+v", err, gerr, files, d.set.Figures)
	}
	if s, err := chooseFaulty("raft, etcd"); err != nil || len(s) != 2 || s[0].name != "raft" {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := chooseFaulty("etcd,zk"); err == nil || !strings.Contains(err.Error(), "etcd,haproxy,envoy,raft") {
		t.Errorf("%v, want the names", err)
	}
}

// TestSendsAgain sees that what a balancer answers in the place of the service is asked again, and nothing else.
func TestSendsAgain(t *testing.T) {
	answers := []int{http.StatusServiceUnavailable, http.StatusOK, http.StatusNotFound}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := answers[0]
		answers = answers[1:]
		w.WriteHeader(status)
	}))
	defer server.Close()
	again := &sendsAgain{base: &http.Transport{}}
	defer again.base.CloseIdleConnections()
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := again.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s, want %d", resp.Status, want)
		}
	}
	if n := again.n.Load(); n != 1 {
		t.Errorf("%d were sent again, want 1", n)
	}
}

// TestConfig sees that the balancers take the configurations.
func TestConfig(t *testing.T) {
	for _, c := range []struct {
		kind string
		argv []string // that checks a configuration
		says string
	}{
		{haproxy, []string{"haproxy", "-c", "-f"}, retryLine + "\n"},
		{haproxyRetry, []string{"haproxy", "-c", "-f"}, retryLine + " 503\n"},
		{haproxyPolls, []string{"haproxy", "-c", "-f"}, "check inter 500ms fastinter 500ms downinter 500ms rise 2 fall 3\n"},
		{nginx, []string{"nginx", "-t", "-c"}, "daemon off;"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			need(t, c.argv[0])
			d := &driver{
				deploy: "../../deploy", dir: t.TempDir(), front: "127.0.0.1:18000", socket: "127.0.0.1:19199",
				addrs:   []string{"127.0.0.1:18081", "127.0.0.1:18082"},
				polling: polling{every: 500 * time.Millisecond, fall: 3, rise: 2},
			}
			_, env, err := d.config(c.kind)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(d.dir, "front.cfg")
			cmd := exec.Command(c.argv[0], append(c.argv[1:], name)...)
			cmd.Env = append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			text, err := os.ReadFile(name)
			if err != nil || !bytes.Contains(text, []byte(c.says)) {
				t.Errorf("lacks %q, %v:\n%s", c.says, err, text)
			}
		})
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("gate", "../results/gate-*.json", judge); err != nil {
		t.Error(err)
	}
}
