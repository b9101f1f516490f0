package gctrace

import "time"

// Cycle is one collection as its gctrace line tells it (runtime/mgc.go, gcMarkTermination).
//
// The line rounds down: At to the millisecond; a phase to the microsecond below 0.1 ms,
// else to two digits, and to the millisecond from 10 ms; sizes to MiB (the line says MB).
// A Cycle is a plain value: it holds no reference to the line or to its [Scanner].
type Cycle struct {
	N  int64         `json:"n"`     // 1 is the process's first collection
	At time.Duration `json:"at_ns"` // when sweep termination began, since the runtime's start
	// the collector's share of all CPU since the program's start, idle workers left out
	UtilPercent int `json:"util_percent"`

	Wall WallPhases `json:"wall"`
	CPU  CPUPhases  `json:"cpu"`

	HeapBefore int64        `json:"heap_before_bytes"`   // when the collection started
	HeapAfter  int64        `json:"heap_after_bytes"`    // when marking ended: live, dead and allocated meanwhile
	HeapLive   int64        `json:"heap_live_bytes"`     // what was marked
	Goal       Value[int64] `json:"goal_bytes,omitzero"` // absent where there was none: GOGC=off without GOMEMLIMIT

	Stacks  Value[int64] `json:"stacks_bytes,omitzero"`  // stacks to scan; absent in lines of old releases
	Globals Value[int64] `json:"globals_bytes,omitzero"` // globals to scan; absent in lines of old releases

	Procs int `json:"procs"` // GOMAXPROCS when the collection started
	// the prefix of the line that tells processes of one log apart; "": it has none
	Source string `json:"source,omitempty"`

	// by runtime.GC or debug.FreeOSMemory; the two-minute timer's are not marked
	Forced    bool `json:"forced,omitzero"`
	LeakCheck bool `json:"leak_check,omitzero"` // also looked for leaked goroutines (Go 1.26)
}

// WallPhases is the wall-clock time of one collection by phase.
type WallPhases struct {
	SweepTermination time.Duration `json:"sweep_termination_ns"` // the world is stopped
	Mark             time.Duration `json:"mark_ns"`              // concurrent with the program
	MarkTermination  time.Duration `json:"mark_termination_ns"`  // the world is stopped
}

// Total returns the time from the start of the collection to its end.
func (w WallPhases) Total() time.Duration {
	return w.SweepTermination + w.Mark + w.MarkTermination
}

// Pause returns the time for which the world was stopped.
func (w WallPhases) Pause() time.Duration { return w.SweepTermination + w.MarkTermination }

// CPUPhases is the CPU time of one collection by phase. A stopped world costs its wall time
// on every P (on at most as many as there are CPUs).
type CPUPhases struct {
	SweepTermination time.Duration `json:"sweep_termination_ns"`
	Assist           time.Duration `json:"assist_ns"`     // goroutines made to mark by their own allocation
	Background       time.Duration `json:"background_ns"` // dedicated and fractional workers
	Idle             time.Duration `json:"idle_ns"`       // workers on Ps that had nothing else to run
	MarkTermination  time.Duration `json:"mark_termination_ns"`
}

// Total returns what the collection took from the program: all but Idle.
func (c CPUPhases) Total() time.Duration {
	return c.SweepTermination + c.Assist + c.Background + c.MarkTermination
}

// Pause returns the CPU time of both stop-the-world phases.
func (c CPUPhases) Pause() time.Duration { return c.SweepTermination + c.MarkTermination }

// End returns when the collection ended, since the runtime's start. It is at most 4 ms early,
// because At and the three phases are rounded down to at worst a millisecond each.
func (c Cycle) End() time.Duration { return c.At + c.Wall.Total() }

// noGoalBytes is where a heap goal stops being one. Without GOGC and GOMEMLIMIT the pacer
// aims at what is left of math.MaxInt64 after its headroom of 3%; no machine has half of that.
const noGoalBytes = 1 << 62

// knownGoal makes a goal of n MiB, absent where it stands for none.
func knownGoal(n int64) Value[int64] {
	if n >= noGoalBytes>>20 {
		return Value[int64]{}
	}
	return Of(n << 20)
}
