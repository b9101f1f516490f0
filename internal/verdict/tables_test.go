package verdict

import (
	"slices"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

// TestHeadline: what is said of a cause, by what was waited for, who holds it and what that one
// does. No sentence is too long.
func TestHeadline(t *testing.T) {
	const (
		look, refresh, api = "main.look (look.go:12)", "main.refresh (refresh.go:33)", "main.api (api.go:5)"
		sync               = "bbolt.fdatasync (bolt_linux.go:9 in go.etcd.io/bbolt)"
	)
	for want, b := range map[string]reqtrace.Blame{
		"waiting for a mutex. main.refresh (refresh.go:29) holds it while computing, up to 30 ms at a time. " +
			"Requests wait in main.look (look.go:12), called from main.api (api.go:5).": {
			Cause: reqtrace.CauseLock, Op: "mutex", Site: look, Handler: api,
			Holder: refresh, Doing: reqtrace.CauseRunning, DoingAt: "main.refresh (refresh.go:29)", Longest: 30 * ms,
		},
		"waiting for an RWMutex. main.refresh (refresh.go:33) holds it while in the system call fdatasync in " +
			"bbolt.fdatasync (bolt_linux.go:9 in go.etcd.io/bbolt), up to 162 ms at a time. Requests wait in " +
			"main.look (look.go:12).": {
			Cause: reqtrace.CauseLock, Op: "RWMutex", Site: look,
			Handler: look, Holder: refresh, Doing: reqtrace.CauseSyscall, DoingOp: "fdatasync", DoingAt: sync,
			Longest: 162 * ms,
		},
		"waiting for a connection from a pool. sql.(*Rows).close (sql.go:9 in example.com/m) holds it while waiting " +
			"for a connection to a server in bbolt.fdatasync (bolt_linux.go:9 in go.etcd.io/bbolt), up to 1.50 s.": {
			Cause: reqtrace.CauseChannel, Op: "connection pool",
			Holder: "sql.(*Rows).close (sql.go:9 in example.com/m)", Doing: reqtrace.CauseNetwork,
			DoingOp: "connection to a server", DoingAt: sync, Longest: 1500 * ms,
		},
		"waiting for an RWMutex. Reader main.report (report.go:40) holds it while sleeping, up to 60 ms at a time. " +
			"Requests wait in main.look (look.go:12), behind writer main.refresh (refresh.go:33), which waits for " +
			"that reader.": {
			Cause: reqtrace.CauseLock, Op: "RWMutex", Site: look, Handler: api, Holder: "main.report (report.go:42)",
			Writer: refresh,
			Doing:  reqtrace.CauseSleep, DoingOp: "sleep", DoingAt: "main.report (report.go:40)", Longest: 60 * ms,
		},
		"waiting for a lock. main.refresh (refresh.go:33) holds it while computing. Requests wait in main.look " +
			"(look.go:12).": {Cause: reqtrace.CauseLock, Site: look, Holder: refresh, Doing: reqtrace.CauseRunning},
		"waiting for a singleflight call. main.refresh (refresh.go:33) runs " +
			"it.": {
			Cause: reqtrace.CauseLock, Op: "singleflight", Holder: refresh,
		},
		"waiting for a sync.Cond. main.refresh (refresh.go:33) signals " +
			"it.": {
			Cause: reqtrace.CauseLock, Op: "condition", Holder: refresh,
		},
		"waiting for a group of goroutines. main.refresh (refresh.go:33) ends last in " +
			"it.": {
			Cause: reqtrace.CauseLock, Op: "group of goroutines", Holder: refresh,
		},
		"waiting for a connection from a pool. Its holder is in C (cgo). Requests wait in main.look " +
			"(look.go:12).": {
			Cause: reqtrace.CauseChannel, Op: "connection pool", Site: look, Doing: reqtrace.CauseCgo,
		},
		"waiting for a semaphore. main.refresh (refresh.go:33) holds it while in C " +
			"(step).": {
			Cause: reqtrace.CauseChannel, Op: "semaphore", Holder: refresh, Doing: reqtrace.CauseCgo, DoingOp: "step",
		},
		"waiting for a channel. main.refresh (refresh.go:33) serves it while sleeping. Requests wait in main.look " +
			"(look.go:12).": {
			Cause: reqtrace.CauseChannel, Site: look, Holder: refresh,
			Doing: reqtrace.CauseSleep, DoingAt: refresh, DoingOp: "sleep",
		},
		"waiting for a free stream of a gRPC connection. Other calls use all streams that the server's " +
			"MaxConcurrentStreams allows. Requests wait in main.look (look.go:12).": {
			Cause: reqtrace.CauseChannel, Op: "gRPC stream", Site: look,
		},
		"in the system call fsync. Requests make the call in main.look " +
			"(look.go:12).": {Cause: reqtrace.CauseSyscall, Op: "fsync", Site: look},
		"in a system call by uring.enter. Requests make the call in main.look " +
			"(look.go:12).": {Cause: reqtrace.CauseSyscall, Op: "uring.enter", Site: look},
		"in C (step). Requests make the call in main.look (look.go:12).": {
			Cause: reqtrace.CauseCgo,
			Op:    "step", Site: look,
		},
		"sleeping. Requests sleep in main.look (look.go:12).": {
			Cause: reqtrace.CauseSleep,
			Op:    "sleep", Site: look,
		},
		"waiting for a rate limiter. Requests wait in main.look (look.go:12).": {
			Cause: reqtrace.CauseSleep,
			Op:    "rate limiter", Site: look,
		},
		"waiting for an SQLite lock. main.report (report.go:40) holds it while sleeping, up to 60 ms at a time. " +
			"Requests wait in main.look (look.go:12), where sqlite.busyHandler (busy.go:82 in modernc.org/sqlite) " +
			"sleeps and tries again.": {
			Cause: reqtrace.CauseSleep, Op: "SQLite lock", Site: look, Handler: api,
			Inside: "sqlite.busyHandler (busy.go:82 in modernc.org/sqlite)",
			Holder: "main.report (report.go:42)", Doing: reqtrace.CauseSleep, DoingOp: "sleep",
			DoingAt: "main.report (report.go:40)", Longest: 60 * ms,
		},
		"pausing before a retry. retry.Do (retry.go:9 in example.com/retry) sleeps. Requests wait in main.look " +
			"(look.go:12), called from main.api (api.go:5).": {
			Cause: reqtrace.CauseSleep, Op: "pause before a retry", Site: look, Handler: api,
			Inside: "retry.Do (retry.go:9 in example.com/retry)",
		},
		"waiting for a timer. Requests wait in main.look (look.go:12).": {Cause: reqtrace.CauseSleep, Site: look},
		"waiting for a name server. Requests wait in main.look (look.go:12).": {
			Cause: reqtrace.CauseNetwork,
			Op:    "name server", Site: look,
		},
		"waiting for the network.":                  {Cause: reqtrace.CauseNetwork},
		"waiting for a CPU (other goroutines ran).": {Cause: reqtrace.CauseRunqueueBusy},
		"waiting for a CPU (other goroutines ran). main.refresh (refresh.go:33) runs instead, up to 10 ms at a " +
			"time.": {Cause: reqtrace.CauseRunqueueBusy, Holder: refresh, Longest: 10 * ms},
		"a stop of the world, not by the GC. main.refresh (refresh.go:33) takes a stack trace of all goroutines, up " +
			"to 40 ms at a time.": {
			Cause: reqtrace.CauseStoppedOther, Op: "all goroutines stack trace", Holder: refresh, Longest: 40 * ms,
		},
		"a stop of the world, not by the GC.": {Cause: reqtrace.CauseStoppedOther, Op: "read mem stats"},
		"running on a CPU. Requests compute in main.look (look.go:12), called from main.api " +
			"(api.go:5).": {Cause: reqtrace.CauseRunning, Site: look, Handler: api},
		"marking for the GC (assist). Requests allocate in main.look " +
			"(look.go:12).": {Cause: reqtrace.CauseAssistMark, Site: look},
	} {
		n := NamedCause{Blame: b, Share: .5}
		if got := n.headline(); got != "50% of the extra time is "+want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := Words(&b); strings.HasSuffix(got, " ") {
			t.Errorf("%s: %q", want, got)
		}
		for _, said := range []string{n.headline(), "Also: " + n.also()} {
			for s := range strings.SplitSeq(said, ". ") {
				if words(s) > mostWords {
					t.Errorf("%d words: %s", words(s), s)
				}
			}
		}
		if got := Where(&b); strings.Contains(got, "  ") || got == "" || b.Holder != "" &&
			!strings.Contains(got, Function(b.Holder)) {
			t.Errorf("%s: %q", want, got)
		}
	}
}

// TestSameLine: causes that come down to one line are one, and come before a larger one of another line.
func TestSameLine(t *testing.T) {
	const fetch, get = "main.fetch (fetch.go:9)", "main.get (get.go:5)"
	median := partsOf(times{reqtrace.CauseRunning: ms})
	tail := partsOf(times{
		reqtrace.CauseRunning: ms, reqtrace.CauseLock: 32 * ms, reqtrace.CauseNetwork: 30 * ms,
		reqtrace.CauseSyscall: 38 * ms,
	})
	v := Of(fakeReport(median, tail,
		reqtrace.Blame{Cause: reqtrace.CauseSyscall, Site: "main.save (save.go:7)", Op: "fsync", Time: 38 * ms},
		reqtrace.Blame{
			Cause: reqtrace.CauseLock, Op: "singleflight", Site: get, Holder: "main.fill (get.go:8)",
			Doing: reqtrace.CauseNetwork, DoingAt: fetch,
			Time: 32 * ms, Longest: 40 * ms,
		},
		reqtrace.Blame{Cause: reqtrace.CauseNetwork, Site: fetch, Time: 30 * ms},
	))
	const want = "62% of the extra time comes from main.fetch (fetch.go:9), which is waiting for the network. " +
		"32% is waiting for a singleflight call in main.get (get.go:5), which main.fill (get.go:8) runs, " +
		"up to 40 ms. 30% is the line itself."
	if v.Sentence != want || v.Causes[0].Cause != reqtrace.CauseLock || v.Causes[1].Cause != reqtrace.CauseNetwork {
		t.Errorf("%s\n%+v", v.Sentence, v.Causes)
	}
	if !slices.Contains(v.Figures, "Also: 38% in the system call fsync in main.save (save.go:7).") {
		t.Errorf("%q", v.Figures)
	}
	if !strings.HasPrefix(v.Fix, "at fetch.go:9, ") {
		t.Error(v.Fix)
	}
}

// TestStopped: the headline says who stops the world, what for and for how long.
func TestStopped(t *testing.T) {
	median := partsOf(times{reqtrace.CauseRunning: ms})
	v := Of(fakeReport(median, partsOf(times{reqtrace.CauseRunning: ms, reqtrace.CauseStoppedOther: 20 * ms}),
		reqtrace.Blame{
			Cause: reqtrace.CauseStoppedOther, Op: "read mem stats", Holder: "main.report (report.go:9)", Time: 20 * ms,
			Longest: 40 * ms,
		}))
	const want = "100% of the extra time is a stop of the world, not by the GC. " +
		"main.report (report.go:9) calls runtime.ReadMemStats, up to 40 ms at a time."
	if v.Sentence != want || v.GC.Direct != 0 ||
		v.Fix != "at report.go:9, read runtime/metrics instead of runtime.ReadMemStats." {
		t.Errorf("%s\n%s\n%+v", v.Sentence, v.Fix, v.GC)
	}
}

// TestWords: a cause in a list of causes.
func TestWords(t *testing.T) {
	for want, b := range map[string]reqtrace.Blame{
		"waiting for a mutex that main.refresh (r.go:9) holds while waiting for the network, up to 30 ms at a time, " +
			"in main.look (l.go:2)": {
			Cause: reqtrace.CauseLock, Op: "mutex", Site: "main.look (l.go:2)",
			Holder: "main.refresh (r.go:33)", Doing: reqtrace.CauseNetwork, DoingAt: "main.refresh (r.go:9)",
			Longest: 30 * ms,
		},
		"waiting for an RWMutex that reader main.report (r.go:42) holds while sleeping, behind writer main.refresh " +
			"(w.go:3), in main.look": {
			Cause: reqtrace.CauseLock, Op: "RWMutex", Site: "main.look",
			Holder: "main.report (r.go:42)", Writer: "main.refresh (w.go:3)", Doing: reqtrace.CauseSleep,
			DoingOp: "sleep",
		},
		"waiting for a lock that main.refresh holds, in main.look": {
			Cause: reqtrace.CauseLock, Site: "main.look",
			Holder: "main.refresh",
		},
		"waiting for a lock whose holder is sleeping, in main.look": {
			Cause: reqtrace.CauseLock, Site: "main.look",
			Doing: reqtrace.CauseSleep, DoingOp: "sleep",
		},
		"waiting for a timer in main.retry": {
			Cause: reqtrace.CauseSleep,
			Site:  "main.retry",
		},
		"waiting for a CPU (other goroutines ran), such as main.batch": {
			Cause:  reqtrace.CauseRunqueueBusy,
			Holder: "main.batch",
		},
		"running on a CPU": {Cause: reqtrace.CauseRunning},
	} {
		if got := Words(&b); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestFix: the advice is at the line that is to be edited.
func TestFix(t *testing.T) {
	for want, b := range map[string]reqtrace.Blame{
		"at r.go:9, edit.": {
			Cause: reqtrace.CauseLock, Site: "main.look (l.go:2)", Holder: "main.refresh (r.go:33)",
			DoingAt: "main.refresh (r.go:9)",
		},
		"at t.go:7, edit.": {
			Cause: reqtrace.CauseSleep, Site: "main.look (l.go:2)", Holder: "main.report (r.go:33)",
			DoingAt: "main.report (t.go:7)",
		},
		"at r.go:33, edit.": {Cause: reqtrace.CauseRunqueueBusy, Holder: "main.refresh (r.go:33)"},
		"at l.go:2, edit.":  {Cause: reqtrace.CauseSyscall, Site: "main.look (l.go:2)"},
		"edit.":             {Cause: reqtrace.CauseRunqueueGC},
	} {
		n := NamedCause{Blame: b, Mends: "edit"}
		if got := n.fix(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLocate: what at least half of a cause has in common is said of it. A function that lets go at
// two lines is one holder, whoever waits for it; who holds it for a moment is not.
func TestLocate(t *testing.T) {
	lock := func(site, holder string, doing reqtrace.Cause, n int) reqtrace.Blame {
		return reqtrace.Blame{
			Cause: reqtrace.CauseLock, Op: "mutex",
			Site: site, Holder: holder, Doing: doing, DoingAt: "main.rest (rest.go:1)", Time: ms * time.Duration(n),
			Longest: ms,
		}
	}
	refresh, again, look := "main.refresh (a.go:5)", "main.refresh (a.go:9)", "main.look (b.go:7)"
	for name, tt := range map[string]struct {
		sites []reqtrace.Blame
		want  reqtrace.Blame
	}{
		"one holder, three places": {
			[]reqtrace.Blame{
				lock("main.a", refresh, reqtrace.CauseSleep, 4), lock("main.b", again, reqtrace.CauseSleep, 3),
				lock("main.c", again, reqtrace.CauseSleep, 2),
				lock("main.a", look, reqtrace.CauseRunning, 1),
			},
			reqtrace.Blame{Site: "main.a", Holder: refresh, Doing: reqtrace.CauseSleep},
		},
		"one place, many holders": {
			[]reqtrace.Blame{
				lock("main.a", "main.x (x.go:1)", reqtrace.CauseNetwork, 3),
				lock("main.a", "main.y (y.go:1)", reqtrace.CauseNetwork, 3),
				lock("main.a", "main.z (z.go:1)", reqtrace.CauseNetwork, 3), lock("main.a", look, reqtrace.CauseRunning,
					1),
			},
			reqtrace.Blame{Site: "main.a", Doing: reqtrace.CauseNetwork},
		},
		"nothing in common": {
			[]reqtrace.Blame{
				lock("main.a", "main.x (x.go:1)", reqtrace.CauseNetwork, 3),
				lock("main.b", "main.y (y.go:1)", reqtrace.CauseSleep, 3), lock("main.c", look, reqtrace.CauseRunning,
					4),
			},
			reqtrace.Blame{},
		},
	} {
		median, tail := partsOf(times{reqtrace.CauseRunning: ms}),
			partsOf(times{reqtrace.CauseRunning: ms, reqtrace.CauseLock: 10 * ms})
		n := Of(fakeReport(median, tail, tt.sites...)).Causes[0]
		got := reqtrace.Blame{Site: n.Site, Holder: n.Holder, Doing: n.Doing}
		if got != tt.want || n.Op != "mutex" || n.Cause != reqtrace.CauseLock || (n.Doing != 0) != (n.Longest == ms) {
			t.Errorf("%s: %+v", name, n)
		}
	}
}

// TestPlaces: one that takes less than a nanosecond of a request is no row; one that only the
// median has is none either.
func TestPlaces(t *testing.T) {
	r := &reqtrace.Report{}
	r.Tail.Sites = []reqtrace.Blame{
		{Cause: reqtrace.CauseLock, Site: "main.a", Time: ms},
		{Cause: reqtrace.CauseLock, Site: "main.b"},
	}
	r.Median.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseLock, Site: "main.c", Time: ms}}
	if list := places(r); len(list) != 1 || list[0].Site != "main.a" || list[0].Excess != ms {
		t.Errorf("%+v", list)
	}
}

// TestSlowClass: where the slowest are of another class than the rest, a figure says so; not where a class is rare
// only because stacks tell it of the slow ones alone.
func TestSlowClass(t *testing.T) {
	const says = "96% of the slowest 1% are main.report. Of all requests, 4% are."
	for _, tt := range []struct {
		name    string
		classes []reqtrace.Class
		class   string // Options.Class
		want    bool
	}{
		{"another one", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 11520, Slow: 5},
		}, "", true},
		{"some are not known", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 7520, Slow: 5},
			{Requests: 4000},
		}, "", true},
		{"most are not known", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Requests: 11520, Slow: 5},
		}, "", false},
		{"the slow ones are not known", []reqtrace.Class{
			{Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 11520, Slow: 5},
		}, "", false},
		{"as the rest", []reqtrace.Class{
			{Name: "main.report", Requests: 11000, Slow: 115},
			{Name: "main.hello", Requests: 1000, Slow: 5},
		}, "", false},
		{
			"too few",
			[]reqtrace.Class{{Name: "main.report", Requests: 4, Slow: 4}, {Name: "main.hello", Requests: 100}},
			"", false,
		},
		{"one class", []reqtrace.Class{{Name: "main.report", Requests: 12000, Slow: 120}}, "", false},
		{"alone", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 11520, Slow: 5},
		}, "main.report", false},
	} {
		r := knownReport()
		r.Classes, r.Class = tt.classes, tt.class
		v := Of(r)
		if got := slices.Contains(v.Figures, says); got != tt.want || got != (v.Class != nil) {
			t.Errorf("%s: %q, %+v", tt.name, v.Figures, v.Class)
		}
		if tt.class != "" && !strings.HasPrefix(v.Scope(), "class main.report: 12,000 whole requests") {
			t.Errorf("%s: %q", tt.name, v.Scope())
		}
	}
}

func TestBuiltFunction(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]string{
		"main.(*cache).get (cache.go:51)":                       "main.(*cache).get",
		"main.main.func3.1 (main.go:7)":                         "main.main.func",
		"rate.(*Limiter).Wait (rate.go:7 in golang.org/x/time)": "rate.(*Limiter).Wait",
		"pool.Get[...].func2 (pool.go:1)":                       "pool.Get[...].func",
		"main.all-range1 (main.go:8)":                           "main.all-range",
		"main.func2name (x.go:1)":                               "main.func2name",
		"":                                                      "",
	} {
		if got := builtFunction(site); got != want {
			t.Errorf("%q: %q, want %q", site, got, want)
		}
	}
}
