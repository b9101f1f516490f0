package promgate

import (
	"math"

	prom "github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/contrib/prometheus/internal/figure"
	"evenkeel.dev/gcgate"
)

var figures = []figure.Figure{
	figure.Counter("evenkeel_gate_requests_total", "Entered", "Requests that entered."),
	figure.Gauge("evenkeel_gate_requests_in_flight", "InFlight", "Requests in flight."),
	figure.Counter("evenkeel_gate_straggler_requests_total", "Stragglers",
		"Requests that entered while the gate was collecting."),
	figure.Counter("evenkeel_gate_refused_requests_total", "Refused", "Requests that were refused under PolicyShed."),
	figure.Counter("evenkeel_gate_escaped_collections_total", "Escaped",
		"Collections that the runtime began by itself."),
	figure.Counter("evenkeel_gate_ignored_drains_total", "IgnoredDrains",
		"Collections before or during which requests kept coming although each peer had confirmed the drain."),
	figure.Counter("evenkeel_gate_collections_without_turn_total", "WithoutTurn",
		"Collections that did not have the turn."),
	figure.Counter("evenkeel_gate_lost_turns_total", "LostTurns", "Turns that were lost while they were held."),
	figure.Positive("evenkeel_gate_collection_expected_seconds", "Expected",
		"How long the next collection is expected to take, from its announcement."),
	figure.Positive("evenkeel_gate_next_collection_timestamp_seconds", "Next", "When the next collection is expected."),
	figure.Gauge("evenkeel_gate_heap_bytes", "Heap", "Objects of the heap, dead ones included."),
	figure.Gauge("evenkeel_gate_heap_live_bytes", "Live", "Heap after the last collection."),
	figure.Gauge("evenkeel_gate_heap_trigger_bytes", "Trigger", "Heap at which the next collection is due."),
	figure.Gauge("evenkeel_gate_heap_hard_bytes", "Hard", "Heap at which a collection does not wait for a turn."),
	figure.Counter("evenkeel_gate_allocated_bytes_total", "Allocated", "Bytes allocated since the process began."),
	figure.Positive("evenkeel_gate_turn_held_max_seconds", "Turn.Held.Max",
		"Longest time for which this replica has held a turn."),
	figure.Gauge("evenkeel_gate_turn_held_up_seconds", "Turn.HeldUpFor",
		"For how long the turn, or this replica's wait for it, is held up."),
	figure.Positive("evenkeel_gate_turns", "Turn.Turns", "How many turns may be held at once."),
	figure.Positive("evenkeel_gate_replicas", "Turn.Replicas", "Replicas that share the turns."),
	figure.Positive("evenkeel_gate_turn_load_ratio", "Turn.Load",
		"Share of the time for which all turns would be held; above 1 they do not suffice."),
	figure.Positive("evenkeel_gate_turn_longest_wait_seconds", "Turn.LongestWait",
		"How long this replica would wait if all wanted the turn at once."),
	figure.Positive("evenkeel_gate_turn_spare_seconds", "Turn.Spare",
		"How long the heap takes from the trigger to the hard threshold."),
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
	limitDesc   = figure.Describe("evenkeel_gate_memory_limit_bytes", "Memory limit.")
	holdingDesc = figure.Describe("evenkeel_gate_turns_held", "Turns that this replica holds now.")
	heldDesc    = figure.Describe("evenkeel_gate_turn_held_seconds", "Time for which this replica has held a turn.")
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
			policyDesc, stateDesc, overlappedDesc, collectionsDesc, phaseDesc, phaseMaxDesc,
			limitDesc, holdingDesc, heldDesc,
		},
	}
}

func put(s *gcgate.Stats, to chan<- prom.Metric) {
	gauge := func(desc *prom.Desc, value float64, labels ...string) {
		to <- prom.MustNewConstMetric(desc, prom.GaugeValue, value, labels...)
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
	if s.Limit < math.MaxInt64 {
		gauge(limitDesc, float64(s.Limit))
	}
	if s.Turn.Turns > 0 {
		gauge(holdingDesc, float64(s.Turn.Holding))
		to <- prom.MustNewConstSummary(heldDesc, s.Turn.Held.Count, s.Turn.Held.Total.Seconds(), nil)
	}
}
