package gctrace

import (
	"encoding/json"
	"iter"
	"time"
)

// Cycle is one collection as its gctrace line reports it. The line rounds down, to a millisecond at
// worst and to MiB.
type Cycle struct {
	N  int64         `json:"n"`     // from 1
	At time.Duration `json:"at_ns"` // since the start of the runtime
	// the collector's share of all CPU time so far, without idle workers
	UtilPercent int `json:"util_percent"`

	Wall WallPhases `json:"wall"`
	CPU  CPUPhases  `json:"cpu"`

	HeapBefore int64        `json:"heap_before_bytes"`
	HeapAfter  int64        `json:"heap_after_bytes"`
	HeapLive   int64        `json:"heap_live_bytes"`
	Goal       Value[int64] `json:"goal_bytes,omitzero"` // absent without one

	Stacks  Value[int64] `json:"stacks_bytes,omitzero"`  // absent in old releases
	Globals Value[int64] `json:"globals_bytes,omitzero"` // absent in old releases

	Procs int `json:"procs"` // GOMAXPROCS

	// by runtime.GC or debug.FreeOSMemory
	Forced    bool `json:"forced,omitzero"`
	LeakCheck bool `json:"leak_check,omitzero"` // it looked for leaked goroutines (Go 1.26)
}

// WallPhases is the wall-clock time of one collection. The world is stopped in all but Mark.
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
	Assist           time.Duration `json:"assist_ns"`     // of goroutines that allocate
	Background       time.Duration `json:"background_ns"` // dedicated and fractional workers
	Idle             time.Duration `json:"idle_ns"`       // otherwise idle workers
	MarkTermination  time.Duration `json:"mark_termination_ns"`
}

// total leaves out Idle.
func (c CPUPhases) total() time.Duration {
	return c.SweepTermination + c.Assist + c.Background + c.MarkTermination
}

func (c CPUPhases) pause() time.Duration { return c.SweepTermination + c.MarkTermination }

// End returns when the collection ended, since the start of the runtime, up to 4 ms early.
func (c Cycle) End() time.Duration { return c.At + c.Wall.Total() }

// Without GOGC and GOMEMLIMIT the pacer's goal is just below math.MaxInt64.
const noGoalBytes = 1 << 62

func knownGoal(n int64) Value[int64] {
	if n >= noGoalBytes>>20 {
		return Value[int64]{}
	}
	return Of(n << 20)
}

// Summary is what the collector cost over a window. A figure that a source does not have is absent,
// never 0.
type Summary struct {
	Window      Value[time.Duration] `json:"window_ns,omitzero"`
	Procs       Value[int]           `json:"procs,omitzero"` // of the last collection
	Collections int64                `json:"collections"`

	// Read is how many of Collections the log has, absent if all. All figures but Window,
	// Collections and Pace are of these.
	Read Value[int64] `json:"read,omitzero"`

	Forced Value[int64] `json:"forced,omitzero"`

	Wall       Wall           `json:"wall"`
	CPU        CPU            `json:"cpu"`
	CPUPercent Value[float64] `json:"cpu_percent,omitzero"` // CPU.Total / (Window x Procs) x 100

	// Pace is Window / Collections.
	Pace Value[time.Duration] `json:"pace_ns,omitzero"`

	Heap Heap `json:"heap"`
	// see Summarize
	AllocBytes Value[int64] `json:"alloc_bytes,omitzero"`
}

// Wall is wall-clock time by phase over a window.
type Wall struct {
	SweepTermination Value[time.Duration] `json:"sweep_termination_ns,omitzero"`
	Mark             Value[time.Duration] `json:"mark_ns,omitzero"`
	MarkTermination  Value[time.Duration] `json:"mark_termination_ns,omitzero"`
	Pause            Value[time.Duration] `json:"pause_ns,omitzero"`
	// longest single phase
	PauseMax Value[time.Duration] `json:"pause_max_ns,omitzero"`
	Total    Value[time.Duration] `json:"total_ns,omitzero"`
}

