package gctrace

import (
	"math"
	"runtime/metrics"
	"time"
)

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

// Stats counts what a [Scanner] has read so far.
type Stats struct {
	Lines int64 `json:"lines"` // with an unfinished last one
	// not of the collector, such as those of gcpacertrace=1
	Foreign     int64 `json:"foreign"`
	ForcedLines int64 `json:"forced_lines"` // "GC forced", by the two-minute timer
	Cycles      int64 `json:"cycles"`       // returned by Scan
	// of Cycles, joined from pieces
	Recovered int64 `json:"recovered"`
	// lines of Go 1.5, which are not read
	FivePhases int64 `json:"five_phases,omitzero"`

	// Lost counts collections whose figures could not be read, by gaps in the numbers and by broken
	// lines.
	Lost int64 `json:"lost"`

	// Truncated says that the log stops in the middle of a gctrace line. Lost does not include
	// that.
	Truncated bool `json:"truncated,omitzero"`
}

// pauses is the runtime's histogram of stop-the-world times. counts[i] of them lasted from
// bounds[i] to bounds[i+1] seconds. Nobody writes to either.
type pauses struct {
	counts []uint64
	bounds []float64
	known  bool
}

func pausesOf(v metrics.Value) pauses {
	if v.Kind() != metrics.KindFloat64Histogram {
		return pauses{}
	}
	h := v.Float64Histogram()
	return pauses{counts: h.Counts, bounds: h.Buckets, known: true}
}

// since estimates the sum of the pauses between two snapshots from the middle of each bucket. The
// longest is an upper bound, absent without a pause.
func (p pauses) since(before pauses) (sum, longest Value[time.Duration]) {
	if !p.known || !before.known || before.counts != nil && len(before.counts) != len(p.counts) {
		return sum, longest
	}
	total := 0.0
	for i, n := range p.counts {
		if before.counts != nil {
			n -= min(before.counts[i], n)
		}
		if n == 0 {
			continue
		}
		low, high := p.bounds[i], p.bounds[i+1]
		if low < 0 {
			low = 0
		}
		if math.IsInf(high, 1) {
			high = low
		}
		total += float64(n) * (low + high) / 2
		longest = Of(time.Duration(math.Ceil(high * 1e9)))
	}
	return Of(time.Duration(total * 1e9)), longest
}
