//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/bench/figure"
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

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("recorder", "../results/recorder-*.json", judge); err != nil {
		t.Error(err)
	}
}
