package promgate

import (
	"math"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/figure"
	"evenkeel.dev/gcgate"
)

var figures = []figure.Figure[gcgate.Stats]{
	figure.Counter("evenkeel_gate_requests_total", "Requests that entered.",
		func(s *gcgate.Stats) float64 { return float64(s.Entered) }),
	figure.Gauge("evenkeel_gate_requests_in_flight", "Requests in flight.",
		func(s *gcgate.Stats) float64 { return float64(s.InFlight) }),
	figure.Gauge("evenkeel_gate_oldest_request_seconds", "How long the oldest request has been in flight, at least.",
		func(s *gcgate.Stats) float64 { return figure.Seconds(s.Oldest) }),
	figure.Counter("evenkeel_gate_straggler_requests_total", "Requests that entered while the gate was collecting.",
		func(s *gcgate.Stats) float64 { return float64(s.Stragglers) }),
	figure.Counter("evenkeel_gate_refused_requests_total", "Requests that were refused under PolicyShed.",
		func(s *gcgate.Stats) float64 { return float64(s.Refused) }),
	figure.Counter("evenkeel_gate_escaped_collections_total", "Collections that the runtime began by itself.",
		func(s *gcgate.Stats) float64 { return float64(s.Escaped) }),
	figure.Counter("evenkeel_gate_ignored_drains_total",
		"Collections before or during which requests kept coming although each peer had confirmed the drain.",
		func(s *gcgate.Stats) float64 { return float64(s.IgnoredDrains) }),
	figure.Counter("evenkeel_gate_collections_without_turn_total", "Collections that did not have the turn.",
		func(s *gcgate.Stats) float64 { return float64(s.WithoutTurn) }),
	figure.Counter("evenkeel_gate_lost_turns_total", "Turns that were lost while they were held.",
		func(s *gcgate.Stats) float64 { return float64(s.LostTurns) }),
	figure.Gauge("evenkeel_gate_collection_expected_seconds",
		"How long the next collection is expected to take, from its announcement.",
		func(s *gcgate.Stats) float64 { return figure.Seconds(s.Expected) }),
	figure.Gauge("evenkeel_gate_next_collection_timestamp_seconds", "When the next collection is expected.",
		func(s *gcgate.Stats) float64 { return figure.Timestamp(s.Next) }),
	figure.Gauge("evenkeel_gate_heap_bytes", "Objects of the heap, dead ones included.",
		func(s *gcgate.Stats) float64 { return float64(s.Heap) }),
	figure.Gauge("evenkeel_gate_heap_live_bytes", "Heap after the last collection.",
		func(s *gcgate.Stats) float64 { return float64(s.Live) }),
	figure.Gauge("evenkeel_gate_heap_trigger_bytes", "Heap at which the next collection is due.",
		func(s *gcgate.Stats) float64 { return float64(s.Trigger) }),
	figure.Gauge("evenkeel_gate_heap_hard_bytes", "Heap at which a collection does not wait for a turn.",
		func(s *gcgate.Stats) float64 { return float64(s.Hard) }),
	figure.Gauge("evenkeel_gate_memory_limit_bytes", "Memory limit.",
		func(s *gcgate.Stats) float64 {
			if s.Limit >= math.MaxInt64 {
				return figure.Unknown
			}
			return float64(s.Limit)
		}),
	figure.Counter("evenkeel_gate_allocated_bytes_total", "Bytes allocated since the process began.",
		func(s *gcgate.Stats) float64 { return float64(s.Allocated) }),
	figure.Gauge("evenkeel_gate_turns_held", "Turns that this replica holds now.",
		func(s *gcgate.Stats) float64 {
			if s.Turn.Turns == 0 {
				return figure.Unknown
			}
			return float64(s.Turn.Holding)
		}),
	figure.Gauge("evenkeel_gate_turn_held_max_seconds", "Longest time for which this replica has held a turn.",
		func(s *gcgate.Stats) float64 { return figure.Seconds(s.Turn.Held.Max) }),
	figure.Gauge("evenkeel_gate_turn_held_up_seconds",
		"For how long the turn, or this replica's wait for it, is held up.",
		func(s *gcgate.Stats) float64 { return s.Turn.HeldUpFor.Seconds() }),
	figure.Gauge("evenkeel_gate_turns", "How many turns may be held at once.",
		func(s *gcgate.Stats) float64 { return figure.Positive(s.Turn.Turns) }),
	figure.Gauge("evenkeel_gate_replicas", "Replicas that share the turns.",
		func(s *gcgate.Stats) float64 { return figure.Positive(s.Turn.Replicas) }),
	figure.Gauge("evenkeel_gate_turn_load_ratio",
		"Share of the time for which all turns would be held; above 1 they do not suffice.",
		func(s *gcgate.Stats) float64 { return figure.Positive(s.Turn.Load) }),
	figure.Gauge("evenkeel_gate_turn_longest_wait_seconds",
		"How long this replica would wait if all wanted the turn at once.",
		func(s *gcgate.Stats) float64 { return figure.Seconds(s.Turn.LongestWait) }),
	figure.Gauge("evenkeel_gate_turn_spare_seconds", "How long the heap takes from the trigger to the hard threshold.",
		func(s *gcgate.Stats) float64 { return figure.Seconds(s.Turn.Spare) }),
	figure.Gauge("evenkeel_gate_advice", "1 while the gate's page has advice.",
		func(s *gcgate.Stats) float64 { return figure.Flag(s.Advice != "") }),
}

