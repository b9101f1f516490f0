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

	// Entered counts the requests that entered. Overlapped are those of them that met the mark phase of
	// one of the gate's collections: in flight at its start, or entered before its end. A cycle of the
	// runtime's own that a collection has to wait for is a part of it here. It is
	// counted from reads of the requests' counters while it marks, a quarter of a millisecond apart, and
	// within 1% of exact over some collections of 20 ms or more. It is the figure to look at: latencies have
	// other causes too. OverlappedOther is the same for cycles that were not the gate's (the
	// runtime's own, and runtime.GC elsewhere): an estimate from the rate of requests and the CPU
	// time of the mark workers, as such cycles are noticed when they are over.
	Entered, Overlapped, OverlappedOther uint64

	// Unheeded counts collections before or during which requests kept coming although each peer
	// had confirmed the drain; where requests are so few that no single one tells, those of several
	// collections count as one. The log says what is likely.
	Unheeded uint64

	// Phases are the times spent in each state by collections that ended, StateWanting to
	// StateReadying.
	Phases map[State]Duration

	// Stragglers are the requests that entered while the gate was collecting: they met the
	// collector, although the peers were told before. Those that come from the announcement
	// until then are awaited, and do not count. Refused counts requests that adapters refused,
	// under PolicyShed.
	Stragglers, Refused uint64

	// WithoutTurn counts collections, at the hard threshold or by [Gate.CollectWithoutTurn], that did not have the turn, and
	// LostTurns turns that were lost while they were held.
	WithoutTurn, LostTurns uint64

	// Advice is what would help this process more, with its figures, where it has no peer to tell; ""
	// before enough has been seen. It is about the last minute or so.
	Advice string

	Turn TurnStats

	// Oldest is for how long one of the requests in flight has been here, at least. 0: for less than a
	// second or two.
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
