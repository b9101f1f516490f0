package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

// TestThrottled tests that the sentence names the quota if that is the first cause. Otherwise a figure
// has the quota's share.
func TestThrottled(t *testing.T) {
	quota := func(cpus float64) *reqtrace.Quota {
		return &reqtrace.Quota{CPUs: cpus, Periods: 50, Throttled: 21, Time: 1400 * ms}
	}
	report := func(more reqtrace.Cause, q *reqtrace.Quota) *reqtrace.Report {
		r := fakeReport(partsOf(times{reqtrace.CauseRunning: ms}),
			partsOf(times{reqtrace.CauseRunning: ms, reqtrace.CauseThrottled: 40 * ms, more: 50 * ms}))
		r.Tail.Sites, r.Quota = nil, q
		return r
	}
	const used = "The quota of 0.15 CPUs was used up in 21 of 50 periods, for 1.40 s in all."
	v := Of(report(reqtrace.CauseThrottled, quota(.15)))
	if v.Sentence != "100% of the extra time is waiting for the CPU quota (throttled). "+used {
		t.Error(v.Sentence)
	}
	v = Of(report(reqtrace.CauseLock, quota(.15)))
	if !slices.Contains(v.Figures, used+" That is 44% of the extra time.") || strings.Contains(v.Sentence, "quota") {
		t.Errorf("%s %q", v.Sentence, v.Figures)
	}
	for _, q := range []*reqtrace.Quota{nil, {}, {CPUs: 2, Periods: 50}} {
		if v = Of(report(reqtrace.CauseLock, q)); strings.Contains(strings.Join(v.Figures, ""), "The quota") {
			t.Errorf("%+v: %q", q, v.Figures)
		}
	}
}

// TestDescheduled tests that other processes on the CPU are a cause and not a doubt. A holder that
// had no CPU by the samples of a profile is a doubt.
func TestDescheduled(t *testing.T) {
	report := func(cause reqtrace.Cause, sites ...reqtrace.Blame) *reqtrace.Report {
		return fakeReport(partsOf(times{reqtrace.CauseRunning: ms}),
			partsOf(times{reqtrace.CauseRunning: ms, cause: 50 * ms}), sites...)
	}
	v := Of(report(reqtrace.CauseDescheduled, reqtrace.Blame{
		Cause: reqtrace.CauseDescheduled, Site: "main.ask (x.go:7)", Holder: "main.refresh (x.go:9)", Time: 50 * ms,
	}))
	const want = "100% of the extra time is waiting for a CPU (other processes ran). main.refresh (x.go:9) holds " +
		"what requests wait for. Requests wait in main.ask (x.go:7)."
	if v.Sentence != want || strings.HasPrefix(v.Fix, "at ") {
		t.Errorf("%s\n%s", v.Sentence, v.Fix)
	}
	v = Of(report(reqtrace.CauseLock, reqtrace.Blame{
		Cause: reqtrace.CauseLock, Op: "mutex", Site: "main.ask (x.go:7)", Holder: "main.refresh (x.go:9)",
		Doing: reqtrace.CauseDescheduled, Time: 50 * ms,
	}))
	if v.Named || !strings.Contains(v.Sentence, "its holder had a CPU for less than half of that time") ||
		!strings.Contains(v.Sentence, "main.refresh (x.go:9) holds while waiting for a CPU") {
		t.Error(v.Sentence)
	}
}

