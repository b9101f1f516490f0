package otelgate

import (
	"cmp"
	"math"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"evenkeel.dev/contrib/otel/internal/figure"
	"evenkeel.dev/gcgate"
)

const scope = "evenkeel.dev/contrib/otel/otelgate"

const (
	policyKey     = attribute.Key("evenkeel.gate.policy")
	stateKey      = attribute.Key("evenkeel.gate.state")
	reasonKey     = attribute.Key("evenkeel.gate.reason")
	collectionKey = attribute.Key("evenkeel.gate.collection")
)

// Register has each collection of metrics by provider read [gcgate.Stats]. A nil provider means the
// global one. The metrics work on after the gate has stopped, until Unregister. A nil g, as
// httpgate.Guarded.Gate returns for a gate that could not start, has no metrics.
func Register(g *gcgate.Gate, provider metric.MeterProvider) (metric.Registration, error) {
	if g == nil {
		return noop.Registration{}, nil
	}
	return register(g.Stats, provider)
}

func register(stats func() gcgate.Stats, provider metric.MeterProvider) (metric.Registration, error) {
	provider = cmp.Or(provider, otel.GetMeterProvider())
	return figure.Register(provider.Meter(scope), figures, stats)
}

var figures = []figure.Figure[gcgate.Stats]{
	figure.Many("evenkeel.gate.policy", "1", "1 for the policy that the gate has chosen.",
		figure.Gauge, func(s *gcgate.Stats, put figure.PutFunc) { put(1, policyKey.String(s.Policy.String())) }),
	figure.Many("evenkeel.gate.state", "1", "1 for the state that the gate is in.",
		figure.UpDown, func(s *gcgate.Stats, put figure.PutFunc) {
			for state := gcgate.StateServing; state <= gcgate.StateReadying; state++ {
				put(figure.Flag(state == s.State), stateKey.String(state.String()))
			}
		}),
	figure.One("evenkeel.gate.requests", "{request}", "Requests that entered.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.Entered) }),
	figure.One("evenkeel.gate.requests.active", "{request}", "Requests in flight.",
		figure.UpDown, func(s *gcgate.Stats) float64 { return float64(s.InFlight) }),
	figure.Many("evenkeel.gate.requests.overlapped", "{request}",
		"Requests that overlapped a collection, the gate's or another one.",
		figure.Counter, func(s *gcgate.Stats, put figure.PutFunc) {
			put(float64(s.Overlapped), collectionKey.String("gate"))
			put(float64(s.OverlappedOther), collectionKey.String("other"))
		}),
	figure.One("evenkeel.gate.requests.stragglers", "{request}", "Requests that entered while the gate was collecting.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.Stragglers) }),
	figure.One("evenkeel.gate.requests.refused", "{request}", "Requests that were refused under PolicyShed.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.Refused) }),
	figure.Many("evenkeel.gate.collections", "{collection}", "The gate's own collections.",
		figure.Counter, func(s *gcgate.Stats, put figure.PutFunc) {
			for reason := gcgate.ReasonHard; reason <= gcgate.ReasonRequested; reason++ {
				put(float64(s.Collections[reason]), reasonKey.String(reason.String()))
			}
		}),
	figure.One("evenkeel.gate.collections.escaped", "{collection}", "Collections that the runtime began by itself.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.Escaped) }),
	figure.One("evenkeel.gate.drains.ignored", "{collection}",
		"Collections with requests that kept coming although each peer had confirmed the drain.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.IgnoredDrains) }),
	figure.One("evenkeel.gate.collections.without_turn", "{collection}", "Collections that did not have the turn.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.WithoutTurn) }),
	figure.One("evenkeel.gate.collection.expected", "s",
		"How long the next collection is expected to take, from its announcement.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Seconds(s.Expected) }),
	figure.One("evenkeel.gate.collection.next", "s", "Time until the next collection is expected.",
		figure.Gauge, func(s *gcgate.Stats) float64 {
			if s.Next.IsZero() {
				return figure.Unknown
			}
			return time.Until(s.Next).Seconds()
		}),
	phases("evenkeel.gate.phase.count", "{phase}", "States that collections that ended went through.",
		figure.Counter, func(d gcgate.Duration) float64 { return float64(d.Count) }),
	phases("evenkeel.gate.phase.time", "s", "Time spent in a state by collections that ended.",
		figure.Counter, func(d gcgate.Duration) float64 { return d.Total.Seconds() }),
	phases("evenkeel.gate.phase.max", "s", "Longest time spent in a state by a collection that ended.",
		figure.Gauge, func(d gcgate.Duration) float64 { return d.Max.Seconds() }),
	figure.One("evenkeel.gate.heap", "By", "Objects of the heap, dead ones included.",
		figure.UpDown, func(s *gcgate.Stats) float64 { return float64(s.Heap) }),
	figure.One("evenkeel.gate.heap.live", "By", "Heap after the last collection.",
		figure.UpDown, func(s *gcgate.Stats) float64 { return float64(s.Live) }),
	figure.One("evenkeel.gate.heap.trigger", "By", "Heap at which the next collection is due.",
		figure.UpDown, func(s *gcgate.Stats) float64 { return float64(s.Trigger) }),
	figure.One("evenkeel.gate.heap.hard", "By", "Heap at which a collection does not wait for a turn.",
		figure.UpDown, func(s *gcgate.Stats) float64 { return float64(s.Hard) }),
	figure.One("evenkeel.gate.memory.limit", "By", "Memory limit.",
		figure.UpDown, func(s *gcgate.Stats) float64 {
			if s.Limit >= math.MaxInt64 {
				return figure.Unknown
			}
			return float64(s.Limit)
		}),
	figure.One("evenkeel.gate.allocated", "By", "Bytes allocated since the process began.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.Allocated) }),
	figure.One("evenkeel.gate.turn.count", "{turn}", "Turns that this replica has held.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.Turn.Held.Count) }),
	figure.One("evenkeel.gate.turn.time", "s", "Time for which this replica has held a turn.",
		figure.Counter, func(s *gcgate.Stats) float64 { return s.Turn.Held.Total.Seconds() }),
	figure.One("evenkeel.gate.turn.max", "s", "Longest time for which this replica has held a turn.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Seconds(s.Turn.Held.Max) }),
	figure.One("evenkeel.gate.turn.held", "{turn}", "Turns that this replica holds now.",
		figure.UpDown, func(s *gcgate.Stats) float64 {
			if s.Turn.Turns == 0 {
				return figure.Unknown
			}
			return float64(s.Turn.Holding)
		}),
	figure.One("evenkeel.gate.turn.held_up", "s", "For how long the turn, or this replica's wait for it, is held up.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return s.Turn.HeldUpFor.Seconds() }),
	figure.One("evenkeel.gate.turn.lost", "{turn}", "Turns that were lost while they were held.",
		figure.Counter, func(s *gcgate.Stats) float64 { return float64(s.LostTurns) }),
	figure.One("evenkeel.gate.turn.limit", "{turn}", "How many turns may be held at once.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Positive(s.Turn.Turns) }),
	figure.One("evenkeel.gate.turn.load", "1",
		"Share of the time for which all turns would be held; above 1 they do not suffice.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Positive(s.Turn.Load) }),
	figure.One("evenkeel.gate.turn.longest_wait", "s",
		"How long this replica would wait if all wanted the turn at once.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Seconds(s.Turn.LongestWait) }),
	figure.One("evenkeel.gate.turn.spare", "s", "How long the heap takes from the trigger to the hard threshold.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Seconds(s.Turn.Spare) }),
	figure.One("evenkeel.gate.replicas", "{replica}", "Replicas that share the turns.",
		figure.Gauge, func(s *gcgate.Stats) float64 { return figure.Positive(s.Turn.Replicas) }),
}

// phases returns a figure with a point for each state that a collection goes through.
func phases(name, unit, help string, k figure.Kind, value func(gcgate.Duration) float64) figure.Figure[gcgate.Stats] {
	return figure.Many(name, unit, help, k, func(s *gcgate.Stats, put figure.PutFunc) {
		for state := gcgate.StateWanting; state <= gcgate.StateReadying; state++ {
			put(value(s.Phases[state]), stateKey.String(state.String()))
		}
	})
}
