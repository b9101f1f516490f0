package recorder

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"evenkeel.dev"
)

// Options configure a [Recorder]. The zero value works. It explains the slowest 1% and keeps the
// history in memory.
type Options struct {
	// Slow is the time from which on a request is slow. Default: 0, by Quantile. Limits: 1 ms to 1
	// minute.
	Slow time.Duration

	// Quantile is the share of the requests of the last five minutes that are not slow, if Slow is
	// 0. It needs 1,000 requests, and requests below 1 ms are not slow. Default: 0.99. Limits: 0.5
	// to 0.9999.
	Quantile float64

	// Dir is the directory of the history and the snapshots. Start creates it if necessary. Each
	// process needs its own. Default: "", which keeps the history in memory, and at most 64
	// snapshots of 16 MiB in files of os.TempDir without a name.
	Dir string

	// Every is the least time between two snapshots that slow requests cause. Default: 10 s.
	// Limits: 1 s to 1 hour.
	Every time.Duration

	// MaxWindow is how far back the flight recorder goes at most. Default: 10 s. Limits: 2 s to 1
	// minute.
	MaxWindow time.Duration

	// MaxBytes bounds what the flight recorder keeps. The runtime takes it as a hint. Default: 4
	// MiB. Limits: 1 to 32 MiB.
	MaxBytes int

	// KeepBytes is the most that the snapshots in Dir take. The oldest are removed first. Default:
	// 64 MiB. Limits: 1 MiB to 64 GiB.
	KeepBytes int64

	// CPU is the share of the process's CPU time that the recorder may take. To stay within it, the
	// recorder is off for some of the time. The process counts as if it took at least a quarter of
	// a processor. Default: 0.02. Limits: 0.001 to 1, which is always on.
	CPU float64

	// InProcess analyses each snapshot in this process. The page, metrics and the log then name
	// causes, and Subscribe works. An analysis takes memory and makes requests wait, which CPU does
	// not bound. Default: false, so that evenkeel top and evenkeel report analyse the snapshots
	// where they run.
	InProcess bool

	// TraceID returns the id that distributed tracing gave to a request, or "". The request's
	// goroutine calls it at the end of a slow request. Default: nil, no id.
	TraceID func(context.Context) string

	// Build names what this process runs, to tell new causes from old ones. Default: "", the
	// version in the executable, with a hash if it does not identify it.
	Build string

	// Logger gets Warn for what needs an operator, and Info for a new cause. Default:
	// slog.Default().
	Logger *slog.Logger

	process process // of a test
}

func (o Options) withDefaults() (Options, error) {
	o.Quantile = cmp.Or(o.Quantile, .99)
	o.Every = cmp.Or(o.Every, 10*time.Second)
	o.MaxWindow = cmp.Or(o.MaxWindow, 10*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<20)
	o.KeepBytes = cmp.Or(o.KeepBytes, 64<<20)
	o.CPU = cmp.Or(o.CPU, .02)
	if o.Build == "" {
		version := ""
		if info, ok := debug.ReadBuildInfo(); ok {
			version = info.Main.Version
		}
		o.Build = buildName(version, executableHash)
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.process == nil {
		o.process = newRuntime()
	}
	return o, cmp.Or(
		within("Slow", cmp.Or(o.Slow, time.Second), time.Millisecond, time.Minute),
		within("Quantile", o.Quantile, .5, .9999),
		within("Every", o.Every, time.Second, time.Hour),
		within("MaxWindow", o.MaxWindow, leastWindow, time.Minute),
		within("MaxBytes", o.MaxBytes, leastBytes, 32<<20),
		within("KeepBytes", o.KeepBytes, 1<<20, 64<<30),
		within("CPU", o.CPU, .001, 1),
	)
}

func within[T cmp.Ordered](name string, value, least, most T) error {
	if value >= least && value <= most {
		return nil
	}
	return evenkeel.NewOptionError("recorder.Options", name, "%v; it goes from %v to %v", value, least, most)
}