// CPU is CPU time by phase over a window, as in [CPUPhases].
type CPU struct {
	SweepTermination Value[time.Duration] `json:"sweep_termination_ns,omitzero"`
	Assist           Value[time.Duration] `json:"assist_ns,omitzero"`
	Background       Value[time.Duration] `json:"background_ns,omitzero"`
	Idle             Value[time.Duration] `json:"idle_ns,omitzero"`
	MarkTermination  Value[time.Duration] `json:"mark_termination_ns,omitzero"`
	Pause            Value[time.Duration] `json:"pause_ns,omitzero"`
	// all but Idle
	Total Value[time.Duration] `json:"total_ns,omitzero"`
}

// Heap is the heap around collections, in bytes, rounded down to MiB.
type Heap struct {
	Before Range `json:"before,omitzero"`
	After  Range `json:"after,omitzero"`
	Live   Range `json:"live,omitzero"`
	Goal   Range `json:"goal,omitzero"`
}

// Range is one size over the collections of a window.
type Range struct {
	Last Value[int64] `json:"last,omitzero"`
	Mean Value[int64] `json:"mean,omitzero"`
	Max  Value[int64] `json:"max,omitzero"`
}

// Stats counts what a [Scanner] has read so far.
type Stats struct {
	// with an unfinished last one; each 64 KiB of a longer line count as one
	Lines int64 `json:"lines"`
	// without a part of a cycle
	Foreign int64 `json:"foreign"`
	Cycles  int64 `json:"cycles"`
	// joined from pieces
	Recovered int64 `json:"recovered"`
	// Lost counts collections whose figures are missing or broken.
	Lost int64 `json:"lost"`
}

// Value is a figure that a source may lack. Its zero value is absent, and omitzero leaves it out of
// JSON.
type Value[T any] struct {
	v     T
	known bool
}

// Of returns a known figure.
func Of[T any](v T) Value[T] { return Value[T]{v: v, known: true} }

// Get returns the figure, and whether it is known.
func (v Value[T]) Get() (T, bool) { return v.v, v.known }

// IsZero reports whether the figure is absent.
func (v Value[T]) IsZero() bool { return !v.known }

// MarshalJSON writes the figure, or null if it is absent.
func (v Value[T]) MarshalJSON() ([]byte, error) {
	if !v.known {
		return []byte("null"), nil
	}
	return json.Marshal(v.v)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value[T]) UnmarshalJSON(b []byte) error {
	*v = Value[T]{}
	if string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(b, &v.v); err != nil {
		return err
	}
	v.known = true
	return nil
}

// Window is a stretch of time since the start of the runtime. A cycle belongs to it if From < End
// <= To. From 0 includes the first cycle. To 0 is the end of the last cycle.
type Window struct {
	From, To time.Duration
}

// Holds reports whether a cycle belongs to the window.
func (w Window) Holds(c Cycle) bool {
	return (w.From == 0 || c.End() > w.From) && (w.To == 0 || c.End() <= w.To)
}

// Summarize returns what the cycles of a window cost. The cycles must be of one process and in
// order, and may go beyond the window.
//
// Collections includes those whose lines are missing, the other sums do not. Times are low by up to
// a tenth, because lines round down. CPUPercent uses GOMAXPROCS of each stretch. AllocBytes is an
// estimate. Each cycle adds its HeapAfter less the HeapLive of the cycle before.
//
// Without cycles and with a To, sums and CPUPercent are 0, and Pace, Procs, heap and longest pause
// are absent. Without cycles and To, or with To before From, all but Collections is absent.
func Summarize(cycles iter.Seq[Cycle], w Window) Summary {
	var t tally
	end := w.From
	for c := range cycles {
		allocated := t.allocatedBefore(c)
		if w.Holds(c) {
			t.add(c, end, allocated)
			end = max(end, c.End())
		}
	}
	if w.To != 0 {
		end = w.To
	}
	if end < w.From || end == w.From && t.n == 0 {
		return Summary{}
	}
	return t.summary(w.From, end)
}

