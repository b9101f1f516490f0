package gcgate

import "math"

// thresholds are heap sizes in bytes at which something happens.
type thresholds struct {
	live    uint64 // after the last collection
	idle    uint64 // collect in a gap
	trigger uint64 // collect when the turn comes
	hard    uint64 // collect at once
	net     uint64 // the runtime's own limit, above them: it collects where the gate failed to
	crowded bool   // the limit leaves the gate no room: the runtime must stay in charge
}

const (
	// heapShare is the part of the limit that the thresholds may use.
	triggerShare, hardShare = 0.8, 0.9

	// room is the least trigger in multiples of live. Below it the gate would collect all the
	// time.
	room = 1.25

	// netRatio and netBytes keep the runtime's limit clear of the hard threshold: it counts
	// fragmentation, and what is allocated while the gate announces and drains.
	netRatio, netBytes = 1.25, 64 << 20

	idleBytes = 8 << 20 // less than that is not worth a collection in a gap
)

// thresholdsFor returns the thresholds for a live heap. overhead is what the limit counts
// beside the heap; jitter is in [0, Options.Jitter].
func thresholdsFor(o *Options, live, overhead uint64, limit int64, jitter float64) thresholds {
	t := thresholds{live: live}
	budget := float64(limit)
	if limit != math.MaxInt64 {
		budget = max(0, budget-float64(overhead))
	}
	grow := func(ratio float64) float64 {
		return max(ratio*float64(live), ratio/o.TriggerRatio*float64(o.MinTriggerBytes))
	}
	trigger := min(grow(o.TriggerRatio), triggerShare*budget)
	hard := min(grow(o.HardRatio), hardShare*budget)
	t.crowded = trigger < room*float64(live)
	t.hard = uint64(hard)
	t.trigger = uint64(max(trigger-jitter*(trigger-float64(live)), room*float64(live)))
	t.idle = min(uint64(max(o.IdleRatio*float64(live), float64(live)+idleBytes)), t.trigger)
	t.net = uint64(min(float64(limit), netRatio*hard+netBytes+float64(overhead)))
	return t
}

// limitFor is the memory limit in bytes that gives a live heap all the room that it can use.
func limitFor(o *Options, live, overhead uint64) uint64 {
	return uint64(max(o.TriggerRatio/triggerShare, o.HardRatio/hardShare)*float64(live)) + overhead
}
