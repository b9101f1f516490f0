package httpgate

import (
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"evenkeel.dev/internal/cputime"
)

// A Process is what [Status] says of the process in addition to its gate.
type Process struct {
	// CPU is what the process has taken since it began, the kernel's part included, 0 if it is not
	// known. Collector is the collector's share in Cycles that have ended, idle processors' marking
	// included.
	CPU       time.Duration
	Collector time.Duration
	Cycles    uint64

	Procs int // GOMAXPROCS

	// Busy is for how long the processors of Go have run something until the last cycle's end, by
	// the clock of Collector.
	Busy time.Duration

	Host   string // the machine's name
	PID    int
	Uptime time.Duration // since the program's start
}

func process() Process {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	seconds := func(i int) float64 { return samples[i].Value.Float64() }
	host, _ := os.Hostname()
	return Process{
		CPU:       cputime.Process(),
		Collector: time.Duration(seconds(0) * float64(time.Second)),
		Busy:      time.Duration((seconds(2) - seconds(3)) * float64(time.Second)),
		Cycles:    samples[1].Value.Uint64(),
		Procs:     runtime.GOMAXPROCS(0),
		Host:      host,
		PID:       os.Getpid(),
		Uptime:    time.Since(firstMoment),
	}
}
