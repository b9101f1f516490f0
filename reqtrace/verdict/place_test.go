package verdict

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

// TestCauseText: what is said of a cause, by what was waited for, who had it and what that one did.
func TestCauseText(t *testing.T) {
	const look, refresh, api = "main.look (look.go:12)", "main.refresh (refresh.go:33)", "main.api (api.go:5)"
	for want, b := range map[string]reqtrace.Blame{
		"waiting for the mutex that main.refresh held while it waited for the network (refresh.go:29, for up to 30 ms), at main.look (look.go:12), called from main.api (api.go:5)": {
			Cause: reqtrace.CauseLock, Op: "mutex", Site: look, Handler: api, Holder: refresh, Doing: reqtrace.CauseNetwork, DoingAt: "main.refresh (refresh.go:29)", Longest: 30 * ms,
		},
		"waiting for the RWMutex that main.refresh held while it was in the system call fdatasync at bbolt.fdatasync (bolt_linux.go:9 in go.etcd.io/bbolt), for up to 162 ms, at main.look (look.go:12)": {
			Cause: reqtrace.CauseLock, Op: "RWMutex", Site: look, Handler: look, Holder: refresh, Doing: reqtrace.CauseSyscall, DoingOp: "fdatasync",
			DoingAt: "bbolt.fdatasync (bolt_linux.go:9 in go.etcd.io/bbolt)", Longest: 162 * ms,
		},
		"lock that main.refresh (refresh.go:33) held while it ran, at main.look (look.go:12)":           {Cause: reqtrace.CauseLock, Site: look, Holder: refresh, Doing: reqtrace.CauseRunning},
		"waiting for the singleflight that main.refresh (refresh.go:33) ran":                            {Cause: reqtrace.CauseLock, Op: "singleflight", Holder: refresh},
		"waiting for the condition that main.refresh (refresh.go:33) signalled":                         {Cause: reqtrace.CauseLock, Op: "condition", Holder: refresh},
		"waiting for the group of goroutines that main.refresh (refresh.go:33) ended last":              {Cause: reqtrace.CauseLock, Op: "group of goroutines", Holder: refresh},
		"waiting for the connection pool while its holder was in C, at main.look (look.go:12)":          {Cause: reqtrace.CauseChannel, Op: "connection pool", Site: look, Doing: reqtrace.CauseCgo},
		"waiting for the semaphore that main.refresh (refresh.go:33) held while it was in C (step)":     {Cause: reqtrace.CauseChannel, Op: "semaphore", Holder: refresh, Doing: reqtrace.CauseCgo, DoingOp: "step"},
		"channel that main.refresh served while it slept (refresh.go:33), at main.look (look.go:12)":    {Cause: reqtrace.CauseChannel, Site: look, Holder: refresh, Doing: reqtrace.CauseSleep, DoingAt: refresh, DoingOp: "sleep"},
		"system call fsync at main.look (look.go:12)":                                                   {Cause: reqtrace.CauseSyscall, Op: "fsync", Site: look},
		"C (step) at main.look (look.go:12)":                                                            {Cause: reqtrace.CauseCgo, Op: "step", Site: look},
		"C (cgo) at main.look (look.go:12)":                                                             {Cause: reqtrace.CauseCgo, Site: look},
		"sleeping at main.look (look.go:12)":                                                            {Cause: reqtrace.CauseSleep, Op: "sleep", Site: look},
		"waiting for the rate limiter at main.look (look.go:12)":                                        {Cause: reqtrace.CauseSleep, Op: "rate limiter", Site: look},
		"sleep or timer at main.look (look.go:12)":                                                      {Cause: reqtrace.CauseSleep, Site: look},
		"waiting for the name server at main.look (look.go:12)":                                         {Cause: reqtrace.CauseNetwork, Op: "name server", Site: look},
		"upstream or client (network)":                                                                  {Cause: reqtrace.CauseNetwork},
		"run queue behind other goroutines, such as main.refresh (refresh.go:33), for up to 10 ms each": {Cause: reqtrace.CauseRunqueueBusy, Holder: refresh, Longest: 10 * ms},
		"run queue behind other goroutines":                                                             {Cause: reqtrace.CauseRunqueueBusy},
		"running":                                                                                       {Cause: reqtrace.CauseRunning},
	} {
		n := NamedCause{
			Cause: b.Cause, Site: b.Site, Call: b.Call, Op: b.Op, Handler: b.Handler, Holder: b.Holder, Doing: b.Doing, DoingAt: b.DoingAt, DoingOp: b.DoingOp, Longest: b.Longest,
		}
		if got := n.text(true); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := Where(&b); strings.Contains(got, "  ") || got == "" || b.Holder != "" && !strings.Contains(got, functionOf(b.Holder)) {
			t.Errorf("%s: %q", want, got)
		}
	}
}

