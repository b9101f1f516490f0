package verdict

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

func TestVerdict(t *testing.T) {
	const us = time.Microsecond
	base := partsOf(times{reqtrace.CauseRunning: 2 * ms})
	plus := func(c reqtrace.Cause, d time.Duration, more ...any) reqtrace.Parts {
		p := base
		p.Add(c, d)
		for i := 0; i < len(more); i += 2 {
			p.Add(more[i].(reqtrace.Cause), more[i+1].(time.Duration))
		}
		return p
	}
	for _, tt := range []struct {
		name  string
		tail  reqtrace.Parts
		sites []reqtrace.Blame
		edit  func(*reqtrace.Report)
		want  string
		also  string // of the figures
		named bool
		first reqtrace.Cause
	}{
		{
			"queue, lock at its place",
			plus(reqtrace.CauseRunqueueGC, 12*ms, reqtrace.CauseLock, 4*ms),
			[]reqtrace.Blame{
				{Cause: reqtrace.CauseLock, Site: "(*cache).get (c.go:5)", Time: 3 * ms},
				{Cause: reqtrace.CauseLock, Site: "other (c.go:9)", Time: ms},
			},
			nil,
			"75% of the extra time is waiting for a CPU (GC workers ran).",
			"Also: 25% waiting for a lock in (*cache).get (c.go:5).",
			true, reqtrace.CauseRunqueueGC,
		},
		{
			"no place has half of it",
			plus(reqtrace.CauseChannel, 9*ms),
			[]reqtrace.Blame{
				{Cause: reqtrace.CauseChannel, Site: "a", Time: 4 * ms},
				{Cause: reqtrace.CauseChannel, Site: "b", Time: 3 * ms},
				{
					Cause: reqtrace.CauseNetwork, Site: "n",
					Time: 9 * ms,
				},
			},
			nil, "100% of the extra time is waiting for a channel.", "", true, reqtrace.CauseChannel,
		},
		{
			"both assists are one, and first together",
			plus(reqtrace.CauseAssistMark, 3*ms, reqtrace.CauseAssistWait, 4*ms, reqtrace.CauseSyscall, 5*ms),
			[]reqtrace.Blame{
				{Cause: reqtrace.CauseAssistMark, Site: "alloc", Time: 2 * ms},
				{Cause: reqtrace.CauseAssistWait, Site: "alloc", Time: 2 * ms},
			},
			nil, "58% of the extra time is waiting for the GC (assist). Requests allocate in alloc.",
			"Also: 42% in a system call.", true, reqtrace.CauseAssistWait,
		},
		{
			"four are named, and none below a tenth",
			plus(reqtrace.CauseSweep, 5*ms, reqtrace.CauseStopped, 4*ms,
				reqtrace.CauseCgo, 3*ms, reqtrace.CauseSleep, 2*ms, reqtrace.CauseNetwork, 2*ms, reqtrace.CauseLock,
				500*us),
			nil, nil,
			"30% of the extra time is sweeping for the GC.",
			"Also: 24% a stop of the world by the GC.|Also: 18% in C (cgo).|Also: 12% waiting for the network.",
			true, reqtrace.CauseSweep,
		},
		{
			"a place that the median has as well is none",
			plus(reqtrace.CauseLock, 3*ms),
			[]reqtrace.Blame{{Cause: reqtrace.CauseLock, Site: "always", Time: 3 * ms}},
			func(r *reqtrace.Report) {
				r.Median.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseLock, Site: "always", Time: 2 * ms}}
			},
			"100% of the extra time is waiting for a lock.", "", true, reqtrace.CauseLock,
		},
		{
			"less than twice the median", plus(reqtrace.CauseLock, 1990*us), nil, nil,
			"No cause to name. The slowest 1% take only 1.99 ms more than the median request.", "", false,
			reqtrace.CauseLock,
		},
		{
			"less than a millisecond",
			partsOf(times{reqtrace.CauseRunning: 990 * us}),
			nil,
			func(r *reqtrace.Report) {
				median := partsOf(times{reqtrace.CauseRunning: 10 * us})
				r.Median, r.Tail = bandOf("p45-55", 9, median, &median), bandOf("p99+", 99, r.Tail.Parts, &median)
			},
			"No cause to name. The slowest 1% take only 980 µs more than the median request.", "", false,
			reqtrace.CauseRunning,
		},
		{
			"nothing more", base, nil, nil, "No cause to name. The slowest 1% take as long as the median request.", "",
			false, reqtrace.CauseUnknown,
		},
		{
			"no whole request", base, nil, func(r *reqtrace.Report) { r.Requests = 0 },
			"No request is whole in 5 s of trace. Trace for longer.", "", false, reqtrace.CauseUnknown,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := fakeReport(base, tt.tail, tt.sites...)
			if tt.edit != nil {
				tt.edit(r)
			}
			v := Of(r)
			if v.Sentence != tt.want || v.Named != tt.named {
				t.Errorf("verdict %v %q\nwant    %v %q", v.Named, v.Sentence, tt.named, tt.want)
			}
			var also []string
			for _, f := range v.Figures {
				if strings.HasPrefix(f, "Also: ") {
					also = append(also, f)
				}
			}
			if got := strings.Join(also, "|"); got != tt.also {
				t.Errorf("the figures say %q, want %q", got, tt.also)
			}
			if len(v.Causes) > 0 && v.Causes[0].Cause != tt.first {
				t.Errorf("first is %s, want %s", v.Causes[0].Cause, tt.first)
			}
			sum := 0.
			for _, c := range v.Causes {
				sum += c.Share
			}
			if len(v.Causes) > 0 && (sum < .999 || sum > 1.001) {
				t.Errorf("shares add up to %f", sum)
			}
		})
	}
}

