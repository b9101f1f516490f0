package gctrace

import (
	"runtime/metrics"
	"time"
)

// Names of runtime/metrics; see its package documentation for what each one means.
const (
	metricProcs     = "/sched/gomaxprocs:threads"
	metricCycles    = "/gc/cycles/total:gc-cycles"
	metricForced    = "/gc/cycles/forced:gc-cycles"
	metricAllocs    = "/gc/heap/allocs:bytes"
	metricGoal      = "/gc/heap/goal:bytes"
	metricLive      = "/gc/heap/live:bytes"
	metricAssist    = "/cpu/classes/gc/mark/assist:cpu-seconds"
	metricDedicated = "/cpu/classes/gc/mark/dedicated:cpu-seconds"
	metricIdle      = "/cpu/classes/gc/mark/idle:cpu-seconds"
	metricPause     = "/cpu/classes/gc/pause:cpu-seconds"
	metricTotal     = "/cpu/classes/gc/total:cpu-seconds"
	metricPauses    = "/sched/pauses/total/gc:seconds"
)

// metricNames is what Take reads; never written.
var metricNames = [...]string{
	metricProcs, metricCycles, metricForced, metricAllocs, metricGoal, metricLive,
	metricAssist, metricDedicated, metricIdle, metricPause, metricTotal, metricPauses,
}

// Snapshot is what the runtime's counters said of the collector at one moment. It is
// immutable, so goroutines may share it. The zero Snapshot stands for the program's start,
// at a time not known.
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

// Take reads the runtime's counters. It does not stop the world, takes a few microseconds,
// more the more Ps there are, and allocates about 2 KB (BenchmarkTake): once a second is
// free, once a request is not. Any goroutine may call it at any time; calls wait for each
// other inside the runtime.
func Take() Snapshot {
	samples := make([]metrics.Sample, len(metricNames))
	for i, name := range metricNames {
		samples[i].Name = name
	}
	metrics.Read(samples)
	return snapshotOf(time.Now(), samples)
}

// snapshotOf sorts samples into a Snapshot; a metric that this runtime lacks (KindBad) or
// has in another kind is absent.
func snapshotOf(at time.Time, samples []metrics.Sample) Snapshot {
	s := Snapshot{at: at}
	for _, m := range samples {
		switch m.Name {
		case metricProcs:
			s.procs = counter(m.Value)
		case metricCycles:
			s.cycles = counter(m.Value)
		case metricForced:
			s.forced = counter(m.Value)
		case metricAllocs:
			s.allocs = counter(m.Value)
		case metricGoal:
			if g, ok := counter(m.Value).Get(); ok && g >= 0 && g < noGoalBytes {
				s.goal = Of(g)
			}
		case metricLive:
			s.live = counter(m.Value)
		case metricAssist:
			s.cpu.assist = seconds(m.Value)
		case metricDedicated:
			s.cpu.dedicated = seconds(m.Value)
		case metricIdle:
			s.cpu.idle = seconds(m.Value)
		case metricPause:
			s.cpu.pause = seconds(m.Value)
		case metricTotal:
			s.cpu.total = seconds(m.Value)
		case metricPauses:
			s.pauses = pausesOf(m.Value)
		}
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
	// To the nearest nanosecond: the runtime made the seconds of whole ones.
	return Of(time.Duration(v.Float64()*1e9 + 0.5))
}
