package verdict

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// Limits for the work that a holder does at a time, without its waits for a CPU.
const (
	longHold = 5 * time.Millisecond // longer holds are always named
	// a shorter hold is named if waits made it at most this many times as long
	mostDilated = 30
	// what requests compute is named if waits made it at most this many times as long
	mostOwn = 10
)

var computes = []reqtrace.Cause{reqtrace.CauseRunning, reqtrace.CauseCgo, reqtrace.CauseAssistMark, reqtrace.CauseSweep}

// dilated moves time from descheduled back to the causes that it delayed: holders of locks and
// channels, and goroutines that ran before requests. Their own work must be worth naming. A lock
// that is held for 20 ms of work is the program's, even if waits for a CPU made that 100 ms. A
// lock that is held for 0.15 ms is not.
func dilated(r *reqtrace.Report, list []NamedCause) {
	var off *NamedCause
	for i := range list {
		if list[i].Cause == reqtrace.CauseDescheduled {
			off = &list[i]
		}
	}
	if off == nil {
		return
	}
	given := map[string]bool{}
	for i := range list {
		n := &list[i]
		holder := functionOf(n.Holder)
		queue := n.Cause == reqtrace.CauseRunqueueBusy && !areRequests(n.Holder, r)
		if !waits(n.Cause) && !queue || holder == "" || n.Excess < worthTime || given[holder] {
			continue
		}
		given[holder] = true
		for _, p := range places(r) {
			if p.Cause == reqtrace.CauseDescheduled && functionOf(p.Holder) == holder {
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

// dilatedOwn moves the rest of descheduled to what requests compute most, if that is long on its
// own.
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

// whole returns a cause's share of the excess, with its holder's waits for a CPU and without
// those of other holders.
func (n *NamedCause) whole() float64 {
	if n.Excess <= 0 {
		return n.Share
	}
	return n.Share * float64(n.Excess+n.Waited-n.behind) / float64(n.Excess)
}

// because says which share is the holder's wait for a CPU. "": hardly any.
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
