package gctrace

import (
	"runtime/metrics"
	"time"
)

// readings are what Take reads from runtime/metrics.
var readings = [...]struct {
	name string
	set  func(*Snapshot, metrics.Value)
}{
	{"/sched/gomaxprocs:threads", func(s *Snapshot, v metrics.Value) { s.procs = counter(v) }},
	{"/gc/cycles/total:gc-cycles", func(s *Snapshot, v metrics.Value) { s.cycles = counter(v) }},
	{"/gc/cycles/forced:gc-cycles", func(s *Snapshot, v metrics.Value) { s.forced = counter(v) }},
	{"/gc/heap/allocs:bytes", func(s *Snapshot, v metrics.Value) { s.allocs = counter(v) }},
	{"/gc/heap/goal:bytes", func(s *Snapshot, v metrics.Value) {
		if g, ok := counter(v).Get(); ok && g >= 0 && g < noGoalBytes {
			s.goal = Of(g)
		}
	}},
	{"/gc/heap/live:bytes", func(s *Snapshot, v metrics.Value) { s.live = counter(v) }},
	{"/cpu/classes/gc/mark/assist:cpu-seconds", func(s *Snapshot, v metrics.Value) { s.cpu.assist = seconds(v) }},
	{"/cpu/classes/gc/mark/dedicated:cpu-seconds", func(s *Snapshot, v metrics.Value) { s.cpu.dedicated = seconds(v) }},
	{"/cpu/classes/gc/mark/idle:cpu-seconds", func(s *Snapshot, v metrics.Value) { s.cpu.idle = seconds(v) }},
	{"/cpu/classes/gc/pause:cpu-seconds", func(s *Snapshot, v metrics.Value) { s.cpu.pause = seconds(v) }},
	{"/cpu/classes/gc/total:cpu-seconds", func(s *Snapshot, v metrics.Value) { s.cpu.total = seconds(v) }},
	{"/sched/pauses/total/gc:seconds", func(s *Snapshot, v metrics.Value) { s.pauses = pausesOf(v) }},
}

// Snapshot is the runtime's counters at one moment. It is immutable. The zero Snapshot is the start
// of the program, at an unknown time.
type Snapshot struct {
	at time.Time

	procs, cycles, forced, allocs, goal, live Value[int64]
	cpu                                       cpuClasses
	pauses                                    pauses
}

// cpuClasses are the cumulative CPU times of /cpu/classes/gc.
type cpuClasses struct {
	assist, dedicated, idle, pause, total Value[time.Duration]
}

// Take reads the runtime's counters. It does not stop the world, takes a few microseconds and
// allocates about 2 KB. Any goroutine may call it.
func Take() Snapshot {
	samples := make([]metrics.Sample, len(readings))
	for i := range samples {
		samples[i].Name = readings[i].name
	}
	metrics.Read(samples)
	return snapshotOf(time.Now(), samples)
}

// snapshotOf takes the samples of readings. A metric that this runtime lacks is absent.
func snapshotOf(at time.Time, samples []metrics.Sample) Snapshot {
	s := Snapshot{at: at}
	for i, m := range samples {
		readings[i].set(&s, m.Value)
	}
	return s
}

func counter(v metrics.Value) Value[int64] {
	if v.Kind() != metrics.KindUint64 {
		return Value[int64]{}
	}
	return Of(int64(v.Uint64()))
}

func seconds(v metrics.Value) Value[time.Duration] {
	if v.Kind() != metrics.KindFloat64 {
		return Value[time.Duration]{}
	}
	// To the nearest nanosecond.
	return Of(time.Duration(v.Float64()*1e9 + 0.5))
}

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
