package gctrace

import "time"

// Summary is what the collector cost over a window. A figure that a source does not have is absent
// ([Value]), never 0.
type Summary struct {
	Window      Value[time.Duration] `json:"window_ns,omitzero"` // wall time that the figures cover
	Procs       Value[int]           `json:"procs,omitzero"`     // GOMAXPROCS of the last collection
	Collections int64                `json:"collections"`

	// Read is how many of Collections the log has, absent if all. The figures but Window,
	// Collections and Pace are of these.
	Read Value[int64] `json:"read,omitzero"`

	// of Collections, by runtime.GC or debug.FreeOSMemory
	Forced Value[int64] `json:"forced,omitzero"`

	Wall       Wall           `json:"wall"`
	CPU        CPU            `json:"cpu"`
	CPUPercent Value[float64] `json:"cpu_percent,omitzero"` // CPU.Total / (Window x Procs) x 100

	// Pace is Window / Collections, absent without any.
	Pace Value[time.Duration] `json:"pace_ns,omitzero"`

	Heap Heap `json:"heap"`
	// allocated in the window; an estimate from gctrace, see Summarize
	AllocBytes Value[int64] `json:"alloc_bytes,omitzero"`
}

// Wall is wall-clock time by phase over a window. runtime/metrics has only the two Pause figures.
type Wall struct {
	SweepTermination Value[time.Duration] `json:"sweep_termination_ns,omitzero"`
	Mark             Value[time.Duration] `json:"mark_ns,omitzero"`
	MarkTermination  Value[time.Duration] `json:"mark_termination_ns,omitzero"`
	Pause            Value[time.Duration] `json:"pause_ns,omitzero"`
	// longest single stop-the-world phase; from metrics an upper bound
	PauseMax Value[time.Duration] `json:"pause_max_ns,omitzero"`
	Total    Value[time.Duration] `json:"total_ns,omitzero"`
}

// CPU is CPU time by phase over a window. runtime/metrics has the pauses only together.
type CPU struct {
	SweepTermination Value[time.Duration] `json:"sweep_termination_ns,omitzero"`
	// goroutines that marked because they allocated
	Assist     Value[time.Duration] `json:"assist_ns,omitzero"`
	Background Value[time.Duration] `json:"background_ns,omitzero"`
	// workers on Ps that were otherwise idle
	Idle            Value[time.Duration] `json:"idle_ns,omitzero"`
	MarkTermination Value[time.Duration] `json:"mark_termination_ns,omitzero"`
	Pause           Value[time.Duration] `json:"pause_ns,omitzero"`
	// all but Idle
	Total Value[time.Duration] `json:"total_ns,omitzero"`
}

// Heap is the heap around collections, in bytes. gctrace rounds down to MiB.
type Heap struct {
	Before Range `json:"before,omitzero"`
	After  Range `json:"after,omitzero"`
	Live   Range `json:"live,omitzero"`
	// for the end of marking (metrics: of the next collection); absent without a goal
	Goal Range `json:"goal,omitzero"`
}

// Range is one size over the collections of a window.
type Range struct {
	Last Value[int64] `json:"last,omitzero"`
	Mean Value[int64] `json:"mean,omitzero"`
	Max  Value[int64] `json:"max,omitzero"`
}
