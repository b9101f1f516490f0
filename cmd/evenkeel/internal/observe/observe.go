// Package observe records a service's profiles, gctrace lines and machine around a measured load.
package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/fetch"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/gctrace"
	"evenkeel.dev/internal/listeners"
	"evenkeel.dev/internal/proc"
	"evenkeel.dev/loadgen"
)

// Observer observes a service's collector and the machine around the measured window.
//
//	Begin   no request is in flight: profile (it collects), count of collections, machine
//	Loaded  all answers are there: count of collections, machine
//	End     profile (it collects again)
//	Fill    the log is complete
type Observer struct {
	Profiler *Profiler // nil: off
	Trace    trace
	Traced   bool
	Service  runfile.Watched

	before, after *allocations
	Unprofiled    error

	seenBefore, seenAfter int

	watch *runfile.Watch
	Run   runfile.Run
}

func (o *Observer) Begin(ctx context.Context) {
	seen := o.Trace.count()
	o.before = o.takeProfile(ctx, false)
	if o.before != nil && o.Trace.log != "" {
		o.Trace.awaitForced(ctx, seen, logPatience) // exclude the profile's own collection
	}
	o.seenBefore = o.Trace.mark()
	o.watch = runfile.NewWatch(o.Service)
}

func (o *Observer) Loaded() {
	if o.watch != nil {
		o.Run.Disturbance = o.watch.End()
	}
	o.seenAfter = o.Trace.count()
}

func (o *Observer) End(ctx context.Context) {
	if o.before != nil && ctx.Err() == nil {
		o.after = o.takeProfile(ctx, true)
	}
}

func (o *Observer) takeProfile(ctx context.Context, totalFirst bool) *allocations {
	if o.Profiler == nil {
		return nil
	}
	a, err := o.Profiler.take(ctx, totalFirst)
	if err != nil && ctx.Err() == nil {
		o.Unprofiled = err
	}
	return a
}

func (o *Observer) Note(format string, a ...any) {
	o.Run.Notes = append(o.Run.Notes, fmt.Sprintf(format, a...))
}

func (o *Observer) Fill(top int) {
	if o.after != nil && !o.after.follows(o.before) {
		o.Note("%v", errOtherProcess)
		o.after = nil
	}
	o.fillGC()
	if o.after != nil {
		a, err := o.after.since(o.before, top)
		if err == nil {
			o.Run.Alloc = a
			return
		}
		o.Note("%v", err)
	}
	if o.Run.GC != nil && o.Run.GC.Source == runfile.FromTrace {
		if n, ok := o.Run.GC.Summary.AllocBytes.Get(); ok && o.Run.GC.Summary.Collections > 0 {
			o.Run.Alloc = &runfile.Alloc{Bytes: n, Source: runfile.FromTrace}
		}
	}
}

func (o *Observer) fillGC() {
	if o.Traced {
		o.fillTrace()
	}
	if o.after == nil {
		return
	}
	counted := o.after.numGC - o.before.numGC
	if o.Run.GC == nil {
		o.Run.GC = &runfile.GC{
			Source:  runfile.FromMemStats,
			Summary: o.after.collections(o.before, o.Run.Load.Duration), Collections: []runfile.Collection{},
		}
		return
	}
	n := o.Run.GC.Summary.Collections
	if max(n-counted, counted-n) > 3+counted/20 { // a few are at the ends of the window
		o.Note("%d collections by gctrace, %d by runtime.MemStats: is the log another process's, or late?", n, counted)
	}
}

func (o *Observer) fillTrace() {
	t := &o.Trace
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.restarts > 0:
		o.Note("%s: the program was started again, or another writes there, so collections are left out",
			cmp.Or(t.log, "the server's standard error"))
		return
	case t.log != "" && len(t.cycles) == o.seenBefore:
		if o.after == nil || o.after.numGC != o.before.numGC {
			o.Note("%s: no gctrace line came during the load; start the service with GODEBUG=gctrace=1", t.log)
		}
		return
	case len(t.cycles) == 0:
		o.Note("the server printed no gctrace line; does a script, sudo or a container drop GODEBUG or stderr?")
		return
	}
	if lost := t.stats.Lost - t.lostBefore; lost > 0 {
		o.Note("%d gctrace lines could not be read: the server's own output stood in them", lost)
	}
	cycles, w := o.window()
	gc := &runfile.GC{
		Source: runfile.FromTrace, Summary: gctrace.Summarize(slices.Values(cycles), w),
		Collections: []runfile.Collection{},
	}
	for _, c := range cycles {
		if end := c.End(); w.From < end && end <= w.To {
			gc.Collections = append(gc.Collections, runfile.Collection{
				At: c.At - w.From, Wall: c.Wall.Total(), Pause: c.Wall.Pause(),
				Before: c.HeapBefore, After: c.HeapAfter, Live: c.HeapLive,
			})
		}
	}
	o.Run.GC = gc
}

