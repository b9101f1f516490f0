package promgate

import (
	"testing"

	"evenkeel.dev/contrib/prometheus/internal/promtest"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/metricsuite"
)

func TestDocHasAllNames(t *testing.T) { metricsuite.Documented(t, promtest.Names(New(nil))) }

func TestAllFiguresCount(t *testing.T) {
	stats := gcgate.Stats{Turn: gcgate.TurnStats{Turns: 1}}
	c := newCollector(func() gcgate.Stats { return stats })
	metricsuite.EachField(t, &stats, func() metricsuite.Samples { return promtest.Samples(t, c) })
}

// TestValues tests labels, units, and what is not known.
func TestValues(t *testing.T) {
	metricsuite.Values(t, promtest.Samples(t, newCollector(metricsuite.GateStats)), metricsuite.Samples{
		`evenkeel_gate_policy_info{policy="drain"}`:                   1,
		`evenkeel_gate_state{state="draining"}`:                       1,
		`evenkeel_gate_state{state="serving"}`:                        0,
		`evenkeel_gate_requests_total`:                                1000,
		`evenkeel_gate_overlapped_requests_total{collection="gate"}`:  3,
		`evenkeel_gate_overlapped_requests_total{collection="other"}`: 4,
		`evenkeel_gate_collections_total{reason="idle gap"}`:          5,
		`evenkeel_gate_collections_total{reason="hard"}`:              0,
		`evenkeel_gate_phase_seconds_sum{state="draining"}`:           0.03,
		`evenkeel_gate_phase_seconds_count{state="draining"}`:         2,
		`evenkeel_gate_phase_max_seconds{state="draining"}`:           0.02,
		`evenkeel_gate_turn_held_seconds_sum`:                         1,
		`evenkeel_gate_turn_load_ratio`:                               0.25,
	}, "evenkeel_gate_memory_limit", "evenkeel_gate_next_collection", "evenkeel_gate_turn_spare",
		"evenkeel_gate_replicas", "evenkeel_gate_collection_expected")
}

// TestNoGate tests the collector of a gate that could not start.
func TestNoGate(t *testing.T) {
	if samples := promtest.Samples(t, New(nil)); len(samples) != 0 {
		t.Errorf("samples %v", samples)
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
