package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// A trace does not show what the kernel and the hypervisor did with the program's threads. If
// they take a thread's processor, its goroutine seems to run, and others wait in a run queue. So
// a cause that looks like that, without a function or a holder, is named only if it is unlikely
// to be the machine's.
const (
	tooMuchSteal = .1  // steal above which stolen time cannot be told from such a cause
	profileRate  = 100 // samples per second of running in a CPU profile (runtime/pprof)
	// a goroutine that ran instead is named unless this many times as long was lost
	runsWith = 50
)

// machineLike are the causes that a thread's wait for a processor looks like.
var machineLike = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseSyscall, reqtrace.CauseRunqueueBusy,
	reqtrace.CauseRunqueueIdle,
}

func (v *Verdict) doubt() string {
	r := v.report
	if len(v.Causes) == 0 || !worth(r) {
		return ""
	}
	c := &v.Causes[0]
	known := c.Site != "" || c.Holder != "" && !areRequests(c.Holder, r)
	like := slices.Contains(machineLike, c.Cause) || waits(c.Cause) && slices.Contains(machineLike, c.Doing)
	if r.Machine.Steal >= tooMuchSteal && (!known && (like || c.Cause == reqtrace.CauseRunqueueGC) ||
		c.Cause == reqtrace.CauseStopped) {
		// the place of CauseStopped is what it is stopped for
		return fmt.Sprintf("Meanwhile the hypervisor took %s of the CPUs' time, so trace again when it takes less.",
			textfmt.Share(r.Machine.Steal))
	}
	if waits(c.Cause) && c.Doing == reqtrace.CauseDescheduled {
		return "According to the CPU profile, its holder had a CPU for less than half of that time."
	}
	if r.Machine.Grid > 0 && like {
		return fmt.Sprintf("A CPU quota looks the same, because %s of all CPUs ended at the same point of each 100 ms. Read its cpu.stat (-cpu-stat).", textfmt.Plural(r.Machine.Grid, "silence"))
	}
	times := 1
	switch {
	case !like:
		return ""
	case r.Machine.Threads > 0 && r.Machine.Steal < muchSteal: // the threads' waits are a cause of their own
		return ""
	// it had one of Go's processors, whether or not the kernel let it run
	case known && c.Cause == reqtrace.CauseRunqueueBusy:
		times = runsWith
	case known:
		return ""
	case c.Cause == reqtrace.CauseRunning && r.Samples > 0:
		if n, least := sampled(&r.Tail), leastSamples(r); n < least {
			return fmt.Sprintf("The CPU profile has %s of it, and %d would prove that it ran, so trace for longer.",
				textfmt.Plural(n, "sample"), least)
		}
		return ""
	}
	if took, lost := tookAtLeast(r), lostTime(r); took > 0 && lost >= time.Duration(times)*took {
		return fmt.Sprintf("It takes %s of the trace, and the service's threads waited %s for a CPU, which looks the same.", textfmt.Duration(took), textfmt.Duration(lost))
	}
	return ""
}

// otherRequests is package reqtrace's name for goroutines that ran instead, if it knows no more.
const otherRequests = "other requests"

func areRequests(holder string, r *reqtrace.Report) bool {
	return holder == otherRequests ||
		slices.ContainsFunc(r.Classes, func(x reqtrace.Class) bool { return x.Name == functionOf(holder) })
}

// waits reports whether requests wait for a holder.
func waits(c reqtrace.Cause) bool { return c == reqtrace.CauseLock || c == reqtrace.CauseChannel }

// leastSamples returns how many samples the running of the slowest 1% has if it really ran.
func leastSamples(r *reqtrace.Report) int {
	each := r.Tail.Parts.Of(reqtrace.CauseRunning) - r.Tail.Excess.Of(reqtrace.CauseRunning)/2
	return max(reqtrace.EnoughSamples, int(math.Ceil(float64(kept(r))*each.Seconds()*profileRate)))
}

func kept(r *reqtrace.Report) int { return r.Tail.Requests / max(r.Sampled, 1) }

// lostTime returns how long the service's threads waited for a CPU, or lost it to the hypervisor.
func lostTime(r *reqtrace.Report) time.Duration {
	return r.Machine.RunDelay + time.Duration(r.Machine.Steal*float64(r.Procs)*float64(r.Trace))
}

// tookAtLeast returns for how much of the trace's time some of the slowest 1% waited more than
// usual for a processor, or seemed to. Each moment counts once.
func tookAtLeast(r *reqtrace.Report) (sum time.Duration) {
	usual := machineLikeTime(&r.Median.Parts)
	type span struct{ from, to time.Duration }
	var spans []span
	for i := range r.Blocks {
		for _, q := range r.Blocks[i].Slow {
			var like time.Duration
			for _, b := range q.Parts {
				if slices.Contains(machineLike, b.Cause) || waits(b.Cause) && slices.Contains(machineLike, b.Doing) {
					like += b.Time
				}
			}
			if q.Time >= r.Tail.Min && like > usual {
				spans = append(spans, span{q.Start, q.Start + like - usual})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var seen time.Duration
	for _, s := range spans {
		sum += max(s.to-max(s.from, seen), 0)
		seen = max(seen, s.to)
	}
	return sum
}

func machineLikeTime(p *reqtrace.Parts) (sum time.Duration) {
	for _, c := range machineLike {
		sum += p.Of(c)
	}
	return sum
}