func TestVerdictCaveats(t *testing.T) {
	lock := partsOf(times{reqtrace.CauseRunning: 2 * ms, reqtrace.CauseLock: 8 * ms})
	for _, tt := range []struct {
		name string
		tail reqtrace.Parts
		edit func(*reqtrace.Report)
		want string
	}{
		{"none", lock, func(*reqtrace.Report) {}, ""},
		{
			"broken", lock, func(r *reqtrace.Report) { r.Broken = "after 7 events: unexpected EOF" },
			"The report covers only the 5 s before that. Take it again, and wait for its end (after 7 events: " +
				"unexpected EOF)",
		},
		{"few", lock, func(r *reqtrace.Report) { r.Tail.Requests = 9 }, "p99+ is 9 requests of 12,000"},
		{"enough", lock, func(r *reqtrace.Report) { r.Tail.Requests = 10 }, ""},
		{"cut", lock, func(r *reqtrace.Report) { r.CutEnd = 640 }, "The trace's edges cut off 652 requests"},
		{"little cut", lock, func(r *reqtrace.Report) { r.CutEnd = 600 }, ""},
		{
			"unknown", partsOf(times{
				reqtrace.CauseRunning: 2 * ms,
				reqtrace.CauseLock:    7 * ms, reqtrace.CauseUnknown: ms,
			}), func(*reqtrace.Report) {},
			"10.0% of the time of p99+ is unknown",
		},
		{"running", partsOf(times{reqtrace.CauseRunning: 20 * ms}), func(*reqtrace.Report) {}, "Running includes what"},
		{"a little running", partsOf(times{reqtrace.CauseRunning: 3 * ms}), func(*reqtrace.Report) {}, ""},
	} {
		r := fakeReport(partsOf(times{reqtrace.CauseRunning: 2 * ms}), tt.tail)
		tt.edit(r)
		got := strings.Join(Of(r).Caveats, "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestCauseWords has every cause said in words, and no two alike.
func TestCauseWords(t *testing.T) {
	phrases, letters := map[string]bool{}, map[byte]bool{}
	if len(causeWords) != len(reqtrace.Causes()) {
		t.Errorf("%d of %d causes have words", len(causeWords), len(reqtrace.Causes()))
	}
	for c, w := range causeWords {
		if w.phrase == "" || w.letter == 0 || w.ansi == "" || phrases[w.phrase] || letters[w.letter] {
			t.Errorf("%s: %+v is incomplete, or not its own", reqtrace.Cause(c), w)
		}
		phrases[w.phrase], letters[w.letter] = true, true
	}
	seen := map[reqtrace.Cause]bool{}
	for _, c := range causeOrder {
		seen[c] = true
	}
	if len(seen) != len(reqtrace.Causes()) || len(causeOrder) != len(reqtrace.Causes()) {
		t.Errorf("causeOrder has %d of %d causes", len(seen), len(reqtrace.Causes()))
	}
}

// TestRunningBySamples: a function is named where the interval of its share shows that it is much,
// and listed where there are a few.
func TestRunningBySamples(t *testing.T) {
	r := fakeReport(partsOf(times{reqtrace.CauseRunning: ms}), partsOf(times{reqtrace.CauseRunning: 50 * ms}))
	r.Samples = 100
	for _, tt := range []struct {
		site          string
		count         int
		low           float64
		named, listed bool
	}{
		{"main.burn (x.go:7)", 4, .51, false, false},
		{"main.burn (x.go:7)", 5, .5655, true, true},
		{"main.burn (x.go:7)", 18, .7536, true, true},
		{"main.burn (x.go:7)", 10, .2993, false, true},
		{"", 20, .8389, false, true},
	} {
		r.Tail.Samples = []reqtrace.Sample{{
			Site: tt.site, Handler: "main.report (r.go:5)", Count: tt.count, Share: 1,
			Low: tt.low, High: 1,
		}}
		v := Of(r)
		if named := strings.Contains(v.Sentence,
			"is running on a CPU. Requests compute in main.burn (x.go:7), called from main.report "+
				"(r.go:5)."); named != tt.named {
			t.Errorf("%+v: %s", tt, v.Sentence)
		}
		if said := strings.Contains(strings.Join(v.Caveats, "\n"), "of the running of p99+"); said == tt.named {
			t.Errorf("%+v: %q", tt, v.Caveats)
		}
		if listed := len(v.Running()) > 0; listed != tt.listed {
			t.Errorf("%+v: listed is %v", tt, listed)
		}
	}
}

// TestStolen: where the hypervisor took much, what looks like it is not named, and what is known by
// more than its cause is.
func TestStolen(t *testing.T) {
	for _, tt := range []struct {
		cause reqtrace.Cause
		site  string
		steal float64
		named bool
	}{
		{reqtrace.CauseRunning, "", .23, false},
		{reqtrace.CauseRunning, "", .04, true},
		{reqtrace.CauseSyscall, "", .23, false},
		{reqtrace.CauseSyscall, "main.save (x.go:7)", .23, true},
		{reqtrace.CauseRunqueueIdle, "", .23, false},
		{reqtrace.CauseStopped, "stop-the-world (GC sweep termination)", .23, false},
		{reqtrace.CauseLock, "", .23, true},
	} {
		r := fakeReport(partsOf(times{reqtrace.CauseRunning: ms}),
			partsOf(times{reqtrace.CauseRunning: ms, tt.cause: 50 * ms}))
		r.Tail.Sites = nil
		if tt.site != "" {
			r.Tail.Sites = []reqtrace.Blame{{Cause: tt.cause, Site: tt.site, Time: 50 * ms}}
		}
		r.Machine.Steal = tt.steal
		v := Of(r)
		if said := strings.Contains(v.Sentence, "The hypervisor took 23% of the CPUs' time"); v.Named != tt.named ||
			said == tt.named {
			t.Errorf("%+v: %s", tt, v.Sentence)
		}
	}
}

// TestDoubt: what looks like waits of threads for a processor is named where it is known by more
// than that, where samples of a CPU profile show that it ran, or where threads of the machine did
// not wait for as long.
func TestDoubt(t *testing.T) {
	const lost = 500 * ms
	tail := func(cause reqtrace.Cause, apart time.Duration) *reqtrace.Report {
		r := fakeReport(partsOf(times{reqtrace.CauseRunning: ms}),
			partsOf(times{reqtrace.CauseRunning: ms, cause: 50 * ms}))
		r.Tail.Sites, r.Tail.Requests, r.Tail.Min = nil, 12, 40*ms
		for i := range 12 {
			parts := []reqtrace.Blame{
				{Cause: reqtrace.CauseRunning, Time: ms},
				{Cause: cause, Doing: reqtrace.CauseSyscall, Time: 50 * ms},
			}
			r.Blocks = append(r.Blocks, reqtrace.Block{Slow: []reqtrace.Request{
				{Start: time.Duration(i) * apart, End: time.Duration(i)*apart + 51*ms, Sites: parts},
				{Start: time.Second, End: time.Second + 39*ms, Sites: parts}, // none of the slowest 1%
			}})
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		cause reqtrace.Cause
		apart time.Duration // of the slow requests
		delay time.Duration // that threads waited for a CPU
		edit  func(*reqtrace.Report)
		want  string // in the sentence
		named bool
	}{
		// 600 ms
		{
			"more than was lost", reqtrace.CauseSyscall, 50 * ms, lost, nil,
			"100% of the extra time is in a system call.",
			true,
		},
		{
			"all at once", reqtrace.CauseSyscall, 0, lost, nil,
			"No cause is certain. 100% of the extra time is in a system call. It takes 50 ms of the trace, and the " +
				"service's threads waited 500 ms", false,
		},
		{"nearly all at once", reqtrace.CauseRunqueueIdle, 30 * ms, lost, nil, "It takes 380 ms of the trace", false},
		{
			"nothing was seen of the machine", reqtrace.CauseSyscall, 0, 0, nil,
			"100% of the extra time is in a system call", true,
		},
		{
			"stolen", reqtrace.CauseSyscall, 0, 0, func(r *reqtrace.Report) { r.Machine.Steal = .04 },
			"and the service's threads waited 400 ms", false,
		},
		{"its place is known", reqtrace.CauseSyscall, 0, lost, func(r *reqtrace.Report) {
			r.Tail.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseSyscall, Site: "main.save (x.go:7)", Time: 50 * ms}}
		}, "Requests make the call in main.save", true},
		{"who ran instead is known", reqtrace.CauseRunqueueBusy, 50 * ms, lost, func(r *reqtrace.Report) {
			r.Tail.Sites = []reqtrace.Blame{{
				Cause: reqtrace.CauseRunqueueBusy, Holder: "main.batch (x.go:7)",
				Time: 50 * ms,
			}}
		}, "main.batch (x.go:7) runs instead", true},
		{
			"who ran instead is known, and so is that the kernel did not let it", reqtrace.CauseRunqueueBusy, 0,
			6 * lost,
			func(r *reqtrace.Report) {
				r.Tail.Sites = []reqtrace.Blame{{
					Cause: reqtrace.CauseRunqueueBusy, Holder: "main.batch (x.go:7)",
					Time: 50 * ms,
				}}
			}, "No cause is certain", false,
		},
		{"a server's own goroutine", reqtrace.CauseChannel, 0, lost, func(r *reqtrace.Report) {
			r.Tail.Sites = []reqtrace.Blame{{Cause: reqtrace.CauseChannel, Doing: reqtrace.CauseSyscall, Time: 50 * ms}}
		}, "No cause is certain. 100% of the extra time is waiting for a channel", false},
		{"a goroutine of the program's", reqtrace.CauseChannel, 0, lost, func(r *reqtrace.Report) {
			r.Tail.Sites = []reqtrace.Blame{{
				Cause: reqtrace.CauseChannel, Doing: reqtrace.CauseSyscall,
				Holder: "main.own (x.go:7)", Time: 50 * ms,
			}}
		}, "main.own (x.go:7) serves it", true},
		{"nobody but other requests ran", reqtrace.CauseRunqueueBusy, 0, lost, func(r *reqtrace.Report) {
			r.Tail.Sites = []reqtrace.Blame{{
				Cause: reqtrace.CauseRunqueueBusy, Holder: "other requests",
				Time: 50 * ms,
			}}
		}, "No cause is certain", false},
		{
			"nobody but other requests ran, as their handler's name shows", reqtrace.CauseRunqueueBusy, 30 * ms, lost,
			func(r *reqtrace.Report) {
				r.Tail.Sites = []reqtrace.Blame{{
					Cause: reqtrace.CauseRunqueueBusy, Holder: "main.get (x.go:7)",
					Time: 50 * ms,
				}}
			}, "No cause is certain", false,
		},
		{"a lock", reqtrace.CauseLock, 0, lost, nil, "100% of the extra time is waiting for a lock", true},
		{
			"few samples", reqtrace.CauseRunning, 50 * ms, 0, func(r *reqtrace.Report) {
				r.Samples, r.Tail.Samples = 100, []reqtrace.Sample{
					{Site: "main.a", Count: 20, Low: .2},
					{Site: "main.b", Count: 10},
				}
			}, "The CPU profile has 30 samples of it, and 31 would prove",
			false,
		}, // 50 and 1 ms of 12 requests are 60 samples, and 1 ms is 1
		{"enough samples", reqtrace.CauseRunning, 50 * ms, lost, func(r *reqtrace.Report) {
			r.Samples, r.Tail.Samples = 100, []reqtrace.Sample{
				{Site: "main.a", Count: 20, Low: .2},
				{Site: "main.b", Count: 11},
			}
		}, "100% of the extra time is running", true},
		{
			"stolen, though threads have counts", reqtrace.CauseSyscall, 0, 0,
			func(r *reqtrace.Report) { r.Machine.Threads, r.Machine.Steal = 8, .03 },
			"and the service's threads waited 300 ms", false,
		},
		{
			"threads have counts", reqtrace.CauseSyscall, 0, lost, func(r *reqtrace.Report) { r.Machine.Threads = 8 },
			"100% of the extra time is in a system call", true,
		},
		{"few samples, but threads have counts", reqtrace.CauseRunning, 50 * ms, 0, func(r *reqtrace.Report) {
			r.Machine.Threads, r.Samples = 8, 100
		}, "100% of the extra time is running", true},
	} {
		t.Run(strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			r := tail(tt.cause, tt.apart)
			r.Machine.RunDelay = tt.delay
			if tt.edit != nil {
				tt.edit(r)
			}
			if v := Of(r); v.Named != tt.named || !strings.Contains(v.Sentence, tt.want) {
				t.Errorf("%v: %s", v.Named, v.Sentence)
			}
		})
	}
}

// TestMachineStoodStill: a line of its own says how long, and a caveat what it held up; running is
// named by its samples where they are enough, and else the reader is told how to get them.
func TestMachineStoodStill(t *testing.T) {
	r := fakeReport(partsOf(times{reqtrace.CauseRunning: ms}), partsOf(times{reqtrace.CauseRunning: 50 * ms}))
	v := Of(r)
	if s := strings.Join(v.Caveats, "\n"); !strings.Contains(s, "The CPU profile has 0 samples") ||
		!strings.Contains(s, "trace while a CPU profile runs") || strings.Contains(strings.Join(v.LeftOut, ""),
		"stood still") {
		t.Errorf("%s\n%s", v.Sentence, s)
	}
	r.Machine = reqtrace.Machine{Stalls: 3, Time: 479 * ms, Longest: 300 * ms, Requests: 7, Steal: .09}
	r.Samples, r.Tail.Samples = 100,
		[]reqtrace.Sample{{Site: "main.burn (x.go:7)", Count: 20, Share: 1, Low: .83, High: 1}}
	v = Of(r)
	if v.Sentence != "100% of the extra time is running on a CPU. Requests compute in main.burn (x.go:7)." ||
		v.LeftOut[0] != "479 ms (3 times) during which the whole machine stood still." {
		t.Errorf("%s\n%q", v.Sentence, v.LeftOut)
	}
	s := strings.Join(v.Caveats, "\n")
	for _, want := range []string{"at most 300 ms, and held up 7 requests", "9.0% of the CPUs' time"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is not in:\n%s", want, s)
		}
	}
	if strings.Contains(s, "The CPU profile") {
		t.Error(s)
	}
	r.Machine.Grid = 8
	v = Of(r)
	if s := strings.Join(v.Caveats, "\n"); v.Named || !strings.Contains(v.Sentence, "A CPU quota looks the same") ||
		!strings.Contains(s, "A CPU quota is likely, because 8 silences") {
		t.Errorf("%s\n%s", v.Sentence, s)
	}
}
