package gcgate

import (
	"math"
	"time"

	"evenkeel.dev/gcgate/capacity"
)

// thresholds are heap sizes in bytes:
//
//	live     idle     trigger     hard   hardWithoutTurn   safetyLimit
//	  |-------|----------|----------|---------|-----------------|
//	       collect    collect    collect   collect           the runtime
//	       in a gap   in turn    at once   undrained         collects
//
// Only the trigger and the idle threshold move between two collections. A safety limit that moves
// stops the world. A hard threshold that falls would collect without the turn.
type thresholds struct {
	live    uint64
	idle    uint64
	trigger uint64
	hard    uint64

	hardWithoutTurn uint64 // half-way from hard to the runtime's own start
	safetyLimit     uint64 // in case that the gate fails to collect
	noRoom          bool

	lowest, highest float64 // bounds of the trigger before its jitter
	least           float64 // bound with it
	highestIdle     uint64  // the idle threshold if the trigger is higher
}

const (
	// The highest thresholds on the way from the live heap to where the runtime may begin a cycle.
	triggerShare, hardShare = 0.75, 0.9

	// The safety limit counts fragmentation, and the heap grows during a drain.
	safetyRatio, safetyBytes = 1.25, 64 << 20

	// Setting a limit stops the world, so it must differ by this part.
	limitStep = 16

	minTriggerShare = 0.8 // of the memory limit, for MinTriggerBytes

	// The hard threshold is so many times as far from the live heap as the trigger. Without a
	// limit, more takes at most hardShareAvailable of the machine's available memory.
	hardGrowth, hardGrowthTurns = 1.75, 2.5
	hardShareAvailable          = 0.25

	idleBytes = 8 << 20         // less is not worth a collection in a gap
	fillTime  = 2 * time.Second // of allocation up to the trigger, if there is memory for it

	// The machine's memory is for other processes, too.
	limitShare     = 0.5
	availableShare = 1. / 32
	availableLimit = 512 << 20

	// A control group counts more than Go knows of, and kills.
	groupShare = 0.9
)

type allowance struct {
	limit     int64 // math.MaxInt64: none
	whole     int64 // if no other process had memory of the group
	from      string
	available uint64 // of the machine; 0: not known
}

func allow(o *Options, requested int64, m memory) allowance {
	a := allowance{requested, requested, "GOMEMLIMIT", m.available}
	switch {
	case m.group < requested && o.MemoryLimitBytes != math.MaxInt64:
		share := func(bytes int64) int64 { return max(int64(groupShare*float64(bytes)), 1) }
		a.limit, a.whole, a.from = share(m.group), min(requested, share(m.whole)), "control group"
		if m.file != "" {
			a.from += " (" + m.file + ")"
		}
	case requested == math.MaxInt64:
		a.from = "none"
	case requested == o.MemoryLimitBytes:
		a.from = "Options.MemoryLimitBytes"
	}
	return a
}

// runtimeLimit is for a gate without room. Other processes may need their part of the group
// briefly.
func (a allowance) runtimeLimit(live, overhead uint64) int64 {
	room := capacity.RoomForStart(float64(live), minTriggerRatio*float64(live)) + float64(overhead)
	return max(a.limit, min(a.whole, int64(min(room, 1<<62))))
}

func (a allowance) heap(overhead uint64) float64 {
	if a.limit == math.MaxInt64 {
		return math.MaxInt64
	}
	return max(0, float64(a.limit)-float64(overhead))
}

func (a allowance) highestTrigger(o *Options, overhead uint64) (bytes float64, why string) {
	switch {
	case o.MaxTriggerBytes > 0:
		return float64(o.MaxTriggerBytes), "Options.MaxTriggerBytes"
	case a.limit != math.MaxInt64:
		return limitShare * a.heap(overhead), "half of the memory limit"
	case a.available > 0:
		return min(availableShare*float64(a.available), availableLimit),
			"a 32nd of the machine's available memory, up to 512 MiB: no limit is set"
	}
	return 0, "neither a limit nor the machine's available memory is known: set GOMEMLIMIT or MaxTriggerBytes"
}

func thresholdsFor(o *Options, a allowance, live, overhead uint64) thresholds {
	t := thresholds{live: live}
	budget := a.heap(overhead)
	lowest := max(o.TriggerRatio*float64(live), float64(o.MinTriggerBytes))
	highest, _ := a.highestTrigger(o, overhead)
	highest = max(lowest, highest)
	way := capacity.RuntimeStart(float64(live), budget) - float64(live)
	grown := highest - float64(live)
	furthest := (o.HardRatio - 1) / (o.TriggerRatio - 1) * grown
	if a.limit == math.MaxInt64 {
		furthest = min(furthest, max(hardGrowth*grown, hardShareAvailable*float64(a.available)))
	}
	hard := float64(live) + min(furthest, hardShare*way)
	most := float64(live) + triggerShare*way
	t.lowest, t.highest = min(lowest, most), min(highest, most)
	t.needRoom(minTriggerRatio)
	t.hard = uint64(hard)
	t.highestIdle = uint64(max(o.IdleRatio*float64(live), float64(live)+idleBytes))
	safe := capacity.RoomForStart(float64(live), safetyRatio*hard+safetyBytes) + float64(overhead)
	t.safetyLimit = uint64(min(float64(a.limit), safe, 1<<62))
	start := capacity.RuntimeStart(float64(live), float64(t.safetyLimit)-float64(overhead))
	t.hardWithoutTurn = uint64(max(hard, (hard+start)/2))
	t.follow(0, 0)
	return t
}

func (t *thresholds) needRoom(ratio float64) {
	t.noRoom = t.lowest < ratio*float64(t.live)
	t.least = min(ratio, minTriggerRatio) * float64(t.live)
}

// useWholeLimit moves the thresholds near room, the process's limit, while the runtime has another
// one.
func (t *thresholds) useWholeLimit(room float64, limit int64) {
	live := float64(t.live)
	way := room - live
	t.lowest = live + triggerShare*way
	t.highest = t.lowest
	t.hard, t.hardWithoutTurn, t.safetyLimit = uint64(live+hardShare*way), uint64(room), uint64(limit)
	t.needRoom(minTriggerRatio)
	t.follow(0, 0)
}

// follow moves the trigger to the heap after fillTime, at a rate in bytes per second.
func (t *thresholds) follow(rate, jitter float64) {
	live := float64(t.live)
	trigger := min(max(t.lowest, live+rate*fillTime.Seconds()), t.highest)
	t.trigger = uint64(max(trigger-jitter*(trigger-live), t.least))
	t.idle = min(t.highestIdle, t.trigger)
}

func checkLimit(o *Options, limit int64) error {
	if float64(o.MinTriggerBytes) <= minTriggerShare*float64(limit) {
		return nil
	}
	return refuseOption("MinTriggerBytes",
		"%d bytes are over %g of the memory limit, which is %d: lower it, or raise the limit to %.0f",
		o.MinTriggerBytes, minTriggerShare, limit, math.Ceil(float64(o.MinTriggerBytes)/minTriggerShare))
}

// limitFor is the memory limit that gives a live heap all the room that it can use.
func limitFor(o *Options, live, overhead uint64) uint64 {
	trigger := o.TriggerRatio - 1
	hard := min(o.HardRatio-1, hardGrowth*trigger)
	way := max(trigger/triggerShare, hard/hardShare) * float64(live)
	return uint64(capacity.RoomForStart(float64(live), float64(live)+way)) + overhead
}
