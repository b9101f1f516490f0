package verdict

import (
	"fmt"
	"math"
	"strconv"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

func (v *Verdict) throttled() string {
	if v.Causes[0].Cause != reqtrace.CauseThrottled {
		return ""
	}
	return " " + quotaLine(v.report.Quota)
}

// quotaLine says how often and for how long the quota was used up, or "".
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

// procs is advice on GOMAXPROCS if the quota is the first cause, or "".
func (v *Verdict) procs() string {
	r := v.report
	if v.Causes[0].Cause != reqtrace.CauseThrottled || r.Quota == nil || r.Quota.CPUs == 0 {
		return ""
	}
	if most := int(max(math.Ceil(r.Quota.CPUs), 1)); r.Procs > most {
		return fmt.Sprintf(" Set GOMAXPROCS to %d, because %d exceeds the quota of %s.", most, r.Procs,
			cpus(r.Quota.CPUs))
	}
	return ""
}

// knows returns figures on what the kernel did. If no cause is certain, it adds what ran before
// the requests.
func (v *Verdict) knows() (list []string) {
	r := v.report
	if q := quotaLine(r.Quota); q != "" && (!v.Named || v.Causes[0].Cause != reqtrace.CauseThrottled) {
		list = append(list, q+fmt.Sprintf(" That is %s of the extra time.",
			textfmt.Share(r.Tail.Share(reqtrace.CauseThrottled))))
	}
	if v.Named || len(v.Causes) == 0 || !worth(r) || v.Causes[0].Cause != reqtrace.CauseRunqueueBusy ||
		v.Causes[0].Holder != "" {
		return list
	}
	for _, p := range places(r) {
		if p.Cause == reqtrace.CauseRunqueueBusy && p.Holder != "" {
			return append(list, fmt.Sprintf("Most often, %s ran before them, up to %s at a time.", p.Holder,
				textfmt.Duration(p.Longest)))
		}
	}
	return list
}
