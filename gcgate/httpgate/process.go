package httpgate

import (
	"runtime"
	"runtime/metrics"
	"time"

	"evenkeel.dev/internal/cputime"
)

// A Process is what [Status] says of the process beside its gate: what a request costs follows from two answers.
type Process struct {
	// CPU is what the process has taken since it began, the kernel's part included; 0 where that is not known. Of that the collector has
	// taken Collector, idle processors' marking included, in Cycles: what a cycle takes is added when it has ended.
	CPU       time.Duration
	Collector time.Duration
	Cycles    uint64

	Procs int // GOMAXPROCS
}

// process asks the system and the runtime.
func process() Process {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	return Process{
		CPU:       cputime.Process(),
		Collector: time.Duration(samples[0].Value.Float64() * float64(time.Second)),
		Cycles:    samples[1].Value.Uint64(),
		Procs:     runtime.GOMAXPROCS(0),
	}
}
