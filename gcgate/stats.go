package gcgate

import "time"

// Stats tell what a [Gate] did since its start. Sizes are in bytes.
type Stats struct {
	Policy Policy
	State  State

	// Collections counts the gate's own by reason; Escaped those that the runtime started by
	// itself while the gate was in charge (a limit is near; a runtime.GC elsewhere is not
	// counted).
	Collections map[Reason]uint64
	Escaped     uint64

	// Entered counts the requests that entered. Overlapped counts those of them that overlapped the
	// mark phase of one of the gate's collections. They were in flight at its start, or entered
	// before its end. If a collection has to wait for a cycle of the runtime's own, that is a part
	// of it here. It is within 1% of exact over some collections of 20 ms or more, because the gate
	// reads the counters four times a millisecond while it marks. Look at this figure first:
	// latencies have other causes too.
	//
	// OverlappedOther is the same for cycles that were not the gate's: the runtime's own, and
	// runtime.GC elsewhere. The gate notices these when they are over. So it estimates the figure
	// from the rate of requests and the CPU time of the mark workers.
	Entered, Overlapped, OverlappedOther uint64

	// IgnoredDrains counts collections before or during which requests kept coming although each peer had
	// confirmed the drain. If requests are so few that one collection proves nothing, several count as
	// one. The log has likely causes.
	IgnoredDrains uint64

	// Phases are the times spent in each state by collections that ended, StateWanting to
	// StateReadying.
	Phases map[State]Duration

	// Stragglers counts the requests that entered while the gate was collecting, although the peers
	// had been asked to drain this process. Refused counts requests that adapters refused, under
	// PolicyShed.
	Stragglers, Refused uint64

	// WithoutTurn counts collections, at the hard threshold or by [Gate.CollectWithoutTurn], that
	// did not have the turn. LostTurns counts turns that were lost while they were held.
	WithoutTurn, LostTurns uint64

	// Advice is what would help a process without signals, with its figures. It is about the last
	// minute or so, and "" before the gate has seen enough.
	Advice string

	Turn TurnStats

	// Oldest is how old one of the requests in flight is, at least. 0 means less than a second or two.
	Oldest time.Duration

	InFlight int    // requests
	Live     uint64 // heap after the last collection
	Heap     uint64 // heap at the last sample, dead objects included
	Trigger  uint64 // heap at which the next collection is due
	Hard     uint64 // heap at which it does not wait for a turn
	Limit    uint64 // memory limit; math.MaxInt64 is none

	Allocated uint64 // since the process began, freed or not

	// Expected is how long the next collection is expected to take, from its announcement;
	// Next when it is expected at the present rate of allocation, zero when not known.
	Expected time.Duration
	Next     time.Time
}

// Duration sums up durations.
type Duration struct {
	Count uint64
	Total time.Duration
	Max   time.Duration
}

func (d *Duration) add(x time.Duration) {
	d.Count++
	d.Total += x
	d.Max = max(d.Max, x)
}