// window returns the measured window in the server's time, and the collections without the final
// profile's. The caller holds the trace's mu.
func (o *Observer) window() ([]gctrace.Cycle, gctrace.Window) {
	t, load := &o.Trace, o.Run.Load
	from := load.Started.Sub(t.start)
	if o.seenBefore > 0 {
		from = max(from, t.cycles[o.seenBefore-1].End())
	}
	cycles := t.cycles
	if o.before != nil {
		if i := t.forcedSince(o.seenAfter); i >= 0 {
			cycles = cycles[:i]
		}
	}
	return cycles, gctrace.Window{From: from, To: from + load.Duration}
}

// How long to wait for the final profile's log line, or without one.
const (
	logPatience = 2 * time.Second
	logRest     = 300 * time.Millisecond
	logPoll     = 5 * time.Millisecond
)

const probeTimeout = 2 * time.Second

// ObserveRunning observes a running service. pprof may be "off". If certain, missing profiles are
// an error. log may be "".
func ObserveRunning(
	ctx context.Context, load *loadgen.Options, pprof string, certain bool, log string,
) (o *Observer, stop func(), err error) {
	o, stop = &Observer{}, func() {}
	o.Service = WhereIs(ctx, load.Targets)
	if pprof != "off" {
		o.Profiler = NewProfiler(pprof, load.TLS)
		probe, cancel := ctx, context.CancelFunc(func() {})
		if !certain {
			probe, cancel = context.WithTimeout(ctx, min(probeTimeout, load.Timeout))
		}
		_, err := o.Profiler.memStats(probe)
		cancel()
		switch {
		case err == nil:
			o.Run.PProf = o.Profiler.Base
		case certain:
			return nil, nil, fmt.Errorf("-pprof: %w", err)
		default:
			o.Profiler = nil
		}
	}
	if log != "" {
		if stop, err = o.Trace.follow(ctx, log); err != nil {
			return nil, nil, fmt.Errorf("-gctrace: %w", err)
		}
		o.Traced, o.Run.GCTrace = true, o.Trace.log
	}
	return o, stop, nil
}

// AwaitLog waits for the log of the window.
func (o *Observer) AwaitLog(ctx context.Context) {
	if !o.Traced {
		return
	}
	rest := logRest
	if o.after != nil {
		rest = logPatience
	}
	o.Trace.awaitForced(ctx, o.seenAfter, rest)
}

// FillRunning is Fill for a service that evenkeel did not start.
func (o *Observer) FillRunning() {
	if o.Service.Processes != nil {
		if n := proc.PeakRSS(o.Service.Processes()); n > 0 {
			o.Run.Server = &runfile.Server{PeakRSSBytes: n}
		}
	}
	o.Fill(Places)
	if o.Unprofiled != nil {
		o.Note("%v", o.Unprofiled)
	}
}

var errOtherProcess = errors.New("the profiles before and after the load are of different processes; " +
	"name one replica with -pprof, not a balancer")

// follows reports whether a is a later state of the same process.
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

// collections summarises runtime.MemStats, with pauses while its ring has all of them.
func (a *allocations) collections(before *allocations, window time.Duration) gctrace.Summary {
	n := a.numGC - before.numGC
	s := gctrace.Summary{
		Window: gctrace.Of(window), Collections: n, Forced: gctrace.Of(a.forced - before.forced),
		AllocBytes: gctrace.Of(a.total - before.total),
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

// parseRing reads [1 2 3].
func parseRing(text string) (ring []int64) {
	if json.Unmarshal([]byte(strings.ReplaceAll(text, " ", ",")), &ring) != nil {
		return nil
	}
	return ring
}

const maxHosts = 16

// WhereIs finds the local processes that listen at the targets.
func WhereIs(ctx context.Context, targets []loadgen.Target) runfile.Watched {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	seen := map[string]bool{}
	var here []netip.AddrPort
	for i := range targets {
		u, err := url.Parse(targets[i].URL)
		if err != nil || seen[u.Host] {
			continue
		}
		if seen[u.Host] = true; len(seen) > maxHosts {
			return runfile.Watched{}
		}
		addrs, err := Here(ctx, u)
		if err != nil {
			return runfile.Watched{}
		}
		here = append(here, addrs...)
	}
	if len(here) == 0 {
		return runfile.Watched{Elsewhere: true}
	}
	pids := listeners.Processes(here)
	return runfile.Watched{Processes: func() []int { return pids }}
}

// Here returns the local addresses that a URL leads to.
func Here(ctx context.Context, u *url.URL) (here []netip.AddrPort, err error) {
	_, text, _ := net.SplitHostPort(fetch.Address(u))
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, err
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, err
	}
	mine := listeners.LocalAddrs()
	for _, a := range addrs {
		if a = a.Unmap(); a.IsLoopback() || mine[a] {
			here = append(here, netip.AddrPortFrom(a, uint16(port)))
		}
	}
	return here, nil
}
