package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/cli"
	"evenkeel.dev/cmd/evenkeel/internal/proc"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
)

// observer takes, around the measured window, what tells of a service's collector and of the machine.
//
//	begin   no request is in flight: profile (it collects), collections seen so far, machine
//	loaded  the last answer is there: collections seen so far, machine
//	end     profile (it collects again)
//	fill    when the log is complete: the parts of the run
type observer struct {
	profiler *profiler       // nil: off
	trace    trace           // of the service's standard error, or of its log
	traced   bool            // there is one
	service  runfile.Watched // where its processes are

	before, after *allocations
	unprofiled    error // why one of them is missing

	// Numbers of collections known of when measuring began and ended.
	seenBefore, seenAfter int

	watch *runfile.Watch
	run   runfile.Run
}

func (o *observer) begin(ctx context.Context) {
	seen := o.trace.count()
	o.before = o.takeProfile(ctx, false)
	if o.before != nil && o.trace.log != "" {
		o.trace.awaitForced(ctx, seen, logPatience) // the profile's own collection is not the window's
	}
	o.seenBefore = o.trace.mark()
	o.watch = runfile.NewWatch(o.service)
}

func (o *observer) loaded() {
	if o.watch != nil {
		o.run.Disturbance = o.watch.End()
	}
	o.seenAfter = o.trace.count()
}

func (o *observer) end(ctx context.Context) {
	if o.before != nil && ctx.Err() == nil {
		o.after = o.takeProfile(ctx, true)
	}
}

func (o *observer) takeProfile(ctx context.Context, totalFirst bool) *allocations {
	if o.profiler == nil {
		return nil
	}
	a, err := o.profiler.take(ctx, totalFirst)
	if err != nil && ctx.Err() == nil {
		o.unprofiled = err
	}
	return a
}

func (o *observer) note(format string, a ...any) {
	o.run.Notes = append(o.run.Notes, fmt.Sprintf(format, a...))
}

// fill puts the collector's parts into the run, with the top places that allocate.
func (o *observer) fill(top int) {
	if o.after != nil && !o.after.follows(o.before) {
		o.note("%v", errOtherProcess)
		o.after = nil
	}
	o.fillGC()
	if o.after != nil {
		a, err := o.after.since(o.before, top)
		if err == nil {
			o.run.Alloc = a
			return
		}
		o.note("%v", err)
	}
	if o.run.GC != nil && o.run.GC.Source == runfile.GCFromTrace {
		if n, ok := o.run.GC.Summary.AllocBytes.Get(); ok && o.run.GC.Summary.Collections > 0 {
			o.run.Alloc = &runfile.Alloc{Bytes: n, Source: runfile.AllocFromTrace}
		}
	}
}

// fillGC keeps the collections of the window: those of the trace, or what the profile's figures tell.
func (o *observer) fillGC() {
	if o.traced {
		o.fillTrace()
	}
	if o.after == nil {
		return
	}
	counted := o.after.numGC - o.before.numGC
	if o.run.GC == nil {
		o.run.GC = &runfile.GC{Source: runfile.GCFromMemStats, Summary: o.after.collections(o.before, o.run.Load.Duration), Collections: []runfile.Collection{}}
		return
	}
	if n := o.run.GC.Summary.Collections; abs(n-counted) > 3+counted/20 { // a few may be at the window's ends
		o.note("%d collections by gctrace, %d by runtime.MemStats: is the log another process's, or late?", n, counted)
	}
}

// fillTrace keeps the collections of the trace.
func (o *observer) fillTrace() {
	t := &o.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.restarts > 0:
		o.note("%s: the program was started again during the load, or another one writes there, so its collections are left out", cmp.Or(t.log, "the server's standard error"))
		return
	case t.log != "" && len(t.cycles) == o.seenBefore:
		if o.after == nil || o.after.numGC != o.before.numGC {
			o.note("%s: no gctrace line came during the load: start the service with GODEBUG=gctrace=1, and see that its standard error is written there at once", t.log)
		}
		return
	case len(t.cycles) == 0:
		o.note("the server printed no gctrace line: it never collected, or it is no Go program, or something between (a script, sudo, a container) drops GODEBUG or standard error")
		return
	}
	if lost := t.stats.Lost - t.lostBefore; lost > 0 {
		o.note("%d gctrace lines could not be read: the server's own output stood in them", lost)
	}
	cycles, w := o.window()
	gc := &runfile.GC{Source: runfile.GCFromTrace, Summary: gctrace.Summarize(slices.Values(cycles), w), Collections: []runfile.Collection{}}
	for _, c := range cycles {
		if end := c.End(); w.From < end && end <= w.To {
			gc.Collections = append(gc.Collections, runfile.Collection{
				At: c.At - w.From, Wall: c.Wall.Total(), Pause: c.Wall.Pause(),
				Before: c.HeapBefore, After: c.HeapAfter, Live: c.HeapLive,
			})
		}
	}
	o.run.GC = gc
}

