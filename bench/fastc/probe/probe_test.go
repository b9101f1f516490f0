//go:build cgo && linux

package main

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/fastc/sig"
)

// crashHere is the caller that a report should name.
//
//go:noinline
func crashHere(crash func()) { crash() }

// TestCrash lets C crash in a child. The report has the signal and the Go caller. Under fastcgo's
// technique it has neither, because the runtime does not know which stack it is on.
func TestCrash(t *testing.T) {
	const variable = "PROBE_CRASH"
	switch os.Getenv(variable) {
	case "fastc":
		crashHere(sig.Crash)
	case "technique":
		crashHere(sig.CrashByTechnique)
	}
	for way, named := range map[string]bool{"fastc": true, "technique": false} {
		if way == "technique" && runtime.GOARCH != "amd64" {
			continue
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		cmd.Env = append(os.Environ(), variable+"="+way)
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: the crash did not happen", way)
		}
		for _, text := range []string{"SIGSEGV", ".crashHere("} {
			if strings.Contains(string(out), text) != named {
				t.Errorf("%s: the report has %q: %v, want %v\n%s", way, text, !named, named, out)
			}
		}
	}
}

// TestWaysAgree: each way computes what C does.
func TestWaysAgree(t *testing.T) {
	for i, name := range sig.Signatures {
		want := sig.Loops["C"][i](1000)
		for way, loops := range sig.Loops {
			if loops[i] == nil {
				t.Logf("%s: no %s here", name, way)
				continue
			}
			if got := loops[i](1000); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s by %s: %v, want %v", name, way, got, want)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	edges := []float64{0, 1, 2, 4, math.Inf(1)}
	before := &metrics.Float64Histogram{Counts: []uint64{5, 0, 7, 0}, Buckets: edges}
	after := &metrics.Float64Histogram{Counts: []uint64{5 + 90, 9, 7 + 1, 0}, Buckets: edges}
	for q, want := range map[float64]float64{.5: 1, .9: 1, .91: 2, .99: 2, 1: 4} {
		if got := quantile(before, after, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if got := quantile(after, after, .99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestPerCall: a loop that takes a microsecond a turn is found to.
func TestPerCall(t *testing.T) {
	loop := func(n int) float64 {
		for end := time.Now().Add(time.Duration(n) * time.Microsecond); time.Now().Before(end); {
		}
		return 0
	}
	if ns := perCall(loop, 5*time.Millisecond); ns < 1000 {
		t.Errorf("%v ns", ns)
	}
}
