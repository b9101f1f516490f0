package gcgate

import (
	"math"
	"time"
)

const (
	limitTries = 3

	memoryEvery = 10 * time.Second
)

// settle derives all thresholds and limits from a live heap. It returns false if the program set
// the memory limit during the call. Then call it again.
func (h *heapWatch) settle(live uint64) bool {
	limit, changed := h.pacing.programLimit()
	if changed && h.safetyLimit != 0 {
		h.safetyLimit = limit
	}
	if lower := h.options.lowerLimit(limit); lower != h.requested {
		h.log.Info("gcgate: the program has set another memory limit (debug.SetMemoryLimit), which holds from now on",
			limitAttr("limit", limit), limitAttr("before", h.requested))
		h.requested, h.memoryRead = lower, time.Time{}
	}
	if h.memoryRead.IsZero() || h.collected.Sub(h.memoryRead) >= memoryEvery {
		h.memoryRead = h.collected
		m := memoryOf(h.collector)
		was := h.allowed.limit
		h.allowed = allow(h.options, h.requested, m)
		if more := h.allowed.limit - was; more > 0 && more <= was/limitStep && h.allowed.limit != h.requested {
			h.allowed.limit = was
		}
	}
	overhead := h.collector.Overhead()
	h.thresholds = thresholdsFor(h.options, h.allowed, live, overhead)
	h.thresholds.needRoom(h.leastRatio())
	h.growth.noteRoom(h.thresholds.noRoom, live)
	if h.thresholds.noRoom && h.drains() && h.givesUpGroup() {
		h.thresholds.useWholeLimit(h.allowed.heap(overhead), h.requested)
	}
	h.follow()
	h.warnTurns()
	h.used = live
	return h.takeCharge(overhead)
}

// leastRatio is the lowest trigger in multiples of the live heap. If a growing heap is not drained,
// the gate must not collect sooner than the runtime would.
func (h *heapWatch) leastRatio() float64 {
	switch drains := h.drains(); {
	case drains && !h.growth.known():
		return firstRatio
	case !drains && h.growth.grows():
		return min(1+float64(h.pacing.stock())/100, h.options.TriggerRatio)
	}
	return minTriggerRatio
}

func (h *heapWatch) drains() bool { return h.policy.announces() && !h.undrained }

// givesUpGroup reports whether to ignore the control group's limit. While the live heap grows, the
// runtime would collect without end below it.
func (h *heapWatch) givesUpGroup() bool { return h.growth.grows() && h.allowed.limit < h.requested }

func (h *heapWatch) limitWithoutRoom(overhead uint64) (limit int64) {
	live := h.thresholds.live
	figures := []any{
		"limit", h.allowed.limit, "from", h.allowed.from, "live", live, "enough", limitFor(h.options, live, overhead),
	}
	if h.givesUpGroup() {
		h.warnings.lasting("grows", warnEvery,
			"gcgate: the live heap grows towards the memory limit; the runtime's own pacing (GOGC) is in charge",
			append(figures, "fix", "look for a leak in a heap profile, or raise the limit to enough")...)
		return h.requested
	}
	h.warnings.lasting("no room", warnEvery,
		"gcgate: the memory limit leaves no room above the live heap; the runtime stays in charge", figures...)
	return h.allowed.runtimeLimit(live, overhead)
}

// takeCharge switches the runtime's pacing off, or on if there is no room. It returns false if the
// program set the memory limit during the call.
func (h *heapWatch) takeCharge(overhead uint64) bool {
	limit := int64(h.thresholds.safetyLimit)
	switch {
	case h.policy == PolicyMemory:
		limit = h.spendMemory(overhead)
	case h.thresholds.noRoom:
		limit = h.limitWithoutRoom(overhead)
	default:
		h.warnings.over("gcgate: the memory limit leaves room again; the gate is in charge", "no room", "grows")
	}
	if limit < h.allowed.limit { // otherwise requests would return the difference at once
		mapped := int64(min(h.collector.Mapped(), 1<<62))
		limit = min(max(limit, mapped), h.allowed.limit)
		h.thresholds.safetyLimit = uint64(limit)
	}
	if !h.setLimit(limit) {
		return false
	}
	want := h.policy.takesCharge() && !h.thresholds.noRoom
	if want == h.inCharge {
		return true
	}
	h.inCharge, h.noCycleYet = want, want
	if want {
		h.pacing.switchOff()
	} else {
		h.pacing.giveBack()
	}
	return true
}

