package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const mostWords = 25

// headline is the first sentence of a report, followed by who holds what requests wait for, and
// where they wait.
func (n *NamedCause) headline() string {
	t := fmt.Sprintf("%s of the extra time is %s%s.", textfmt.Share(n.whole()), asked(n.Cause, n.Op), n.because())
	for _, more := range []string{n.who(), n.where()} {
		if more != "" {
			t += " " + more
		}
	}
	return t
}

// line is where the time goes: where the holder spends it, else where the request does.
func (n *NamedCause) line() string {
	switch {
	// other processes or the quota can stop any line
	case n.Cause == reqtrace.CauseThrottled, n.Cause == reqtrace.CauseDescheduled:
		return ""
	case n.held() && n.DoingAt != "":
		return n.DoingAt
	}
	return n.Site
}

// held reports whether others hold what is waited for, such as SQLite's lock during a sleep.
func (n *NamedCause) held() bool {
	return waits(n.Cause) || n.Cause == reqtrace.CauseSleep && n.Holder != ""
}

func (v *Verdict) sameLine() (same []NamedCause) {
	shown := v.shown()
	line := shown[0].line()
	for i := range shown {
		if i == 0 || line != "" && shown[i].line() == line {
			same = append(same, shown[i])
		}
	}
	return same
}

// lineHeadline is for causes of one line. Some requests are at that line, and others wait for them.
func lineHeadline(same []NamedCause) string {
	sum, itself, first := 0., 0., NamedCause{}
	for _, n := range same {
		sum += n.whole()
		switch {
		case n.line() == n.Site:
			itself += n.Share
		case first.Share == 0:
			first = n
		}
	}
	if first.Share == 0 {
		return same[0].headline()
	}
	b := first.Blame
	b.Holder, b.DoingAt = "", ""
	t := fmt.Sprintf("%s of the extra time comes from %s", textfmt.Share(sum), first.DoingAt)
	if what := doing(&b); what != "" {
		t += ", which is " + what
	}
	t += fmt.Sprintf(". %s is %s", textfmt.Share(first.whole()), asked(first.Cause, first.Op))
	if first.Site != "" {
		t += " in " + first.Site
	}
	if first.Holder != "" {
		t += ", which " + first.Holder + " " + holds(first.Cause, first.Op)
		if first.Longest > 0 {
			t += ", up to " + textfmt.Duration(first.Longest)
		}
	}
	t += "."
	if itself > 0 {
		t += fmt.Sprintf(" %s is the line itself.", textfmt.Share(itself))
	}
	return t
}

// who is the sentence about the holder and what it does while it holds, "" if none is known.
func (n *NamedCause) who() string {
	var t string
	switch what := doing(&n.Blame); {
	case n.Cause == reqtrace.CauseRunqueueBusy && n.Holder != "":
		t = n.Holder + " runs instead"
	case n.Cause == reqtrace.CauseRunqueueBusy:
		return ""
	case n.Cause == reqtrace.CauseStoppedOther && n.Holder != "":
		t = n.Holder + " " + stopsFor(n.Op)
	case n.Cause == reqtrace.CauseDescheduled && n.Site == "" && (n.Holder == "" || n.Holder == otherRequests):
		return ""
	case n.Cause == reqtrace.CauseDescheduled && n.Site == "":
		t = n.Holder + " has the service's CPUs during that time"
	case n.Cause == reqtrace.CauseDescheduled && n.Holder != "":
		t = n.Holder + " holds what requests wait for"
	case n.Holder != "" && what != "":
		t = holderAt(&n.Blame) + " " + holds(n.Cause, n.Op) + " it while " + what
	case n.Holder != "":
		t = holderAt(&n.Blame) + " " + holds(n.Cause, n.Op) + " it"
	case what != "":
		t = "Its holder is " + what
	case n.Cause == reqtrace.CauseSleep && n.Inside != "":
		t = n.Inside + " sleeps"
	case n.Op == "gRPC stream":
		t = "Other calls use all streams that the server's MaxConcurrentStreams allows"
	default:
		return ""
	}
	if n.Writer != "" {
		t = "Reader " + t
	}
	if n.Longest == 0 {
		return t + "."
	}
	longest := ", up to " + textfmt.Duration(n.Longest)
	if words(t+longest)+3 <= mostWords {
		longest += " at a time"
	}
	return t + longest + "."
}

