package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// If the kernel or the hypervisor takes a thread's processor, its goroutine seems to run, and others
// seem to wait for it. So a cause that looks like that needs a function, a holder, or little lost
// time to be named.
const (
	tooMuchSteal = .05 // of the CPUs' time
	profileRate  = 100 // samples per second of a CPU profile
	// times as much lost time as the goroutine took
	runsWith = 50
)

// machineLike are the causes that a thread's wait for a processor looks like.
var machineLike = []reqtrace.Cause{
	reqtrace.CauseRunning, reqtrace.CauseSyscall, reqtrace.CauseRunqueueBusy, reqtrace.CauseRunqueueIdle,
}

func (v *Verdict) doubt() string {
	r := v.report
	if len(v.Causes) == 0 || !worth(r) {
		return ""
	}
	c := &v.Causes[0]
	known := c.Site != "" || c.Holder != "" && !areRequests(c.Holder, r)
	like := likeMachine(&c.Blame)
	if r.Machine.Steal >= tooMuchSteal && (!known && (like || c.Cause == reqtrace.CauseRunqueueGC) ||
		c.Cause == reqtrace.CauseStopped) {
		// its place is what the world is stopped for
		return fmt.Sprintf("The hypervisor took %s of the CPUs' time during the trace, so trace again when it takes "+
			"less.", textfmt.Share(r.Machine.Steal))
	}
	if waits(c.Cause) && c.Doing == reqtrace.CauseDescheduled {
		return "According to the CPU profile, its holder had a CPU for less than half of that time."
	}
	if r.Machine.Grid > 0 && like {
		return fmt.Sprintf("A CPU quota looks the same, because %s of all CPUs ended at the same point of each 100 "+
			"ms. Read its cpu.stat (-cpu-stat).", textfmt.Plural(r.Machine.Grid, "silence"))
	}
	// with counts, the threads' waits are a cause of their own
	if !like || r.Machine.Threads > 0 && r.Machine.Steal < muchSteal {
		return ""
	}
	times := 1
	switch {
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
	if took, lost := tookAtLeast(r), LostTime(r); took > 0 && lost >= time.Duration(times)*took {
		return fmt.Sprintf("It takes %s of the trace, and the service's threads waited %s for a CPU, which looks "+
			"the same.", textfmt.Duration(took), textfmt.Duration(lost))
	}
	return ""
}

func likeMachine(b *reqtrace.Blame) bool {
	return slices.Contains(machineLike, b.Cause) || waits(b.Cause) && slices.Contains(machineLike, b.Doing)
}

// LikeMachine reports whether the first cause looks like a thread's wait for a processor, and the report
// has no counts of these.
func (v *Verdict) LikeMachine() bool {
	return len(v.Causes) > 0 && likeMachine(&v.Causes[0].Blame) && v.report.Machine.Threads == 0
}

const otherRequests = "other requests"

func areRequests(holder string, r *reqtrace.Report) bool {
	return holder == otherRequests ||
		slices.ContainsFunc(r.Classes, func(x reqtrace.Class) bool { return x.Name == Function(holder) })
}

func waits(c reqtrace.Cause) bool { return c == reqtrace.CauseLock || c == reqtrace.CauseChannel }

// leastSamples returns how many samples the slowest 1% have if they really ran.
func leastSamples(r *reqtrace.Report) int {
	each := r.Tail.Parts.Of(reqtrace.CauseRunning) - r.Tail.Excess.Of(reqtrace.CauseRunning)/2
	kept := r.Tail.Requests / max(r.Sampled, 1)
	return max(enoughSamples, int(math.Ceil(float64(kept)*each.Seconds()*profileRate)))
}

// LostTime returns how long threads waited for a CPU, beyond the causes of requests.
func LostTime(r *reqtrace.Report) time.Duration {
	return r.Machine.RunDelay + time.Duration(r.Machine.Steal*float64(r.Procs)*float64(r.Trace))
}

// tookAtLeast returns for how much of the trace some of the slowest 1% waited more than usual for a
// processor, or seemed to.
func tookAtLeast(r *reqtrace.Report) (sum time.Duration) {
	var usual time.Duration
	for _, c := range machineLike {
		usual += r.Median.Parts.Of(c)
	}
	var spans []reqtrace.Span
	for i := range r.Blocks {
		for k := range r.Blocks[i].Slow {
			q := &r.Blocks[i].Slow[k]
			var like time.Duration
			for j := range q.Sites {
				if likeMachine(&q.Sites[j]) {
					like += q.Sites[j].Time
				}
			}
			if q.Duration() >= r.Tail.Min && like > usual {
				spans = append(spans, reqtrace.Span{Start: q.Start, End: q.Start + like - usual})
			}
		}
	}
	slices.SortFunc(spans, func(a, b reqtrace.Span) int { return cmp.Compare(a.Start, b.Start) })
	var seen time.Duration
	for _, s := range spans {
		sum += max(s.End-max(s.Start, seen), 0)
		seen = max(seen, s.End)
	}
	return sum
}

// Work that is done at a time, without waits for a CPU.
const (
	longHold = 5 * time.Millisecond // a holder of this is always named
	// times as long, by waits, that a shorter hold may become
	mostDilated = 30
	// times as long that a request's computing may become
	mostOwn = 10
)

var computes = []reqtrace.Cause{reqtrace.CauseRunning, reqtrace.CauseCgo, reqtrace.CauseAssistMark, reqtrace.CauseSweep}

// dilated moves waits for a CPU back to the causes that they delayed: holders, and goroutines that
// ran before requests. A lock that is held for 20 ms of work is the program's, even if waits for a
// CPU made that 100 ms. A lock that is held for 0.15 ms is not.
func dilated(r *reqtrace.Report, list []NamedCause) {
	at := slices.IndexFunc(list, func(n NamedCause) bool { return n.Cause == reqtrace.CauseDescheduled })
	if at < 0 {
		return
	}
	off := &list[at]
	given := map[string]bool{}
	for i := range list {
		n := &list[i]
		holder := Function(n.Holder)
		queue := n.Cause == reqtrace.CauseRunqueueBusy && !areRequests(n.Holder, r)
		if !waits(n.Cause) && !queue || holder == "" || n.Excess < worthTime || given[holder] {
			continue
		}
		given[holder] = true
		for _, p := range places(r) {
			if p.Cause == reqtrace.CauseDescheduled && Function(p.Holder) == holder {
				n.Waited += max(p.Excess, 0)
			}
		}
		n.Waited = min(n.Waited, off.Excess-off.behind)
		if (queue || n.Longest < longHold) && n.Excess < (n.Excess+n.Waited)/mostDilated {
			n.Waited = 0
		}
		off.behind += n.Waited
	}
	dilatedOwn(r, list, off)
}

// dilatedOwn moves the rest to what requests compute most, if that is long on its own.
func dilatedOwn(r *reqtrace.Report, list []NamedCause, off *NamedCause) {
	var own *NamedCause
	for i := range list {
		if n := &list[i]; slices.Contains(computes, n.Cause) && (own == nil || n.Excess > own.Excess) {
			own = n
		}
	}
	rest := off.Excess
	for _, p := range places(r) {
		if p.Cause == reqtrace.CauseDescheduled {
			rest -= max(p.Excess, 0)
		}
	}
	rest = min(rest, off.Excess-off.behind)
	if own == nil || rest <= 0 || own.Excess < longHold || own.Excess+rest > mostOwn*own.Excess {
		return
	}
	own.Waited = rest
	off.behind += rest
}

// whole returns a cause's share with its holder's waits for a CPU, and without those of others.
func (n *NamedCause) whole() float64 {
	if n.Excess <= 0 {
		return n.Share
	}
	return n.Share * float64(n.Excess+n.Waited-n.behind) / float64(n.Excess)
}

func (n *NamedCause) because() string {
	if n.Waited < time.Microsecond {
		return ""
	}
	who := "its holder"
	switch {
	case n.Cause == reqtrace.CauseRunqueueBusy:
		who = "these"
	case slices.Contains(computes, n.Cause):
		who = "the request"
	}
	return fmt.Sprintf(", %s because %s waited for a CPU (other processes ran)", textfmt.Share(n.whole()-n.Share), who)
}

func (v *Verdict) throttled() string {
	if v.Causes[0].Cause != reqtrace.CauseThrottled {
		return ""
	}
	return " " + quotaLine(v.report.Quota)
}

func quotaLine(q *reqtrace.Quota) string {
	if q == nil || q.CPUs == 0 || q.Throttled == 0 {
		return ""
	}
	return fmt.Sprintf("The quota of %s was used up in %d of %d periods, for %s in all.", cpus(q.CPUs), q.Throttled,
		max(q.Periods, q.Throttled), textfmt.Duration(q.Time))
}

func cpus(n float64) string {
	t := strconv.FormatFloat(n, 'g', 3, 64)
	if n == 1 {
		return t + " CPU"
	}
	return t + " CPUs"
}
