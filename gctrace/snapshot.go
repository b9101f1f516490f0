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
