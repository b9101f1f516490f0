package otelgate

import (
	"testing"

	"evenkeel.dev/contrib/otel/internal/figure"
	"evenkeel.dev/contrib/otel/internal/oteltest"
	"evenkeel.dev/gcgate"
	"evenkeel.dev/internal/leaks"
	"evenkeel.dev/internal/metricsuite"
)

func TestDocHasAllNames(t *testing.T) { metricsuite.Documented(t, figure.Names(figures)) }

func TestAllFiguresCount(t *testing.T) {
	stats := gcgate.Stats{Turn: gcgate.TurnStats{Turns: 1}}
	sdk := oteltest.New()
	if _, err := register(func() gcgate.Stats { return stats }, sdk.Metrics); err != nil {
		t.Fatal(err)
	}
	metricsuite.EachField(t, &stats, func() metricsuite.Samples { return sdk.Samples(t) })
}

// TestValues tests attributes, units, and what is not known.
func TestValues(t *testing.T) {
	sdk := oteltest.New()
	registration, err := register(metricsuite.GateStats, sdk.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	metricsuite.Values(t, sdk.Samples(t), metricsuite.Samples{
		"evenkeel.gate.policy{evenkeel.gate.policy=drain}":                  1,
		"evenkeel.gate.state{evenkeel.gate.state=draining}":                 1,
		"evenkeel.gate.state{evenkeel.gate.state=serving}":                  0,
		"evenkeel.gate.requests{}":                                          1000,
		"evenkeel.gate.requests.overlapped{evenkeel.gate.collection=gate}":  3,
		"evenkeel.gate.requests.overlapped{evenkeel.gate.collection=other}": 4,
		"evenkeel.gate.collections{evenkeel.gate.reason=idle gap}":          5,
		"evenkeel.gate.collections{evenkeel.gate.reason=hard}":              0,
		"evenkeel.gate.phase.time{evenkeel.gate.state=draining}":            0.03,
		"evenkeel.gate.phase.count{evenkeel.gate.state=draining}":           2,
		"evenkeel.gate.phase.max{evenkeel.gate.state=draining}":             0.02,
		"evenkeel.gate.turn.time{}":                                         1,
		"evenkeel.gate.turn.load{}":                                         0.25,
	}, "evenkeel.gate.memory.limit", "evenkeel.gate.collection.next", "evenkeel.gate.turn.spare",
		"evenkeel.gate.replicas", "evenkeel.gate.collection.expected")
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if n := len(sdk.Points(t)); n != 0 {
		t.Errorf("%d points after Unregister", n)
	}
}

// TestNoGate tests the metrics of a gate that could not start.
func TestNoGate(t *testing.T) {
	sdk := oteltest.New()
	registration, err := Register(nil, sdk.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	if points := sdk.Points(t); len(points) != 0 {
		t.Errorf("points %v", points)
	}
	if err := registration.Unregister(); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { leaks.Main(m) }
