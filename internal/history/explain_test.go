package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/reqtrace"
)

var mutex = reqtrace.Blame{
	Cause: reqtrace.CauseLock, Site: "main.get (main.go:33)", Op: "mutex", Holder: "main.refresh (main.go:40)",
	Doing: reqtrace.CauseSleep, DoingOp: "sleep",
	DoingAt: "main.refresh (main.go:43)", Time: 60 * ms,
}

// TestExplainCauses: a slow request goes to what it has most of beyond the usual request of its
// class, not to what it has most of.
func TestExplainCauses(t *testing.T) {
	lock, machine, network := reqtrace.CauseLock, reqtrace.CauseMachine, reqtrace.CauseNetwork
	running, mark, wait := reqtrace.CauseRunning, reqtrace.CauseAssistMark, reqtrace.CauseAssistWait
	for name, tt := range map[string]struct {
		list []reqtrace.Request
		last reqtrace.Request
		old  Usual
		want Key
		lost time.Duration
	}{
		"beyond the usual": {
			list: usualOnes(50, "GET /", 40*ms), last: took(1, "GET /", 0, times{running: 45 * ms, lock: 20 * ms},
				mutex),
			want: Key{Cause: lock, Function: "main.get", Holder: "main.refresh", Class: "GET /"},
			lost: 20 * ms,
		},
		"another class is no measure": {
			list: usualOnes(50, "GET /other", 40*ms), last: took(1, "GET /", 0, times{running: 45 * ms, lock: 20 * ms},
				mutex),
			want: Key{Cause: running, Class: "GET /"}, lost: 45 * ms,
		},
		"the history, of a class that is seldom": {
			list: usualOnes(5, "GET /", 40*ms), last: took(1, "GET /", 0, times{running: 45 * ms, lock: 20 * ms},
				mutex),
			old:  Usual{"GET /": {10, partsOf(times{running: 400 * ms})}},
			want: Key{Cause: lock, Function: "main.get", Holder: "main.refresh", Class: "GET /"},
			lost: 20 * ms,
		},
		"a class that is always slow": {
			list: usualOnes(50, "GET /", 80*ms), last: took(1, "GET /", 0, times{running: 80 * ms, lock: 20 * ms},
				mutex),
			want: Key{Cause: running, Class: "GET /"}, lost: 80 * ms,
		},
		"the machine": {
			list: usualOnes(50, "GET /", 10*ms), last: took(1, "GET /", 0, times{running: 30 * ms, machine: 60 * ms}),
			want: Key{Cause: machine, Class: "GET /"}, lost: 60 * ms,
		},
		"the machine makes no request usual": {
			list: func() (list []reqtrace.Request) {
				for i := range 50 {
					list = append(list, took(i+2, "GET /", 0, times{running: 10 * ms, machine: 30 * ms}))
				}
				return list
			}(),
			last: took(1, "GET /", 0, times{running: 30 * ms, machine: 35 * ms}),
			want: Key{Cause: machine, Class: "GET /"}, lost: 35 * ms,
		},
		"both assists are one": {
			list: usualOnes(50, "GET /", 10*ms),
			last: took(1, "GET /", 0, times{running: 10 * ms, mark: 20 * ms, wait: 20 * ms, network: 30 * ms}),
			want: Key{Cause: mark, Class: "GET /"}, lost: 40 * ms,
		},
		"the function that it ran in": {
			list: usualOnes(50, "GET /", 10*ms), last: func() reqtrace.Request {
				q := took(1, "GET /", 0, times{running: 90 * ms})
				q.Ran = "main.hash (hash.go:3)"
				return q
			}(),
			want: Key{Cause: running, Function: "main.hash", Class: "GET /"}, lost: 80 * ms,
		},
		"the pair of functions with most of it": {
			list: usualOnes(50, "GET /", 10*ms),
			last: took(1, "GET /", 0, times{lock: 90 * ms},
				reqtrace.Blame{Cause: lock, Site: "main.b (b.go:1)", Time: 40 * ms},
				reqtrace.Blame{Cause: lock, Site: "main.a (a.go:2)", Time: 30 * ms},
				reqtrace.Blame{Cause: lock, Site: "main.a (a.go:1)", Time: 20 * ms}),
			want: Key{Cause: lock, Function: "main.a", Class: "GET /"}, lost: 90 * ms,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := explained(t, append(tt.list, tt.last), Trace{Threshold: 50 * ms, Usual: tt.old})
			got := e.Slow[len(e.Slow)-1]
			if got.Key != tt.want || got.Lost != tt.lost {
				t.Errorf("%+v lost %v, want %+v, %v", got.Key, got.Lost, tt.want, tt.lost)
			}
		})
	}
}

