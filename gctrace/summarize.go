package gctrace

import (
	"iter"
	"time"
)

// Window is a stretch of a process's life, in time since the runtime's start as gctrace
// counts it. A cycle belongs to the window in which it ended, whole: From < End <= To, so
// that windows side by side count each cycle once. From 0 takes in the first cycle whatever
// its end. To 0 is the end of the last cycle.
type Window struct {
	From, To time.Duration
}

// Holds reports whether a cycle belongs to the window.
func (w Window) Holds(c Cycle) bool {
	return (w.From == 0 || c.End() > w.From) && (w.To == 0 || c.End() <= w.To)
}

// Summarize says what the cycles of a window cost. The sequence is read once, and has to be
// of one process in order; it may begin before the window and go on after it.
//
// Collections are counted by the cycles' numbers, so that those count too whose lines are
// missing between two of the window; the other sums are of the cycles there are, see Read.
//
// CPUPercent is CPU.Total, which leaves idle workers out, over what all Ps had: the window
// times GOMAXPROCS; where that changed between cycles, each stretch up to a cycle's end
// counts with that cycle's, and Procs is the last. Times are sums of rounded-down figures
// ([Cycle]), so they are low by up to a tenth, less the longer the phases.
//
// AllocBytes is an estimate: each cycle adds its HeapAfter less the cycle before's HeapLive,
// that is, what was allocated from the end of marking to the end of marking, give or take
// 1 MiB. So it needs the cycle before the window's first; if the sequence lacks it (and the
// first is not the process's first), or has a gap, such cycles add nothing and the figure is
// low by their share. It is absent if no cycle adds to it. What was allocated after the
// window's last cycle cannot be seen.
//
// A window without cycles has sums and a CPUPercent of 0 if its end is given: then, with
// gctrace on, there was no collection. Summarize cannot tell whether gctrace was on. Its
// Pace, Procs, heap and longest pause are absent. If To is 0 and no cycle ended after From,
// or if To lies before From, the window is not known and all but Collections is absent.
// Procs of 0 in a cycle makes CPUPercent absent.
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

// tally sums the cycles of a window.
type tally struct {
	n, forced  int64
	missing    int64 // between the cycles, by their numbers
	wall       WallPhases
	cpu        CPUPhases
	pauseMax   time.Duration
	last       Cycle
	lastEnd    time.Duration
	procsKnown bool
	capacity   float64 // CPU time that all Ps had up to lastEnd, in ns

	before, after, live, goal sizes
	alloc                     allocs
}

// add counts a cycle, the one before it (or the window) having ended (begun) at since.
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
			Pause:            Of(t.cpu.Pause()),
			Total:            Of(t.cpu.Total()),
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
			s.CPUPercent = Of(float64(t.cpu.Total()) / capacity * 100)
		}
	}
	return s
}

// sizes keeps what a Range tells of one size.
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

// allocs estimates what was allocated between cycles.
type allocs struct {
	lastN, lastLive int64
	step            Value[int64] // between the two cycles seen last
	total, n        int64
}

// see takes the next cycle of the sequence, in the window or not. A process begins with a
// heap of 0, so its first cycle needs none before it.
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

// count adds what see took last.
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