type tally struct {
	n, forced int64
	missing   int64
	wall      WallPhases
	cpu       CPUPhases
	pauseMax  time.Duration
	last      Cycle
	lastEnd   time.Duration
	capacity  float64 // all Ps' CPU time up to lastEnd, in ns

	before, after, live, goal sizes

	allocated Value[int64]
	seen      Cycle // the last one, in the window or not
}

// since is the end of the cycle before, or the window's start.
func (t *tally) add(c Cycle, since time.Duration, allocated Value[int64]) {
	if t.n > 0 {
		t.missing += max(c.N-t.last.N-1, 0)
	}
	t.n++
	if c.Forced {
		t.forced++
	}
	t.wall.SweepTermination += c.Wall.SweepTermination
	t.wall.Mark += c.Wall.Mark
	t.wall.MarkTermination += c.Wall.MarkTermination
	t.cpu.SweepTermination += c.CPU.SweepTermination
	t.cpu.Assist += c.CPU.Assist
	t.cpu.Background += c.CPU.Background
	t.cpu.Idle += c.CPU.Idle
	t.cpu.MarkTermination += c.CPU.MarkTermination
	t.pauseMax = max(t.pauseMax, c.Wall.SweepTermination, c.Wall.MarkTermination)
	t.before.add(c.HeapBefore)
	t.after.add(c.HeapAfter)
	t.live.add(c.HeapLive)
	if g, ok := c.Goal.Get(); ok {
		t.goal.add(g)
	}
	if x, ok := allocated.Get(); ok {
		t.allocated = Of(t.allocated.v + x)
	}
	t.lastEnd = max(since, c.End())
	t.capacity += float64(t.lastEnd-since) * float64(c.Procs)
	t.last = c
}

func (t *tally) summary(from, to time.Duration) Summary {
	s := Summary{
		Window:      Of(to - from),
		Collections: t.n + t.missing,
		Forced:      Of(t.forced),
		Wall: Wall{
			SweepTermination: Of(t.wall.SweepTermination),
			Mark:             Of(t.wall.Mark),
			MarkTermination:  Of(t.wall.MarkTermination),
			Pause:            Of(t.wall.Pause()),
			Total:            Of(t.wall.Total()),
		},
		CPU: CPU{
			SweepTermination: Of(t.cpu.SweepTermination),
			Assist:           Of(t.cpu.Assist),
			Background:       Of(t.cpu.Background),
			Idle:             Of(t.cpu.Idle),
			MarkTermination:  Of(t.cpu.MarkTermination),
			Pause:            Of(t.cpu.pause()),
			Total:            Of(t.cpu.total()),
		},
	}
	if t.n == 0 {
		s.CPUPercent = Of(0.0)
		return s
	}
	if t.missing > 0 {
		s.Read = Of(t.n)
	}
	s.Wall.PauseMax = Of(t.pauseMax)
	s.Pace = Of((to - from) / time.Duration(s.Collections))
	s.Heap = Heap{Before: t.before.rng(), After: t.after.rng(), Live: t.live.rng(), Goal: t.goal.rng()}
	s.AllocBytes = t.allocated
	s.Procs = Of(t.last.Procs)
	capacity := t.capacity + float64(to-t.lastEnd)*float64(t.last.Procs)
	if capacity > 0 {
		s.CPUPercent = Of(float64(t.cpu.total()) / capacity * 100)
	}
	return s
}

type sizes struct{ n, last, max, sum int64 }

func (z *sizes) add(x int64) {
	z.n++
	z.last, z.max, z.sum = x, max(z.max, x), z.sum+x
}

func (z *sizes) rng() Range {
	if z.n == 0 {
		return Range{}
	}
	return Range{Last: Of(z.last), Mean: Of(z.sum / z.n), Max: Of(z.max)}
}

// allocatedBefore returns what was allocated between the cycle before and c, if that is known.
func (t *tally) allocatedBefore(c Cycle) (bytes Value[int64]) {
	switch {
	case c.N == 1:
		bytes = Of(c.HeapAfter)
	case t.seen.N > 0 && c.N == t.seen.N+1:
		bytes = Of(max(c.HeapAfter-t.seen.HeapLive, 0))
	}
	t.seen = c
	return bytes
}
