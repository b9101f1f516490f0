package gctrace

import "time"

// Cycle is one collection as its gctrace line reports it. The line rounds down: times to the
// millisecond at worst, sizes to MiB.
type Cycle struct {
	N  int64         `json:"n"`     // 1 is the first of the process
	At time.Duration `json:"at_ns"` // start of sweep termination, since the start of the runtime
	// share of the collector in all CPU time so far, without idle workers
	UtilPercent int `json:"util_percent"`

	Wall WallPhases `json:"wall"`
	CPU  CPUPhases  `json:"cpu"`

	HeapBefore int64        `json:"heap_before_bytes"`
	HeapAfter  int64        `json:"heap_after_bytes"`
	HeapLive   int64        `json:"heap_live_bytes"`
	Goal       Value[int64] `json:"goal_bytes,omitzero"` // absent if there was no goal

	Stacks  Value[int64] `json:"stacks_bytes,omitzero"`  // absent in old releases
	Globals Value[int64] `json:"globals_bytes,omitzero"` // absent in old releases

	Procs int `json:"procs"` // GOMAXPROCS at the start of the collection
	// prefix that tells processes of one log apart, or ""
	Source string `json:"source,omitempty"`

	// by runtime.GC or debug.FreeOSMemory, not by the two-minute timer
	Forced    bool `json:"forced,omitzero"`
	LeakCheck bool `json:"leak_check,omitzero"` // it also looked for leaked goroutines (Go 1.26)
}

// WallPhases is the wall-clock time of one collection. Mark runs beside the program, and the other
// two stop the world.
type WallPhases struct {
	SweepTermination time.Duration `json:"sweep_termination_ns"`
	Mark             time.Duration `json:"mark_ns"`
	MarkTermination  time.Duration `json:"mark_termination_ns"`
}

// Total returns the time from start to end.
func (w WallPhases) Total() time.Duration {
	return w.SweepTermination + w.Mark + w.MarkTermination
}

// Pause returns the time for which the world was stopped.
func (w WallPhases) Pause() time.Duration { return w.SweepTermination + w.MarkTermination }

// CPUPhases is the CPU time of one collection. A stopped world costs its wall time on every P.
type CPUPhases struct {
	SweepTermination time.Duration `json:"sweep_termination_ns"`
	Assist           time.Duration `json:"assist_ns"`     // goroutines that marked because they allocated
	Background       time.Duration `json:"background_ns"` // dedicated and fractional workers
	Idle             time.Duration `json:"idle_ns"`       // otherwise idle workers
	MarkTermination  time.Duration `json:"mark_termination_ns"`
}

// Total returns the CPU time of all phases except Idle.
func (c CPUPhases) Total() time.Duration {
	return c.SweepTermination + c.Assist + c.Background + c.MarkTermination
}

// Pause returns the CPU time of both stop-the-world phases.
func (c CPUPhases) Pause() time.Duration { return c.SweepTermination + c.MarkTermination }

// End returns when the collection ended, since the start of the runtime. It is up to 4 ms early.
func (c Cycle) End() time.Duration { return c.At + c.Wall.Total() }

// noGoalBytes is more than any real goal. Without GOGC and GOMEMLIMIT the pacer aims at some 97% of
// math.MaxInt64.
const noGoalBytes = 1 << 62

func knownGoal(n int64) Value[int64] {
	if n >= noGoalBytes>>20 {
		return Value[int64]{}
	}
	return Of(n << 20)
}
