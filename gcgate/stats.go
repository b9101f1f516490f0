package gcgate

import "time"

// Stats tell what a [Gate] did since its start. Sizes are in bytes.
type Stats struct {
	Policy Policy
	State  State

	// Collections counts the gate's own by reason. Escaped counts those that the runtime started by
	// itself while the gate was in charge. A runtime.GC elsewhere does not count.
	Collections map[Reason]uint64
	Escaped     uint64

	// Entered counts the requests that entered. Overlapped counts those that overlapped the mark
	// phase of one of the gate's collections, within 1%. OverlappedOther is an estimate of the same
	// for cycles that were not the gate's.
	Entered, Overlapped, OverlappedOther uint64

	// IgnoredDrains counts collections before or during which requests kept coming although each
	// peer had confirmed the drain. The log has likely causes.
	IgnoredDrains uint64

	// Phases are the times in each state, StateWanting to StateReadying, of collections that ended.
	Phases map[State]Duration

	// Stragglers counts the requests that entered while the gate was collecting. Refused counts
	// requests that adapters refused under PolicyShed.
	Stragglers, Refused uint64

	// WithoutTurn counts collections without the turn. LostTurns counts turns that were lost while
	// they were held.
	WithoutTurn, LostTurns uint64

	// Advice is what would help a process without signals, with figures of about the last minute.
	// It is "" before the gate has seen enough.
	Advice string

	Turn TurnStats

	// Oldest is the least age of the oldest request in flight. 0 means less than a second or two.
	Oldest time.Duration

	InFlight int
	Live     uint64 // heap after the last collection
	Heap     uint64 // heap at the last sample, dead objects included
	Trigger  uint64 // heap at which the next collection is due
	Hard     uint64 // heap at which it does not wait for a turn
	Limit    uint64 // math.MaxInt64 is no limit

	Allocated uint64 // since the process began, freed or not

	// Expected is how long the next collection is expected to take, from its announcement. Next is
	// when it is expected, zero if that is not known.
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