// where is the sentence about the line of the request.
func (n *NamedCause) where() string {
	if n.Site == "" {
		return ""
	}
	do := "wait"
	switch n.Cause {
	case reqtrace.CauseRunning:
		do = "compute"
	case reqtrace.CauseAssistMark, reqtrace.CauseAssistWait, reqtrace.CauseSweep:
		do = "allocate"
	case reqtrace.CauseSyscall, reqtrace.CauseCgo:
		do = "make the call"
	case reqtrace.CauseSleep:
		if n.Op == "sleep" {
			do = "sleep"
		}
	}
	t := "Requests " + do + " in " + n.Site
	switch {
	case n.Writer != "":
		t += ", behind writer " + n.Writer + ", which waits for that reader"
	case n.Cause == reqtrace.CauseSleep && n.Holder != "" && n.Inside != "":
		t += ", where " + n.Inside + " sleeps and tries again"
	case n.Handler != "" && Function(n.Handler) != Function(n.Site):
		t += ", called from " + n.Handler
	}
	return t + "."
}

// fix is the advice, with the line to change.
func (n *NamedCause) fix() string {
	at := n.Site
	switch {
	case n.Cause == reqtrace.CauseDescheduled:
		at = ""
	case n.Cause == reqtrace.CauseRunqueueBusy, n.Cause == reqtrace.CauseStoppedOther:
		at = n.Holder
	case n.held():
		at = cmp.Or(n.DoingAt, n.Holder, n.Site)
	}
	if line := lineOf(at); line != "" {
		return "at " + line + ", " + n.Mends + "."
	}
	return n.Mends + "."
}

// figures are the sentences below the headline: times, further causes, the share of the collector.
func (v *Verdict) figures() []string {
	r := v.report
	list := []string{fmt.Sprintf("The slowest 1%% take %s on average, the median %s.", textfmt.Duration(r.Tail.Mean),
		textfmt.Duration(r.Median.Mean))}
	if shown := v.shown(); len(shown) > 1 {
		line := shown[0].line()
		for i := range shown[1:] {
			if n := &shown[1+i]; line == "" || n.line() != line {
				list = append(list, "Also: "+n.also())
			}
		}
	}
	if c := v.Class; c != nil {
		list = append(list, fmt.Sprintf("%s of the slowest 1%% are %s. Of all requests, %s are.", textfmt.Share(c.Slow),
			c.Name, textfmt.Share(c.All)))
	}
	if q := quotaLine(r.Quota); q != "" && (!v.Named || v.Causes[0].Cause != reqtrace.CauseThrottled) {
		list = append(list, q+fmt.Sprintf(" That is %s of the extra time.",
			textfmt.Share(r.Tail.Share(reqtrace.CauseThrottled))))
	}
	if v.Excess <= 0 {
		return list
	}
	if v.GC.Direct < worthShare {
		return append(list, fmt.Sprintf("The garbage collector takes %s of the extra time.",
			textfmt.Share(v.GC.Direct)))
	}
	list = append(list, fmt.Sprintf("The garbage collector takes at least %s of the extra time. The queue behind it "+
		"adds to that.", textfmt.Share(v.GC.Direct)))
	memory := ""
	if r.Allocated > 0 && r.Trace > 0 {
		memory = fmt.Sprintf(", which takes %s of memory per second",
			textfmt.Bytes(float64(r.Allocated)/r.Trace.Seconds()))
	}
	return append(list, "To measure all of it: evenkeel run -variant 'no gc: GOGC=off'"+memory+".")
}

// also describes a further cause without what its holder does.
func (n *NamedCause) also() string {
	b := n.Blame
	b.Doing, b.Longest = reqtrace.CauseUnknown, 0
	if b.Holder != "" {
		b.Site = ""
	}
	return textfmt.Share(n.whole()) + " " + Words(&b) + "."
}

func leftOut(r *reqtrace.Report) []string {
	list := []string{}
	if m := &r.Machine; m.Stalls > 0 {
		list = append(list, fmt.Sprintf("%s (%s) during which the whole machine stood still.", textfmt.Duration(m.Time),
			textfmt.Plural(m.Stalls, "time")))
	}
	cut := func(n int, when string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s under way when the trace %s.", textfmt.Plural(n, "request"), when))
		}
	}
	cut(r.CutStart, "began")
	cut(r.CutEnd, "ended")
	if r.Unmarked > 0 {
		list = append(list, fmt.Sprintf("%s without a region, because others have one.",
			textfmt.Plural(r.Unmarked, "request")))
	}
	if r.Measured > 0 {
		list = append(list, textfmt.Plural(r.Measured, "request")+" to /debug/pprof and status pages.")
	}
	return list
}

func words(s string) int { return len(strings.Fields(s)) }
