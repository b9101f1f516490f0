package prometheus

import (
	"math"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/gcgate"
)

type gateStats = gcgate.Stats

var gateFigures = []figure[gateStats]{
	counter("evenkeel_gate_requests_total", "Requests that entered.", func(s *gateStats) float64 { return float64(s.Entered) }),
	gauge("evenkeel_gate_requests_in_flight", "Requests in flight.", func(s *gateStats) float64 { return float64(s.InFlight) }),
	gauge("evenkeel_gate_oldest_request_seconds", "How long the oldest request has been in flight, at least.",
		func(s *gateStats) float64 { return seconds(s.Oldest) }),
	counter("evenkeel_gate_straggler_requests_total", "Requests that entered while the gate was collecting.", func(s *gateStats) float64 { return float64(s.Stragglers) }),
	counter("evenkeel_gate_refused_requests_total", "Requests that were refused under PolicyShed.", func(s *gateStats) float64 { return float64(s.Refused) }),
	counter("evenkeel_gate_escaped_collections_total", "Collections that the runtime began by itself.", func(s *gateStats) float64 { return float64(s.Escaped) }),
	counter("evenkeel_gate_unheeded_collections_total", "Collections before or during which requests kept coming although each peer had confirmed the drain.",
		func(s *gateStats) float64 { return float64(s.Unheeded) }),
	counter("evenkeel_gate_collections_without_turn_total", "Collections that did not have the turn.", func(s *gateStats) float64 { return float64(s.WithoutTurn) }),
	counter("evenkeel_gate_lost_turns_total", "Turns that were lost while they were held.", func(s *gateStats) float64 { return float64(s.LostTurns) }),
	gauge("evenkeel_gate_collection_expected_seconds", "How long the next collection is expected to take, from its announcement.", func(s *gateStats) float64 { return seconds(s.Expected) }),
	gauge("evenkeel_gate_next_collection_timestamp_seconds", "When the next collection is expected.", func(s *gateStats) float64 { return timestamp(s.Next) }),
	gauge("evenkeel_gate_heap_bytes", "Objects of the heap, dead ones included.", func(s *gateStats) float64 { return float64(s.Heap) }),
	gauge("evenkeel_gate_heap_live_bytes", "Heap after the last collection.", func(s *gateStats) float64 { return float64(s.Live) }),
	gauge("evenkeel_gate_heap_trigger_bytes", "Heap at which the next collection is due.", func(s *gateStats) float64 { return float64(s.Trigger) }),
	gauge("evenkeel_gate_heap_hard_bytes", "Heap at which a collection does not wait for a turn.", func(s *gateStats) float64 { return float64(s.Hard) }),
	gauge("evenkeel_gate_memory_limit_bytes", "Memory limit.", func(s *gateStats) float64 {
		if s.Limit >= math.MaxInt64 {
			return unknown
		}
		return float64(s.Limit)
	}),
	counter("evenkeel_gate_allocated_bytes_total", "Bytes allocated since the process began.", func(s *gateStats) float64 { return float64(s.Allocated) }),
	gauge("evenkeel_gate_turns_held", "Turns that this replica holds now.", func(s *gateStats) float64 {
		if s.Turn.Turns == 0 {
			return unknown
		}
		return float64(s.Turn.Holding)
	}),
	gauge("evenkeel_gate_turn_held_max_seconds", "Longest time for which this replica has held a turn.", func(s *gateStats) float64 { return seconds(s.Turn.Held.Max) }),
	gauge("evenkeel_gate_turn_held_up_seconds", "For how long the turn, or this replica's wait for it, is held up.",
		func(s *gateStats) float64 { return s.Turn.HeldUpFor.Seconds() }),
	gauge("evenkeel_gate_turns", "How many turns may be held at once.", func(s *gateStats) float64 { return positive(s.Turn.Turns) }),
	gauge("evenkeel_gate_replicas", "Replicas that share the turns.", func(s *gateStats) float64 { return positive(s.Turn.Replicas) }),
	gauge("evenkeel_gate_turn_load_ratio", "Share of the time for which all turns would be held; above 1 they do not suffice.", func(s *gateStats) float64 { return positive(s.Turn.Load) }),
	gauge("evenkeel_gate_turn_longest_wait_seconds", "How long this replica would wait if all wanted the turn at once.", func(s *gateStats) float64 { return seconds(s.Turn.LongestWait) }),
	gauge("evenkeel_gate_turn_spare_seconds", "How long the heap takes from the trigger to the hard threshold.", func(s *gateStats) float64 { return seconds(s.Turn.Spare) }),
	gauge("evenkeel_gate_advice", "1 while the gate's page has advice.", func(s *gateStats) float64 { return flag(s.Advice != "") }),
}