func TestExplainDetails(t *testing.T) {
	q := took(7, "GET /", 2*time.Second, times{reqtrace.CauseLock: 60 * ms, reqtrace.CauseRunning: 5 * ms}, mutex)
	q.ID = "order-7"
	e := explained(t, append(usualOnes(50, "GET /", 5*ms), q), Trace{Threshold: 50 * ms, Snapshot: "s1", Build: "v2"})
	want := &Explained{
		Requests: 51, Usual: Usual{"GET /": {6, partsOf(times{reqtrace.CauseRunning: 30 * ms})}},
		Slow: []Request{{
			ID: "g7@3602065000", Mark: "order-7", Start: night.Add(2 * time.Second), Duration: 65 * ms,
			Key:   Key{Cause: reqtrace.CauseLock, Function: "main.get", Holder: "main.refresh", Class: "GET /"},
			Lost:  60 * ms,
			Words: "waiting for a mutex that main.refresh (main.go:43) holds while sleeping, in main.get (main.go:33)",
			Place: "main.get (main.go:33)", HolderPlace: "main.refresh (main.go:40)",
			Breakdown: "92% waiting for a lock, 8% running on a CPU, main.get (main.go:33), behind main.refresh " +
				"(main.go:40)",
			Snapshot: "s1", Build: "v2",
		}},
	}
	if d := cmp.Diff(want, e, cmp.Comparer(func(a, b reqtrace.Parts) bool { return a == b })); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestExplainOverlap: what two traces of overlapping times have is one request, also where the
// second has no more than its end.
func TestExplainOverlap(t *testing.T) {
	whole := took(7, "GET /", 900*ms, times{reqtrace.CauseLock: 200 * ms}, mutex)
	later := whole // the second trace began 1 s later than the first, in the middle of the request
	later.Start, later.End, later.Cut = 0, 100*ms, reqtrace.CutStart
	h := &History{}
	for i, q := range []reqtrace.Request{whole, later, whole} {
		for _, r := range explained(t, []reqtrace.Request{q}, Trace{Threshold: 50 * ms}).Slow {
			if added := h.addOnce(r); added != (i == 0) {
				t.Errorf("trace %d: added %v", i+1, added)
			}
		}
	}
	other := later
	other.Goroutine++
	for _, r := range explained(t, []reqtrace.Request{other}, Trace{Threshold: 50 * ms}).Slow {
		if !r.Cut || !h.addOnce(r) {
			t.Errorf("%+v is no request that was cut off", r)
		}
	}
	if c := h.Coverage(time.Time{}); c.Seen != 1 || c.Cut != 1 {
		t.Errorf("%v", c)
	}
}

// TestExplainBounds: what is over the bound is counted, and a trace that breaks off says what came before.
func TestExplainBounds(t *testing.T) {
	var list []reqtrace.Request
	for i := range maxExplained + 3 {
		list = append(list, took(i, "GET /", 0, times{reqtrace.CauseLock: 60 * ms}))
	}
	unfinished := took(1, "GET /", 0, times{reqtrace.CauseLock: 60 * ms})
	unfinished.Cut = reqtrace.CutEnd
	broken := requestsOf(append(list, unfinished), reqtrace.ErrBroken)
	e, err := explain(broken, &Trace{Threshold: 50 * ms, Taken: night})
	if !errors.Is(err, reqtrace.ErrBroken) || len(e.Slow) != maxExplained || e.Dropped != 3 || e.Requests != len(list) {
		t.Errorf("%d slow, %d dropped, %v", len(e.Slow), e.Dropped, err)
	}
	if _, err := explain(requestsOf(nil, nil), &Trace{}); err == nil {
		t.Error("a threshold of 0 is taken")
	}
	e = explained(t, []reqtrace.Request{{Class: "old", End: time.Second}}, Trace{Threshold: 50 * ms, Taken: night})
	if got := e.Slow[0].Start; !got.Equal(night.Add(-time.Second)) {
		t.Errorf("without a wall clock it began at %v", got)
	}
}

// TestExplainRecorded: of a real program whose cache is locked while it is refreshed, the slow requests are the lock's.
func TestExplainRecorded(t *testing.T) {
	b, err := os.ReadFile("../../reqtrace/testdata/go1.26.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	read := func() *Explained {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		e, err := explain(reqtrace.Read(t.Context(), z, reqtrace.Options{}), &Trace{Threshold: 10 * ms, Snapshot: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	h := &History{}
	for _, r := range read().Slow {
		h.addOnce(r)
	}
	for _, r := range read().Slow {
		if h.addOnce(r) {
			t.Errorf("%+v is new when the trace is read again", r)
		}
	}
	list := h.Summaries(time.Time{})
	if len(list) == 0 || list[0].Key.Cause != reqtrace.CauseLock ||
		list[0].Key.Function != "main.(*cache).get" || list[0].Key.Holder != "main.(*cache).refresh" ||
		list[0].Share < .5 {
		t.Errorf("%+v", list)
	}
	if w := list[0].Worst; w.Start.Year() < 2025 || w.Duration < 10*ms {
		t.Errorf("the worst: %+v", w)
	}
}