// TestDilated tests that a lock is the first cause if the work under it is worth naming, even if
// other processes took longer. Otherwise it is not.
func TestDilated(t *testing.T) {
	const ask, refresh = "main.ask (x.go:7)", "main.refresh (x.go:9)"
	for _, tt := range []struct {
		lock, off, longest time.Duration
		first              reqtrace.Cause
		says               string
	}{
		{
			20 * ms, 80 * ms, 20 * ms, reqtrace.CauseLock,
			"100% of the extra time is waiting for a mutex, 80% because its holder waited for a CPU (other " +
				"processes ran). main.refresh (x.go:9) holds it while computing, up to 20 ms at a time.",
		},
		{4 * ms, 96 * ms, 4 * ms, reqtrace.CauseLock, "100% of the extra time is waiting for a mutex, 96% because"},
		{2 * ms, 98 * ms, 20 * ms, reqtrace.CauseLock, "100% of the extra time is waiting for a mutex, 98% because"},
		{
			2 * ms, 98 * ms, 2 * ms, reqtrace.CauseDescheduled,
			"98% of the extra time is waiting for a CPU (other processes ran).",
		},
		{
			ms / 2, 5 * ms, ms / 2, reqtrace.CauseDescheduled,
			"91% of the extra time is waiting for a CPU (other processes ran).",
		},
	} {
		median := partsOf(times{reqtrace.CauseRunning: ms})
		v := Of(fakeReport(median, partsOf(times{
			reqtrace.CauseRunning: ms, reqtrace.CauseLock: tt.lock,
			reqtrace.CauseDescheduled: tt.off,
		}),
			reqtrace.Blame{Cause: reqtrace.CauseDescheduled, Site: ask, Holder: refresh, Time: tt.off},
			reqtrace.Blame{
				Cause: reqtrace.CauseLock,
				Op:    "mutex", Site: ask, Holder: refresh, Doing: reqtrace.CauseRunning, Time: tt.lock,
				Longest: tt.longest,
			}))
		if v.Causes[0].Cause != tt.first || !strings.HasPrefix(v.Sentence, tt.says) {
			t.Errorf("%v and %v: %s", tt.lock, tt.off, v.Sentence)
		}
		for s := range strings.SplitSeq(v.Sentence, ". ") {
			if words(s) > mostWords {
				t.Errorf("%d words: %s", words(s), s)
			}
		}
	}
}

// TestDilatedOwn tests that what requests compute is the first cause, if it is long enough on its
// own, even if other processes took their CPU for longer.
func TestDilatedOwn(t *testing.T) {
	for _, tt := range []struct {
		own, off time.Duration
		want     string
	}{
		{20 * ms, 60 * ms, "100% of the extra time is running on a CPU, 75% because the request waited for a CPU " +
			"(other processes ran)."},
		{20 * ms, 300 * ms, "94% of the extra time is waiting for a CPU (other processes ran)."},
		{ms, 4 * ms, "80% of the extra time is waiting for a CPU (other processes ran)."},
	} {
		median := partsOf(times{reqtrace.CauseRunning: ms})
		v := Of(fakeReport(median, partsOf(times{
			reqtrace.CauseRunning:     ms + tt.own,
			reqtrace.CauseDescheduled: tt.off,
		})))
		if !strings.HasPrefix(v.Sentence, tt.want) {
			t.Errorf("%v and %v: %s", tt.own, tt.off, v.Sentence)
		}
	}
}

// TestDilatedQueue tests that what ran before requests is the first cause, even if other processes
// took its CPU for longer. If other requests ran before them, it is not.
func TestDilatedQueue(t *testing.T) {
	for holder, want := range map[string]string{
		"main.batch (x.go:9)": "100% of the extra time is waiting for a CPU (other goroutines ran), 80% because " +
			"these waited for a CPU (other processes ran). main.batch (x.go:9) runs instead",
		"other requests": "80% of the extra time is waiting for a CPU (other processes ran).",
	} {
		median := partsOf(times{reqtrace.CauseRunning: ms})
		v := Of(fakeReport(median, partsOf(times{
			reqtrace.CauseRunning: ms, reqtrace.CauseRunqueueBusy: 20 * ms,
			reqtrace.CauseDescheduled: 80 * ms,
		}),
			reqtrace.Blame{Cause: reqtrace.CauseDescheduled, Holder: holder, Time: 80 * ms},
			reqtrace.Blame{Cause: reqtrace.CauseRunqueueBusy, Holder: holder, Time: 20 * ms, Longest: 9 * ms}))
		if !strings.HasPrefix(v.Sentence, want) {
			t.Errorf("%s: %s", holder, v.Sentence)
		}
	}
}