// Those with labels, and the summaries.
var (
	policyDesc      = describe("evenkeel_gate_policy_info", "1 for the policy that the gate has chosen.", "policy")
	stateDesc       = describe("evenkeel_gate_state", "1 for the state that the gate is in.", "state")
	overlappedDesc  = describe("evenkeel_gate_overlapped_requests_total", "Requests that met a mark phase, of the gate's collections or of other ones.", "collection")
	collectionsDesc = describe("evenkeel_gate_collections_total", "The gate's own collections.", "reason")
	phaseDesc       = describe("evenkeel_gate_phase_seconds", "Time spent in a state by collections that ended.", "state")
	phaseMaxDesc    = describe("evenkeel_gate_phase_max_seconds", "Longest time spent in a state by a collection that ended.", "state")
	heldDesc        = describe("evenkeel_gate_turn_held_seconds", "Time for which this replica has held a turn.")
)

// gateCollector is the collector of a gate. It has no state of its own.
type gateCollector struct {
	stats func() gcgate.Stats // nil: there is no gate
}

// NewGate returns a collector of all figures of [gcgate.Stats], which each scrape reads once. It works on when the gate has
// stopped. The figures of a process's one gate need no label: register it once, or under prometheus.WrapRegistererWith.
// Where g is nil, as httpgate.Guarded.Gate returns it where the gate could not start, the collector has no samples.
func NewGate(g *gcgate.Gate) prom.Collector {
	if g == nil {
		return gateCollector{}
	}
	return gateCollector{g.Stats}
}

// Describe is of prometheus.Collector.
func (c gateCollector) Describe(to chan<- *prom.Desc) {
	describeAll(gateFigures, to)
	for _, d := range []*prom.Desc{policyDesc, stateDesc, overlappedDesc, collectionsDesc, phaseDesc, phaseMaxDesc, heldDesc} {
		to <- d
	}
}

// Collect is of prometheus.Collector.
func (c gateCollector) Collect(to chan<- prom.Metric) {
	if c.stats == nil {
		return
	}
	s := c.stats()
	collect(gateFigures, &s, to)
	to <- prom.MustNewConstMetric(policyDesc, prom.GaugeValue, 1, s.Policy.String())
	for state := gcgate.StateServing; state <= gcgate.StateReadying; state++ {
		to <- prom.MustNewConstMetric(stateDesc, prom.GaugeValue, flag(state == s.State), state.String())
	}
	to <- prom.MustNewConstMetric(overlappedDesc, prom.CounterValue, float64(s.Overlapped), "gate")
	to <- prom.MustNewConstMetric(overlappedDesc, prom.CounterValue, float64(s.OverlappedOther), "other")
	for reason := gcgate.ReasonHard; reason <= gcgate.ReasonRequested; reason++ {
		to <- prom.MustNewConstMetric(collectionsDesc, prom.CounterValue, float64(s.Collections[reason]), reason.String())
	}
	for state := gcgate.StateWanting; state <= gcgate.StateReadying; state++ {
		p := s.Phases[state]
		to <- prom.MustNewConstSummary(phaseDesc, p.Count, p.Total.Seconds(), nil, state.String())
		to <- prom.MustNewConstMetric(phaseMaxDesc, prom.GaugeValue, p.Max.Seconds(), state.String())
	}
	if s.Turn.Turns > 0 {
		to <- prom.MustNewConstSummary(heldDesc, s.Turn.Held.Count, s.Turn.Held.Total.Seconds(), nil)
	}
}
