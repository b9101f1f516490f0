package gctrace

import (
	"iter"
	"time"
)

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
// a tenth, because lines round down. CPUPercent uses GOMAXPROCS of each stretch, and is absent if a
// cycle has Procs 0. AllocBytes is an estimate. Each cycle adds its HeapAfter less the HeapLive of
// the cycle before.
//
// Without cycles and with a To, sums and CPUPercent are 0, and Pace, Procs, heap and longest pause
// are absent. Without cycles and To, or with To before From, all but Collections is absent.
func Summarize(cycles iter.Seq[Cycle], w Window) Summary {
	t := tally{procsKnown: true}
	end := w.From
	for c := range cycles {
		t.alloc.see(c)
		if w.Holds(c) {
			t.add(c, end)
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
	n, forced  int64
	missing    int64
	wall       WallPhases
	cpu        CPUPhases
	pauseMax   time.Duration
	last       Cycle
	lastEnd    time.Duration
	procsKnown bool
	capacity   float64 // all Ps' CPU time up to lastEnd, in ns

	before, after, live, goal sizes
	alloc                     allocs
}

// add counts a cycle. since is the end of the cycle before, or the window's start.
func (t *tally) add(c Cycle, since time.Duration) {
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
	t.alloc.count()
	t.procsKnown = t.procsKnown && c.Procs > 0
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
	s.AllocBytes = t.alloc.sum()
	if t.procsKnown {
		s.Procs = Of(t.last.Procs)
		capacity := t.capacity + float64(to-t.lastEnd)*float64(t.last.Procs)
		if capacity > 0 {
			s.CPUPercent = Of(float64(t.cpu.total()) / capacity * 100)
		}
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

type allocs struct {
	lastN, lastLive int64
	step            Value[int64]
	total, n        int64
}

// see takes the next cycle, in the window or not.
func (a *allocs) see(c Cycle) {
	a.step = Value[int64]{}
	switch {
	case c.N == 1:
		a.step = Of(c.HeapAfter)
	case a.lastN > 0 && c.N == a.lastN+1:
		a.step = Of(max(c.HeapAfter-a.lastLive, 0))
	}
	a.lastN, a.lastLive = c.N, c.HeapLive
}

func (a *allocs) count() {
	if x, ok := a.step.Get(); ok {
		a.total += x
		a.n++
	}
}

func (a *allocs) sum() Value[int64] {
	if a.n == 0 {
		return Value[int64]{}
	}
	return Of(a.total)
}