var (
	policyDesc = figure.Describe("evenkeel_gate_policy_info", "1 for the policy that the gate has chosen.",
		"policy")
	stateDesc      = figure.Describe("evenkeel_gate_state", "1 for the state that the gate is in.", "state")
	overlappedDesc = figure.Describe("evenkeel_gate_overlapped_requests_total",
		"Requests that overlapped a collection, the gate's or another one.", "collection")
	collectionsDesc = figure.Describe("evenkeel_gate_collections_total", "The gate's own collections.", "reason")
	phaseDesc       = figure.Describe("evenkeel_gate_phase_seconds",
		"Time spent in a state by collections that ended.", "state")
	phaseMaxDesc = figure.Describe("evenkeel_gate_phase_max_seconds",
		"Longest time spent in a state by a collection that ended.", "state")
	heldDesc = figure.Describe("evenkeel_gate_turn_held_seconds", "Time for which this replica has held a turn.")
)

// New returns a collector of [gcgate.Stats], which each scrape reads once. It works on after the
// gate has stopped. A nil g, as httpgate.Guarded.Gate returns for a gate that could not start, has
// no samples.
func New(g *gcgate.Gate) prom.Collector {
	if g == nil {
		return newCollector(nil)
	}
	return newCollector(g.Stats)
}

func newCollector(stats func() gcgate.Stats) prom.Collector {
	return &figure.Collector[gcgate.Stats]{
		Stats: stats, Figures: figures, Put: put,
		Others: []*prom.Desc{
			policyDesc, stateDesc, overlappedDesc, collectionsDesc, phaseDesc, phaseMaxDesc, heldDesc,
		},
	}
}

func put(s *gcgate.Stats, to chan<- prom.Metric) {
	gauge := func(desc *prom.Desc, value float64, label string) {
		to <- prom.MustNewConstMetric(desc, prom.GaugeValue, value, label)
	}
	counter := func(desc *prom.Desc, n uint64, label string) {
		to <- prom.MustNewConstMetric(desc, prom.CounterValue, float64(n), label)
	}
	gauge(policyDesc, 1, s.Policy.String())
	for state := gcgate.StateServing; state <= gcgate.StateReadying; state++ {
		gauge(stateDesc, figure.Flag(state == s.State), state.String())
	}
	counter(overlappedDesc, s.Overlapped, "gate")
	counter(overlappedDesc, s.OverlappedOther, "other")
	for reason := gcgate.ReasonHard; reason <= gcgate.ReasonRequested; reason++ {
		counter(collectionsDesc, s.Collections[reason], reason.String())
	}
	for state := gcgate.StateWanting; state <= gcgate.StateReadying; state++ {
		p := s.Phases[state]
		to <- prom.MustNewConstSummary(phaseDesc, p.Count, p.Total.Seconds(), nil, state.String())
		gauge(phaseMaxDesc, p.Max.Seconds(), state.String())
	}
	if s.Turn.Turns > 0 {
		to <- prom.MustNewConstSummary(heldDesc, s.Turn.Held.Count, s.Turn.Held.Total.Seconds(), nil)
	}
}
