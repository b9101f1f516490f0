package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/machine"
)

func TestThisProcess(t *testing.T) {
	if _, err := machine.CPUTime(os.Getpid()); err != nil {
		t.Error(err)
	}
	if n, err := machine.PeakRSS(os.Getpid()); n < 1<<20 || err != nil {
		t.Errorf("peak memory %d, %v", n, err)
	}
	if j, err := readJiffies(); j.total == 0 || err != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if got := (jiffies{total: 200, steal: 5}).stealSince(jiffies{total: 100, steal: 3}); got != .02 {
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

// quick returns a driver with short runs, over programs that it builds.
func quick(t *testing.T) *driver {
	t.Helper()
	for _, name := range []string{"nice", "taskset"} {
		need(t, name)
	}
	bin := t.TempDir()
	for dir, pkgs := range map[string][]string{"../../examples": {"./msgpush"}, "..": {"./gate/peer"}} {
		cmd := exec.Command("go", append([]string{"build", "-o", bin}, pkgs...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	d := &driver{bin: bin, deploy: "../../deploy", quick: true, out: t.Output()}
	if err := d.prepare("", "moderate"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d.dir) })
	d.length = 300 * time.Millisecond
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

// TestFaults breaks each thing once or twice and sees that the driver puts it right again.
func TestFaults(t *testing.T) {
	need(t, "haproxy")
	need(t, "etcd")
	d := quick(t)
	if err := d.faults(t.Context(), 6000, ""); err != nil {
		t.Fatal(err)
	}
	if d.set.Raw["faults"] == nil {
		t.Error("nothing was broken")
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
		{nginx, []string{"nginx", "-t", "-c"}, "daemon off;"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			need(t, c.argv[0])
			d := &driver{
				deploy: "../../deploy", dir: t.TempDir(), front: "127.0.0.1:18000", socket: "127.0.0.1:19199",
				addrs: []string{"127.0.0.1:18081", "127.0.0.1:18082"},
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
