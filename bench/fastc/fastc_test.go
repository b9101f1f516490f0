//go:build cgo && unix

package main

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/fastc/sig"
	"evenkeel.dev/bench/figure"
)

// TestWaysAgree: each way computes what C does.
func TestWaysAgree(t *testing.T) {
	for _, s := range sig.Signatures {
		want := s.C(1000)
		for _, w := range ways {
			loop := w.loop(s)
			if loop == nil {
				t.Logf("%s: no %s here", s.Name, w.name)
				continue
			}
			if got := loop(1000); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s by %s: %v, want %v", s.Name, w.name, got, want)
			}
		}
	}
}

// TestCrash: the report of a crash below fastc names the signal and the caller.
func TestCrash(t *testing.T) {
	var out strings.Builder
	b := &bench{ctx: context.Background(), set: figure.New("test")}
	b.set.Out = &out
	if err := b.crash(); err != nil {
		t.Fatal(err)
	}
	if len(b.set.Figures) != 1 || b.set.Figures[0].Verdict != figure.Met {
		t.Errorf("%s%.3000s", &out, b.set.Raw["crash by fast"])
	}
}

// TestKept: what was measured is kept also where a part ends with an error, and an interrupt is taken for no crash.
func TestKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &bench{ctx: ctx, set: figure.New("fastc")}
	b.set.Out = t.Output()
	b.set.Raw["before"] = 1
	dir := t.TempDir()
	if err := b.measure("crash", dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "fastc-*.json")); err != nil || len(files) != 1 || len(b.set.Raw) != 1 {
		t.Errorf("kept %v, %v: %v", files, err, b.set.Raw)
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

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("fastc", "../results/fastc-*.json", judge); err != nil {
		t.Error(err)
	}
}
