package gctrace

import "time"

// Summary says what the collector cost over a window of time. Both sources fill it:
// gctrace lines ([Summarize]) and runtime/metrics ([Snapshot.Since]). A figure that a
// source does not have is absent ([Value]), never 0.
type Summary struct {
	Window      Value[time.Duration] `json:"window_ns,omitzero"` // wall time that the figures cover
	Procs       Value[int]           `json:"procs,omitzero"`     // GOMAXPROCS, of the last collection where it changed
	Collections int64                `json:"collections"`

	// Read is how many of Collections the log has, where their numbers say that others lie between:
	// then all figures but Window, Collections and Pace are of those alone. Absent where none is
	// missing.
	Read Value[int64] `json:"read,omitzero"`

	// of Collections, by runtime.GC or debug.FreeOSMemory; the two-minute timer's are not among them
	Forced Value[int64] `json:"forced,omitzero"`

	Wall       Wall           `json:"wall"`
	CPU        CPU            `json:"cpu"`
	CPUPercent Value[float64] `json:"cpu_percent,omitzero"` // CPU.Total / (Window x Procs) x 100

	// Pace is the mean time between collections: Window / Collections. Absent without any.
	Pace Value[time.Duration] `json:"pace_ns,omitzero"`

	Heap Heap `json:"heap"`
	// allocated in the window; from gctrace an estimate, see Summarize
	AllocBytes Value[int64] `json:"alloc_bytes,omitzero"`
}

// Wall is wall-clock time by phase, summed over the collections of a window.
// runtime/metrics has only the two Pause figures.
type Wall struct {
	SweepTermination Value[time.Duration] `json:"sweep_termination_ns,omitzero"` // stop-the-world
	Mark             Value[time.Duration] `json:"mark_ns,omitzero"`              // concurrent
	MarkTermination  Value[time.Duration] `json:"mark_termination_ns,omitzero"`  // stop-the-world
	Pause            Value[time.Duration] `json:"pause_ns,omitzero"`             // both stop-the-world phases
	// longest single stop-the-world phase (metrics: upper bound of its histogram bucket)
	PauseMax Value[time.Duration] `json:"pause_max_ns,omitzero"`
	Total    Value[time.Duration] `json:"total_ns,omitzero"` // all phases
}

// CPU is CPU time by phase, summed over the collections of a window.
// runtime/metrics has the pauses only together.
type CPU struct {
	SweepTermination Value[time.Duration] `json:"sweep_termination_ns,omitzero"` // Ps stopped x wall time
	// goroutines made to mark by their own allocation
	Assist     Value[time.Duration] `json:"assist_ns,omitzero"`
	Background Value[time.Duration] `json:"background_ns,omitzero"` // dedicated and fractional workers
	// workers on Ps that had nothing else to run
	Idle            Value[time.Duration] `json:"idle_ns,omitzero"`
	MarkTermination Value[time.Duration] `json:"mark_termination_ns,omitzero"`
	Pause           Value[time.Duration] `json:"pause_ns,omitzero"` // both stop-the-world phases
	// all but Idle, which took nothing from the program
	Total Value[time.Duration] `json:"total_ns,omitzero"`
}

// Heap is the heap's size around collections, in bytes. Lines of gctrace round down to MiB.
type Heap struct {
	Before Range `json:"before,omitzero"` // when the collection started
	After  Range `json:"after,omitzero"`  // when marking ended
	Live   Range `json:"live,omitzero"`   // what was marked
	// where the pacer wanted marking to end (metrics: wants the next to end); absent where there was no goal
	Goal Range `json:"goal,omitzero"`
}

// Range is one size over the collections of a window.
type Range struct {
	Last Value[int64] `json:"last,omitzero"`
	Mean Value[int64] `json:"mean,omitzero"`
	Max  Value[int64] `json:"max,omitzero"`
}
