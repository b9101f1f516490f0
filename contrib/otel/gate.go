package otel

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"evenkeel.dev/gcgate"
)

const (
	policyKey     = attribute.Key("evenkeel.gate.policy")
	stateKey      = attribute.Key("evenkeel.gate.state")
	reasonKey     = attribute.Key("evenkeel.gate.reason")
	collectionKey = attribute.Key("evenkeel.gate.collection")
)

type gateStats = gcgate.Stats

// RegisterGate has all figures of [gcgate.Stats] read at each collection of metrics, of Options' MeterProvider. It works on when
// the gate has stopped; Unregister ends it. Where g is nil, as httpgate.Guarded.Gate returns it where the gate could not start, there is
// nothing to read.
func RegisterGate(g *gcgate.Gate, o Options) (metric.Registration, error) {
	if g == nil {
		if _, err := o.withDefaults(); err != nil {
			return nil, err
		}
		return noop.Registration{}, nil
	}
	return registerGate(g.Stats, o)
}

func registerGate(stats func() gcgate.Stats, o Options) (metric.Registration, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return register(o.MeterProvider.Meter(scope), gateFigures, stats)
}

var gateFigures = []figure[gateStats]{
	{"evenkeel.gate.policy", "1", "1 for the policy that the gate has chosen.", gauge, func(s *gateStats, put putFunc) { put(1, policyKey.String(s.Policy.String())) }},
	{"evenkeel.gate.state", "1", "1 for the state that the gate is in.", upDown, func(s *gateStats, put putFunc) {
		for state := gcgate.StateServing; state <= gcgate.StateReadying; state++ {
			put(flag(state == s.State), stateKey.String(state.String()))
		}
	}},
	one("evenkeel.gate.requests", "{request}", "Requests that entered.", counter, func(s *gateStats) float64 { return float64(s.Entered) }),
	one("evenkeel.gate.requests.active", "{request}", "Requests in flight.", upDown, func(s *gateStats) float64 { return float64(s.InFlight) }),
	one("evenkeel.gate.requests.oldest", "s", "How long the oldest request has been in flight, at least.", gauge,
		func(s *gateStats) float64 { return seconds(s.Oldest) }),
	{"evenkeel.gate.requests.overlapped", "{request}", "Requests that met a mark phase.", counter, func(s *gateStats, put putFunc) {
		put(float64(s.Overlapped), collectionKey.String("gate"))
		put(float64(s.OverlappedOther), collectionKey.String("other"))
	}},
	one("evenkeel.gate.requests.stragglers", "{request}", "Requests that entered while the gate was collecting.", counter, func(s *gateStats) float64 { return float64(s.Stragglers) }),
	one("evenkeel.gate.requests.refused", "{request}", "Requests that were refused under PolicyShed.", counter, func(s *gateStats) float64 { return float64(s.Refused) }),
	{"evenkeel.gate.collections", "{collection}", "The gate's own collections.", counter, func(s *gateStats, put putFunc) {
		for reason := gcgate.ReasonHard; reason <= gcgate.ReasonRequested; reason++ {
			put(float64(s.Collections[reason]), reasonKey.String(reason.String()))
		}
	}},
	one("evenkeel.gate.collections.escaped", "{collection}", "Collections that the runtime began by itself.", counter, func(s *gateStats) float64 { return float64(s.Escaped) }),
	one("evenkeel.gate.collections.unheeded", "{collection}", "Collections before or during which requests kept coming although each peer had confirmed the drain.", counter,
		func(s *gateStats) float64 { return float64(s.Unheeded) }),
	one("evenkeel.gate.collections.without_turn", "{collection}", "Collections that did not have the turn.", counter,
		func(s *gateStats) float64 { return float64(s.WithoutTurn) }),
	one("evenkeel.gate.collection.expected", "s", "How long the next collection is expected to take, from its announcement.", gauge, func(s *gateStats) float64 { return seconds(s.Expected) }),
	one("evenkeel.gate.collection.next", "s", "Time until the next collection is expected.", gauge, func(s *gateStats) float64 {
		if s.Next.IsZero() {
			return unknown
		}
		return time.Until(s.Next).Seconds()
	}),
	phases("evenkeel.gate.phase.count", "{phase}", "States that collections that ended went through.", counter, func(d gcgate.Duration) float64 { return float64(d.Count) }),
	phases("evenkeel.gate.phase.time", "s", "Time spent in a state by collections that ended.", counter, func(d gcgate.Duration) float64 { return d.Total.Seconds() }),
	phases("evenkeel.gate.phase.max", "s", "Longest time spent in a state by a collection that ended.", gauge, func(d gcgate.Duration) float64 { return d.Max.Seconds() }),
	one("evenkeel.gate.heap", "By", "Objects of the heap, dead ones included.", upDown, func(s *gateStats) float64 { return float64(s.Heap) }),
	one("evenkeel.gate.heap.live", "By", "Heap after the last collection.", upDown, func(s *gateStats) float64 { return float64(s.Live) }),
	one("evenkeel.gate.heap.trigger", "By", "Heap at which the next collection is due.", upDown, func(s *gateStats) float64 { return float64(s.Trigger) }),
	one("evenkeel.gate.heap.hard", "By", "Heap at which a collection does not wait for a turn.", upDown, func(s *gateStats) float64 { return float64(s.Hard) }),
	one("evenkeel.gate.memory.limit", "By", "Memory limit.", upDown, func(s *gateStats) float64 {
		if s.Limit >= math.MaxInt64 {
			return unknown
		}
		return float64(s.Limit)
	}),
	one("evenkeel.gate.allocated", "By", "Bytes allocated since the process began.", counter, func(s *gateStats) float64 { return float64(s.Allocated) }),
	one("evenkeel.gate.turn.count", "{turn}", "Turns that this replica has held.", counter, func(s *gateStats) float64 { return float64(s.Turn.Held.Count) }),
	one("evenkeel.gate.turn.time", "s", "Time for which this replica has held a turn.", counter, func(s *gateStats) float64 { return s.Turn.Held.Total.Seconds() }),
	one("evenkeel.gate.turn.max", "s", "Longest time for which this replica has held a turn.", gauge, func(s *gateStats) float64 { return seconds(s.Turn.Held.Max) }),
	one("evenkeel.gate.turn.held", "{turn}", "Turns that this replica holds now.", upDown, func(s *gateStats) float64 {
		if s.Turn.Turns == 0 {
			return unknown
		}
		return float64(s.Turn.Holding)
	}),
	one("evenkeel.gate.turn.held_up", "s", "For how long the turn, or this replica's wait for it, is held up.", gauge,
		func(s *gateStats) float64 { return s.Turn.HeldUpFor.Seconds() }),
	one("evenkeel.gate.turn.lost", "{turn}", "Turns that were lost while they were held.", counter, func(s *gateStats) float64 { return float64(s.LostTurns) }),
	one("evenkeel.gate.turn.limit", "{turn}", "How many turns may be held at once.", gauge, func(s *gateStats) float64 { return positive(s.Turn.Turns) }),
	one("evenkeel.gate.turn.load", "1", "Share of the time for which all turns would be held; above 1 they do not suffice.", gauge, func(s *gateStats) float64 { return positive(s.Turn.Load) }),
	one("evenkeel.gate.turn.longest_wait", "s", "How long this replica would wait if all wanted the turn at once.", gauge, func(s *gateStats) float64 { return seconds(s.Turn.LongestWait) }),
	one("evenkeel.gate.turn.spare", "s", "How long the heap takes from the trigger to the hard threshold.", gauge, func(s *gateStats) float64 { return seconds(s.Turn.Spare) }),
	one("evenkeel.gate.replicas", "{replica}", "Replicas that share the turns.", gauge, func(s *gateStats) float64 { return positive(s.Turn.Replicas) }),
	one("evenkeel.gate.advice", "1", "1 while the gate's page has advice.", gauge, func(s *gateStats) float64 { return flag(s.Advice != "") }),
}

// phases is a figure with a point for each state that a collection goes through.
func phases(name, unit, help string, k kind, value func(gcgate.Duration) float64) figure[gateStats] {
	return figure[gateStats]{name, unit, help, k, func(s *gateStats, put putFunc) {
		for state := gcgate.StateWanting; state <= gcgate.StateReadying; state++ {
			put(value(s.Phases[state]), stateKey.String(state.String()))
		}
	}}
}
