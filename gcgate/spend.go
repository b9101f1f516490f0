package gcgate

import "math"

const (
	// spendShare of what the limit leaves to the heap is the highest goal. At the limit itself
	// requests would assist without end.
	spendShare = 0.7

	// spendRatio is the goal in multiples of the live heap, as under GOGC=400. More memory is
	// hardly worth it.
	spendRatio = 5

	// spendPercent is the least GOGC that is worth the two stops of the world to set it.
	spendPercent = 125

	// autoPercent is that for PolicyAuto to choose it, so that a live heap that varies a little
	// does not change the choice.
	autoPercent = 150

	// heapMinimum is the runtime's least goal at GOGC=100, in bytes (runtime/mgcpacer.go). It grows
	// with GOGC.
	heapMinimum = 4 << 20
)

// spend returns the goal for a live heap in bytes, and the GOGC that leads to it, 0 if there is no
// memory to spend.
func spend(o *Options, a allowance, live, roots, overhead uint64, rate float64) (goal uint64, percent int) {
	most := spendShare * a.heap(overhead)
	if a.limit == math.MaxInt64 || o.MaxTriggerBytes > 0 {
		own, _ := a.highestTrigger(o, overhead)
		most = min(most, own)
	}
	want := max(spendRatio*float64(live), float64(live)+rate*fillTime.Seconds(), float64(o.MinTriggerBytes))
	want = min(want, most)
	p := 100 * (want - float64(live)) / float64(live+roots)
	if small := 100 * want / heapMinimum; small < p {
		p = small
	}
	if !(p >= spendPercent) {
		return 0, 0
	}
	return uint64(want), int(min(p, math.MaxInt32))
}

// spendMemory raises the runtime's goal as far as memory allows. It returns a safety limit above
// the goal.
func (h *heapWatch) spendMemory(overhead uint64) (limit int64) {
	goal, percent := spend(h.options, h.allowed, h.thresholds.live, h.collector.Roots(), overhead, h.pace)
	if base := h.pacing.stock(); percent == 0 || base >= percent {
		h.roomy = false
		h.pacing.giveBack()
		return h.requested
	}
	h.roomy, h.jitter = true, 0
	t := &h.thresholds
	t.lowest, t.highest, t.highestIdle, t.hard = float64(goal), float64(goal), goal, goal
	t.follow(0, 0)
	h.pacing.raise(percent)
	return int64(min(float64(h.allowed.limit), safetyRatio*float64(goal)+safetyBytes+float64(overhead), 1<<62))
}
