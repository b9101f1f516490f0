//go:build linux

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
	"evenkeel.dev/reqtrace/history"
	"evenkeel.dev/reqtrace/recorder"
)

// TestFigures: what was measured meets its targets where it is good, and misses them where it is not.
func TestFigures(t *testing.T) {
	for want, cpu := range map[figure.Verdict]time.Duration{figure.Met: 85 * time.Second, figure.Missed: 115 * time.Second} {
		var out bytes.Buffer
		d := &driver{set: figure.New("recorder")}
		d.set.Out = &out
		for round := 1; round <= 8; round++ {
			for _, mode := range modes {
				s := sample{Mode: mode.name, Round: round, Requests: 1e6, CPU: 70 * time.Second, P50: time.Millisecond, P99: time.Millisecond, P999: time.Millisecond}
				switch mode.name {
				case "full":
					s.CPU = cpu
					s.Stats.Cost = recorder.Cost{Tracing: 15 * time.Second}
				case "budget":
					s.Stats = recorder.Stats{Passed: time.Minute, Covered: 6 * time.Second, Cost: recorder.Cost{Tracing: time.Second, Budget: time.Second}}
				}
				d.samples = append(d.samples, s)
			}
		}
		d.plant = &plantResult{Truth: map[string]float64{"lock": .5}, Said: map[string]float64{"lock": .52}, NewAfter: time.Second, Slow: 10, Seen: 8, Accounted: 10}
		d.figures()
		for _, f := range d.set.Figures {
			verdict := figure.Met
			if strings.Contains(f.Name, "always on: CPU") || strings.Contains(f.Name, "tracing, counted") {
				verdict = want
			}
			if f.Verdict != verdict {
				t.Errorf("%s: %v, not %v\n%s", f.Name, f.Verdict, verdict, out.String())
			}
		}
	}
}

// TestOtherFigures: so is what the other parts measured.
func TestOtherFigures(t *testing.T) {
	for _, want := range []figure.Verdict{figure.Met, figure.Missed} {
		times := map[figure.Verdict]int64{figure.Met: 1, figure.Missed: 20}[want]
		d := &driver{set: figure.New("recorder")}
		d.set.Out = t.Output()
		for round := 1; round <= 8; round++ {
			for _, w := range busy {
				on := time.Second + 2*time.Millisecond*time.Duration(times)
				d.samples = append(d.samples, sample{Service: w.program, Mode: "off", Round: round, Requests: 1000, CPU: time.Second, P50: 1000, P99: 1000, P999: 1000},
					sample{Service: w.program, Mode: "full", Round: round, Requests: 1000, CPU: on, P50: time.Duration(1000 + 10*times), P99: time.Duration(1000 + 10*times), P999: time.Duration(1000 + 10*times)})
			}
		}
		ms, mb := time.Duration(times)*time.Millisecond, times<<20
		d.crowds = []crowd{
			{Took: []time.Duration{ms + 5*time.Millisecond}, Child: 30<<20 + mb},
			{Parked: 100_000, Stats: recorder.Stats{On: true, Cost: recorder.Cost{Analysis: ms, Budget: 10 * time.Millisecond}}},
		}
		seen := uint64(101 - times)
		d.whole, d.stops = &wholeResult{Slow: 100, Seen: seen}, &stopsResult{Explained: 100, Machine: seen}
		failed := times - 1
		d.faults = []faulted{{Fault: "it rains", Requests: 1000, Failed: failed, Hit: int(2 - times), Coverage: history.Coverage{Count: history.Count{Slow: 100}, Seen: 101 - uint64(times)}}, {Fault: "it snows", LeftOut: "no winter"}}
		for i := range 9 {
			grown := int64(0)
			if i > 5 {
				grown = 5 * (times - 1)
			}
			d.soaked = append(d.soaked, soaked{After: time.Minute, RSS: 100 + grown, Descriptors: 100 + int(grown), Goroutines: 100 + int(grown), Disk: 10 * mb, Analysis: time.Duration(times) * 100 * time.Millisecond})
		}
		d.figures()
		if len(d.set.Figures) != 19 {
			t.Errorf("%d figures", len(d.set.Figures))
		}
		for _, f := range d.set.Figures {
			if f.Verdict != want {
				t.Errorf("%s: %v, not %v", f.Name, f.Verdict, want)
			}
		}
	}
}

// TestParts runs all parts shortly.
func TestParts(t *testing.T) {
	bin := t.TempDir()
	for dir, packages := range map[string][]string{
		"..": {"./recorder/plant"}, "../..": {"./cmd/evenkeel"}, "../../examples": {"./hello", "./search", "./msgpush"},
	} {
		build := exec.Command("go", append([]string{"build", "-o", bin}, packages...)...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			d := &driver{bin: bin, quick: true, rate: 100}
			if err := d.bench(t.Context(), p.name, ""); err != nil {
				t.Fatal(err)
			}
			if len(d.set.Raw) != 1 || len(d.set.Figures) == 0 {
				t.Errorf("%v, %v", d.set.Raw, d.set.Figures)
			}
			for _, f := range d.faults {
				if f.LeftOut == "" && (f.Failed > 0 || f.Requests == 0 || accounted(f.Coverage) != f.Coverage.Slow) {
					t.Errorf("%+v", f)
				}
			}
			if d.whole != nil && d.whole.Slow == 0 || d.stops != nil && d.stops.Stops == 0 {
				t.Errorf("%+v, %+v", d.whole, d.stops)
			}
			for _, c := range d.crowds {
				if len(c.Took) == 0 && c.Parked < within || c.Failed > 0 {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// TestKept: what was measured is kept also where a part ends with an error, and says nothing of modes that were not measured.
func TestKept(t *testing.T) {
	d := &driver{bin: t.TempDir(), rounds: 1, samples: []sample{{Mode: "off"}, {Mode: "full"}}}
	dir := t.TempDir()
	if err := d.bench(t.Context(), "cost", dir); err == nil {
		t.Error("no error without a service")
	}
	if files, err := filepath.Glob(filepath.Join(dir, "recorder-*.json")); err != nil || len(files) != 1 || len(d.set.Figures) > 0 {
		t.Errorf("kept %v, %v: %+v", files, err, d.set.Figures)
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("recorder", "../results/recorder-*.json", judge); err != nil {
		t.Error(err)
	}
}