// setLimit skips small changes, because each stops the world. It returns false if the program set
// another limit during the call.
func (h *heapWatch) setLimit(limit int64) bool {
	was := h.safetyLimit
	exact := (limit == h.allowed.limit || limit == h.allowed.whole) && limit != was
	if !exact && max(limit, was)-min(limit, was) <= was/limitStep {
		return true
	}
	h.safetyLimit = limit
	return !h.pacing.setLimit(limit)
}

const (
	growthCycles = 4
	growthShare  = 1. / 20 // of the allocation must be live
	growthLeast  = 1. / 64 // of the live heap
	growthSlow   = 1. / 8  // of the live heap at noRoomAt: a slow leak

	// firstRatio replaces minTriggerRatio until growth is known. A drained collection overlaps no
	// request.
	firstRatio = 1.05
)

// growth watches the live heap from cycle to cycle.
type growth struct {
	seen     []reading
	noRoomAt uint64 // 0: it has room
}

func (g *growth) see(r reading) {
	g.seen = append(g.seen, r)
	g.seen = g.seen[max(len(g.seen)-growthCycles, 0):]
}

func (g *growth) known() bool { return len(g.seen) > 1 }

func (g *growth) grows() bool {
	if !g.known() {
		return false
	}
	first, last := g.seen[0], g.seen[len(g.seen)-1]
	if g.noRoomAt > 0 && float64(last.live) >= (1+growthSlow)*float64(g.noRoomAt) {
		return true
	}
	more := float64(last.live) - float64(first.live)
	return more >= growthShare*float64(last.allocated-first.allocated) && more >= growthLeast*float64(last.live)
}

func (g *growth) noteRoom(noRoom bool, live uint64) {
	switch {
	case !noRoom:
		g.noRoomAt = 0
	case g.noRoomAt == 0:
		g.noRoomAt = live
	}
}

const (
	// At the limit itself requests would assist without end.
	spendShare = 0.7

	spendRatio   = 5   // times the live heap, as under GOGC=400
	spendPercent = 125 // less is not worth stopping the world
	spendFirst   = 150 // to begin, higher so that the choice does not flip

	// The runtime's least goal at GOGC=100 grows with GOGC (runtime/mgcpacer.go).
	heapMinimum = 4 << 20
)

// memoryGoal returns the goal in bytes and its GOGC, or 0 and 0 if there is no memory to spend.
func memoryGoal(o *Options, a allowance, live, roots, overhead uint64, rate float64) (goal uint64, percent int) {
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

// Why PolicyMemory leaves the runtime's goal as it is.
const (
	growthUnknown = "too few collections have ended"
	liveGrows     = "the live heap grows, so a later collection would mark more"
	littleMemory  = "the memory limit leaves too little"
	highGOGC      = "GOGC is as high already"
)

func (h *heapWatch) spendMemory(overhead uint64) (limit int64) {
	goal, percent := memoryGoal(h.options, h.allowed, h.thresholds.live, h.collector.Roots(), overhead, h.pace)
	least := spendFirst
	if h.unspent == "" {
		least = spendPercent
	}
	switch {
	case !h.growth.known():
		h.unspent = growthUnknown
	case h.growth.grows():
		h.unspent = liveGrows
	case percent < least:
		h.unspent = littleMemory
	case h.pacing.stock() >= percent:
		h.unspent = highGOGC
	default:
		h.unspent = ""
	}
	h.logSpending(goal)
	if h.unspent != "" {
		h.pacing.giveBack()
		return h.requested
	}
	h.jitter = 0
	t := &h.thresholds
	t.lowest, t.highest, t.highestIdle, t.hard = float64(goal), float64(goal), goal, goal
	t.follow(0, 0)
	h.pacing.raise(percent)
	return int64(min(float64(h.allowed.limit), safetyRatio*float64(goal)+safetyBytes+float64(overhead), 1<<62))
}

// logSpending logs the first choice, and another one at most once a minute.
func (h *heapWatch) logSpending(goal uint64) {
	chosen := &h.spendingLogged
	if h.unspent == growthUnknown || !chosen.at.IsZero() &&
		(h.unspent == chosen.unspent || h.collected.Sub(chosen.at) < warnEvery) {
		return
	}
	chosen.at, chosen.unspent = h.collected, h.unspent
	limits := []any{"live", h.thresholds.live, limitAttr("limit", h.allowed.limit), "limit_from", h.allowed.from}
	if h.unspent == "" {
		h.log.Info("gcgate: spending memory on fewer collections", append(limits, "goal", goal)...)
	} else {
		h.log.Info("gcgate: the runtime collects as it does without a gate", append(limits, "why", h.unspent)...)
	}
}
