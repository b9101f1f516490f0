package gctrace

import "time"

// Since returns what the collector cost between an earlier snapshot of this process and s. Against
// the zero Snapshot it counts from the start of the program, without a Window. If before is later
// than s, all is absent.
//
// The runtime counts CPU time when a collection ends. Before the first one, CPU and CPUPercent are
// absent. Phases and heap sizes around collections are always absent. Heap.Live is of the last
// collection and Heap.Goal of the next. Wall.Pause is an estimate, right to an eighth above a
// microsecond. CPU.Pause leaves out the wait for the world to stop. If GOMAXPROCS changed,
// CPUPercent is absent.
func (s Snapshot) Since(before Snapshot) Summary {
	out := Summary{}
	fromStart := before.at.IsZero()
	if s.at.IsZero() || s.at.Before(before.at) {
		return out
	}
	if fromStart {
		before = atStart()
	} else {
		out.Window = Of(s.at.Sub(before.at))
	}
	cycles := delta(s.cycles, before.cycles)
	out.Collections, _ = cycles.Get()
	out.Forced = delta(s.forced, before.forced)
	out.AllocBytes = delta(s.allocs, before.allocs)
	if p, ok := s.procs.Get(); ok {
		out.Procs = Of(int(p))
	}
	if n, ok := s.cycles.Get(); ok && n > 0 {
		out.CPU = s.cpu.since(before.cpu)
		out.Heap.Live = Range{Last: s.live}
	}
	out.Heap.Goal = Range{Last: s.goal}
	out.Wall.Pause, out.Wall.PauseMax = s.pauses.since(before.pauses)

	window, known := out.Window.Get()
	if !known || window <= 0 {
		return out
	}
	if n, ok := cycles.Get(); ok && n > 0 {
		out.Pace = Of(window / time.Duration(n))
	}
	cpu, ok := out.CPU.Total.Get()
	if p, pok := s.procs.Get(); ok && pok && p > 0 && s.procs == before.procs {
		out.CPUPercent = Of(float64(cpu) / (float64(window) * float64(p)) * 100)
	}
	return out
}

func atStart() Snapshot {
	zero, none := Of(int64(0)), Of(time.Duration(0))
	return Snapshot{
		cycles: zero, forced: zero, allocs: zero,
		cpu:    cpuClasses{assist: none, dedicated: none, idle: none, pause: none, total: none},
		pauses: pauses{known: true},
	}
}

func (c cpuClasses) since(b cpuClasses) CPU {
	cpu := CPU{
		Assist:     delta(c.assist, b.assist),
		Background: delta(c.dedicated, b.dedicated),
		Idle:       delta(c.idle, b.idle),
		Pause:      delta(c.pause, b.pause),
	}
	total, ok1 := delta(c.total, b.total).Get()
	idle, ok2 := cpu.Idle.Get()
	if ok1 && ok2 {
		cpu.Total = Of(max(total-idle, 0))
	}
	return cpu
}

// delta is the growth of a counter, absent unless both ends are known.
func delta[T int64 | time.Duration](s, before Value[T]) Value[T] {
	a, ok1 := s.Get()
	b, ok2 := before.Get()
	if !ok1 || !ok2 {
		return Value[T]{}
	}
	return Of(max(a-b, 0))
}
