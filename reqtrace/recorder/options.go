package recorder

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"runtime/trace"
	"slices"
	"time"
)

// Options configure a [Recorder]. The zero value works: it explains the slowest 1% and keeps the
// history in memory.
type Options struct {
	// Slow is how long a request takes that is slow, by the time that its handler takes. Default:
	// 0, which is what Quantile says. Limits: 1 ms to 1 minute.
	Slow time.Duration

	// Quantile is the part of the requests of the last five minutes that are not slow, where Slow
	// is 0; none is slow before 1,000 of them are known, nor one of less than 1 ms. Default: 0,
	// which is 0.99. Limits: 0.5 to 0.9999.
	Quantile float64

	// Dir is where the history and the snapshots are kept, for this process and the next one; it is
	// made if it is not there. Each process needs its own: while another one has it, the history is
	// in memory, and snapshots are not kept. Default: "", which keeps the history in memory, and no
	// snapshot (its trace is in os.TempDir, without a name, while it is analysed).
	Dir string

	// Every is how far apart two snapshots are at least, but for those that are asked for. Default:
	// 0, which is 10 s. Limits: 1 s to 1 hour.
	Every time.Duration

	// MaxWindow is how far back the flight recorder goes at most: Every, how long slow requests
	// take and MaxBytes decide within it. Default: 0, which is 10 s. Limits: 2 s to 1 minute.
	MaxWindow time.Duration

	// MaxBytes bounds what the flight recorder keeps, which the runtime takes for a hint. Default:
	// 0, which is 4 MiB. Limits: 1 to 32 MiB.
	MaxBytes int

	// KeepBytes is what the snapshots in Dir take at most; the oldest go first. Default: 0, which
	// is 64 MiB. Limits: 1 MiB to 64 GiB.
	KeepBytes int64

	// CPU is which part of the CPU time that this process takes may be the recorder's: tracing,
	// snapshots and their analysis. To stay within, it is switched off for some of the time. A
	// process that takes less than a quarter of a processor counts as one that takes that: 5 ms a
	// second of the default. Default: 0, which is 0.02. Limits: 0.001 to 1; 1 does not switch it
	// off.
	CPU float64

	// Analyze is a program that analyses snapshots apart from the service, and its arguments:
	// /usr/local/bin/evenkeel report -snapshot is one, and so is one of yours that calls
	// [history.Answer]. The path is absolute. Default: nil, which analyses them in this process.
	Analyze []string

	// Recorder is a flight recorder of the program's, which has started it and goes on to own it:
	// it stays on or off as the program says, and its size is the program's. CPU then bounds how
	// often it is looked at. Default: nil, one of this package's own.
	Recorder *trace.FlightRecorder

	// Profile takes a CPU profile for 10 s, at most once in 10 minutes, after a snapshot in which
	// most slow requests were running: its samples say where. Meanwhile the program, or
	// /debug/pprof/profile, cannot take one. Default: false.
	Profile bool

	// TraceID returns the id that distributed tracing gave to a request, "" for none. It is called
	// with the request's context, in its goroutine, when it has ended and was slow. Default: nil,
	// none.
	TraceID func(context.Context) string

	// Build names what this process runs, to tell new causes from old ones. Default: "", which is
	// the version and the commit that the executable has in it, and a hash of the executable where
	// these do not tell it from others.
	Build string

	// Logger gets a line for each new cause (Info) and for what needs an operator (Warn). Default:
	// nil: slog.Default().
	Logger *slog.Logger

	process process // a test's; nil: this process
}

func (o Options) withDefaults() (Options, error) {
	o.Quantile = cmp.Or(o.Quantile, .99)
	o.Every = cmp.Or(o.Every, 10*time.Second)
	o.MaxWindow = cmp.Or(o.MaxWindow, 10*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<20)
	o.KeepBytes = cmp.Or(o.KeepBytes, 64<<20)
	o.CPU = cmp.Or(o.CPU, .02)
	o.Analyze = slices.Clone(o.Analyze)
	if o.Build == "" {
		o.Build = thisBuild()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.process == nil {
		o.process = newRuntime(o.Recorder, o.Analyze)
	}
	for _, d := range []struct {
		name       string
		value      time.Duration
		least, max time.Duration
	}{
		{"Slow", cmp.Or(o.Slow, time.Second), time.Millisecond, time.Minute},
		{"Every", o.Every, time.Second, time.Hour},
		{"MaxWindow", o.MaxWindow, leastWindow, time.Minute},
	} {
		if d.value < d.least || d.value > d.max {
			return o, &OptionError{d.name, fmt.Sprintf("%v; it goes from %v to %v", d.value, d.least, d.max)}
		}
	}
	switch {
	case !(o.Quantile >= .5 && o.Quantile <= .9999):
		return o, &OptionError{"Quantile", fmt.Sprintf("%v; it goes from 0.5 to 0.9999", o.Quantile)}
	case !(o.CPU >= .001 && o.CPU <= 1):
		return o, &OptionError{"CPU", fmt.Sprintf("%v; it goes from 0.001 to 1, which is all that the process takes", o.CPU)}
	case o.MaxBytes < leastBytes || o.MaxBytes > 32<<20:
		return o, &OptionError{"MaxBytes", fmt.Sprintf("%d; it goes from %d to %d", o.MaxBytes, leastBytes, 32<<20)}
	case o.KeepBytes < 1<<20 || o.KeepBytes > 64<<30:
		return o, &OptionError{"KeepBytes", fmt.Sprintf("%d; it goes from %d to %d", o.KeepBytes, 1<<20, int64(64)<<30)}
	case len(o.Analyze) > 0 && !filepath.IsAbs(o.Analyze[0]):
		return o, &OptionError{
			"Analyze", fmt.Sprintf("%q is not an absolute path: write where the program is, or leave it out", o.Analyze[0]),
		}
	case len(o.Analyze) > 0:
		if _, err := exec.LookPath(o.Analyze[0]); err != nil {
			return o, &OptionError{"Analyze", fmt.Sprintf("%v: write where the program is, or leave it out", err)}
		}
	}
	return o, nil
}
