package gcgate

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// collector is the garbage collector, or a fake of it. Only the control goroutine calls it,
// collect apart.
type collector interface {
	read() reading
	collect()                    // blocks until a whole cycle is over, sweep included
	setPercent(int) int          // as debug.SetGCPercent
	setLimit(bytes int64) int64  // as debug.SetMemoryLimit
	overhead() (bytes uint64)    // what the limit counts beside the heap's objects
	memory() memory              // reads some files
	cpu() (assist, user float64) // seconds, as of the last cycle
}

// reading is a sample of the collector's counters.
type reading struct {
	cycles    uint64 // that ended
	automatic uint64 // of them those that the runtime started by itself
	allocated uint64 // bytes, since the process began
	live      uint64 // bytes marked by the last cycle, and allocated during it
}

// Names in runtime/metrics. /memory/classes/heap/objects would tell the heap at once, but
// counts dead objects until they are swept, which may be long after the cycle ended.
const (
	metricCycles    = "/gc/cycles/total:gc-cycles"
	metricAutomatic = "/gc/cycles/automatic:gc-cycles"
	metricAllocated = "/gc/heap/allocs:bytes"
	metricLive      = "/gc/heap/live:bytes"

	metricTotal    = "/memory/classes/total:bytes"
	metricReleased = "/memory/classes/heap/released:bytes"
	metricObjects  = "/memory/classes/heap/objects:bytes"
	metricFree     = "/memory/classes/heap/free:bytes"

	metricAssist = "/cpu/classes/gc/mark/assist:cpu-seconds"
	metricUser   = "/cpu/classes/user:cpu-seconds"
)

// goRuntime is the collector of this process.
type goRuntime struct {
	samples, classes, seconds []metrics.Sample
}

func newGoRuntime() *goRuntime {
	return &goRuntime{
		samples: named(metricCycles, metricAutomatic, metricAllocated, metricLive),
		classes: named(metricTotal, metricReleased, metricObjects, metricFree),
		seconds: named(metricAssist, metricUser),
	}
}

func named(names ...string) []metrics.Sample {
	s := make([]metrics.Sample, len(names))
	for i, n := range names {
		s[i].Name = n
	}
	return s
}

func (r *goRuntime) read() reading {
	metrics.Read(r.samples)
	return reading{
		cycles:    r.samples[0].Value.Uint64(),
		automatic: r.samples[1].Value.Uint64(),
		allocated: r.samples[2].Value.Uint64(),
		live:      r.samples[3].Value.Uint64(),
	}
}

func (r *goRuntime) collect()                   { runtime.GC() }
func (r *goRuntime) setPercent(percent int) int { return debug.SetGCPercent(percent) }
func (r *goRuntime) setLimit(bytes int64) int64 { return debug.SetMemoryLimit(bytes) }

// overhead is stacks, metadata and memory lost to fragmentation. Free spans do not count: the
// heap grows into them.
func (r *goRuntime) overhead() uint64 {
	metrics.Read(r.classes)
	total := r.classes[0].Value.Uint64()
	rest := r.classes[1].Value.Uint64() + r.classes[2].Value.Uint64() + r.classes[3].Value.Uint64()
	return total - min(rest, total)
}

func (r *goRuntime) memory() memory { return readMemory(os.DirFS("/")) }

func (r *goRuntime) cpu() (assist, user float64) {
	metrics.Read(r.seconds)
	return r.seconds[0].Value.Float64(), r.seconds[1].Value.Float64()
}