// TestLocate: what at least half of a cause has in common is said of it. A function that lets go at two lines is one holder,
// whoever waits for it; who holds it for a moment is not.
func TestLocate(t *testing.T) {
	lock := func(site, holder string, doing reqtrace.Cause, n int) reqtrace.Blame {
		return reqtrace.Blame{Cause: reqtrace.CauseLock, Op: "mutex", Site: site, Holder: holder, Doing: doing, DoingAt: "main.rest (rest.go:1)", Time: ms * time.Duration(n), Longest: ms}
	}
	refresh, again, look := "main.refresh (a.go:5)", "main.refresh (a.go:9)", "main.look (b.go:7)"
	for name, tt := range map[string]struct {
		sites []reqtrace.Blame
		want  NamedCause
	}{
		"one holder, three places": {
			[]reqtrace.Blame{
				lock("main.a", refresh, reqtrace.CauseSleep, 4), lock("main.b", again, reqtrace.CauseSleep, 3), lock("main.c", again, reqtrace.CauseSleep, 2),
				lock("main.a", look, reqtrace.CauseRunning, 1),
			},
			NamedCause{Site: "main.a", Holder: refresh, Doing: reqtrace.CauseSleep},
		},
		"one place, many holders": {
			[]reqtrace.Blame{
				lock("main.a", "main.x (x.go:1)", reqtrace.CauseNetwork, 3), lock("main.a", "main.y (y.go:1)", reqtrace.CauseNetwork, 3),
				lock("main.a", "main.z (z.go:1)", reqtrace.CauseNetwork, 3), lock("main.a", look, reqtrace.CauseRunning, 1),
			},
			NamedCause{Site: "main.a", Doing: reqtrace.CauseNetwork},
		},
		"nothing in common": {
			[]reqtrace.Blame{
				lock("main.a", "main.x (x.go:1)", reqtrace.CauseNetwork, 3), lock("main.b", "main.y (y.go:1)", reqtrace.CauseSleep, 3), lock("main.c", look, reqtrace.CauseRunning, 4),
			},
			NamedCause{},
		},
	} {
		median, tail := partsOf(times{reqtrace.CauseRunning: ms}), partsOf(times{reqtrace.CauseRunning: ms, reqtrace.CauseLock: 10 * ms})
		n := Of(fakeReport(median, tail, tt.sites...)).Causes[0]
		got := NamedCause{Site: n.Site, Holder: n.Holder, Doing: n.Doing}
		if got != tt.want || n.Op != "mutex" || n.Cause != reqtrace.CauseLock || (n.Doing != 0) != (n.Longest == ms) {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// TestPlaces: one that takes less than a nanosecond of a request is no row; one that only the median has is none either.
func TestPlaces(t *testing.T) {
	r := &reqtrace.Report{}
	r.Tail.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseLock, Site: "main.a", Time: ms}, {Cause: reqtrace.CauseLock, Site: "main.b"}}
	r.Median.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseLock, Site: "main.c", Time: ms}}
	if list := places(r); len(list) != 1 || list[0].Site != "main.a" || list[0].Excess != ms {
		t.Errorf("%+v", list)
	}
}