// window returns the measured window in the server's own time, and the collections without
// the one that the allocation profile after it asked for. The server's clock is known to a few
// milliseconds only, since its lines round down and take time to arrive. What was read before
// measuring began had ended by then; that bounds it. Called with the trace's mu held.
func (o *observer) window() ([]gctrace.Cycle, gctrace.Window) {
	t, load := &o.trace, o.run.Load
	from := load.Started.Sub(t.start)
	if o.seenBefore > 0 {
		from = max(from, t.cycles[o.seenBefore-1].End())
	}
	cycles := t.cycles
	if o.before != nil {
		for i := o.seenAfter; i < len(cycles); i++ {
			if cycles[i].Forced {
				cycles = cycles[:i]
				break
			}
		}
	}
	return cycles, gctrace.Window{From: from, To: from + load.Duration}
}

// How long a log may take to have the line of the collection that the profile after the load asked
// for, and how long it is given where there is no such line.
const (
	logPatience = 2 * time.Second
	logRest     = 300 * time.Millisecond
	logPoll     = 5 * time.Millisecond
)

// probeTimeout is how long a service may take to show that it serves its profiles, where nobody said
// that it does.
const probeTimeout = 2 * time.Second

// observeRunning is an observer of a service that runs already. stop ends it.
func observeRunning(ctx context.Context, a *cli.App, f *loadCommand) (o *observer, stop func(), err error) {
	o, stop = &observer{}, func() {}
	o.run = runfile.Run{Label: f.label, Repeat: 1, Mix: f.load.mix.made}
	o.service = whereIs(ctx, f.options.Targets)
	if f.pprof != "off" {
		o.profiler = newProfiler(f.pprof, f.options.TLS)
		probe, cancel := ctx, context.CancelFunc(func() {})
		if !f.pprofGiven {
			probe, cancel = context.WithTimeout(ctx, min(probeTimeout, f.options.Timeout))
		}
		_, err := o.profiler.memStats(probe)
		cancel()
		if err != nil {
			if f.pprofGiven {
				return nil, nil, fmt.Errorf("-pprof: %w", err)
			}
			o.profiler = nil
		} else {
			o.run.PProf = o.profiler.base
		}
	}
	if f.gctrace != "" {
		if stop, err = o.trace.follow(ctx, f.gctrace); err != nil {
			return nil, nil, fmt.Errorf("-gctrace: %w", err)
		}
		o.traced, o.run.GCTrace = true, o.trace.log
	}
	return o, stop, nil
}

// awaitLog waits until the log has what it is to have of the window.
func (o *observer) awaitLog(ctx context.Context) {
	if !o.traced {
		return
	}
	rest := logRest
	if o.after != nil {
		rest = logPatience
	}
	o.trace.awaitForced(ctx, o.seenAfter, rest)
}

// fillRunning puts the parts of a service that ran already into the run.
func (o *observer) fillRunning(top int) {
	if pids := o.processes(); len(pids) > 0 {
		if n := proc.PeakRSSOf(pids); n > 0 {
			o.run.Server = &runfile.Server{PeakRSSBytes: n}
		}
	}
	o.fill(top)
	if o.unprofiled != nil {
		o.note("%v", o.unprofiled)
	}
}

func (o *observer) processes() []int {
	if o.service.Processes == nil {
		return nil
	}
	return o.service.Processes()
}

// errOtherProcess says that the figures before and after are not of one process.
var errOtherProcess = errors.New("the profiles before and after the load are of different processes, so the collector's figures are left out: " +
	"name one replica with -pprof, not a balancer; or was the service started again?")

// follows reports whether a is a later state of the process of before: nothing that it counts can go
// back, and the collection that was the last then has ended when it had ended.
func (a *allocations) follows(before *allocations) bool {
	if a.total < before.total || a.numGC < before.numGC || a.forced < before.forced {
		return false
	}
	kept := int64(len(before.pauseEnd)) // entries of a ring
	if before.numGC == 0 || kept == 0 || a.numGC-before.numGC >= kept || len(a.pauseEnd) != len(before.pauseEnd) {
		return true
	}
	last := (before.numGC - 1) % kept
	return a.pauseEnd[last] == before.pauseEnd[last]
}

// collections sums up what runtime.MemStats tells of the collections since before: how many, and
// their pauses where the ring of the last 256 still has all of them. Neither the collector's CPU time
// in a window nor its clock time nor heap sizes can be told from it.
func (a *allocations) collections(before *allocations, window time.Duration) gctrace.Summary {
	n := a.numGC - before.numGC
	s := gctrace.Summary{
		Window: gctrace.Of(window), Collections: n, Forced: gctrace.Of(a.forced - before.forced), AllocBytes: gctrace.Of(a.total - before.total),
	}
	if n > 0 {
		s.Pace = gctrace.Of(window / time.Duration(n))
	}
	if kept := int64(len(a.pauses)); kept > 0 && n <= kept {
		pause := time.Duration(0)
		for i := before.numGC; i < a.numGC; i++ {
			pause += time.Duration(a.pauses[i%kept])
		}
		s.Wall.Pause = gctrace.Of(pause)
	}
	return s
}

// parseRing reads "[1 2 3]".
func parseRing(text string) []int64 {
	fields := strings.Fields(strings.Trim(text, "[]"))
	ring := make([]int64, 0, len(fields))
	for _, f := range fields {
		n, err := parseCount(f)
		if err != nil {
			return nil
		}
		ring = append(ring, n)
	}
	return ring
}

func abs(n int64) int64 { return max(n, -n) }
