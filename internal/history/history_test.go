package history

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"evenkeel.dev/reqtrace"
)

func TestSummaries(t *testing.T) {
	h := &History{}
	for i := range 10 {
		h.addOnce(slow(i, night.Add(time.Duration(i)*time.Minute), lockKey, time.Duration(i+1)*10*ms))
	}
	h.addOnce(slow(99, night.Add(-time.Hour), sleepKey, 7*ms))
	list := h.Summaries(time.Time{})
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	s := list[0]
	if s.Key != lockKey || s.Requests != 10 || s.Share != 10./11 || s.Lost != 550*ms || !s.First.Equal(night) ||
		!s.Last.Equal(night.Add(9*time.Minute)) || s.Worst.Lost != 100*ms {
		t.Errorf("%+v", s)
	}
	if list = h.Summaries(night.Add(5 * time.Minute)); len(list) != 1 || list[0].Requests != 5 ||
		list[0].Lost != 400*ms || !list[0].First.Equal(night) {
		t.Errorf("since the sixth minute: %+v", list)
	}
	if part := h.since(night.Add(5 * time.Minute)); len(part.hours) != 1 || len(part.Summaries(time.Time{})) != 1 ||
		text(t, h) == text(t, part) {
		t.Error("the hours since then are not those")
	}
}

// TestNew tests which causes are new. A cause is new if no build before the last had it, or if it
// came after the service had been watched for an hour. Nothing is new if hardly anything was
// watched.
func TestNew(t *testing.T) {
	added := func(do func(*History)) map[Key][2]bool {
		h, got := &History{}, map[Key][2]bool{}
		do(h)
		for _, s := range h.Summaries(time.Time{}) {
			got[s.Key] = [2]bool{s.New, s.SinceBuild}
		}
		return got
	}
	of := func(build string, id int, at time.Duration, k Key) Request {
		r := slow(id, night.Add(at), k, 50*ms)
		r.Build = build
		return r
	}
	for name, tt := range map[string]struct {
		do   func(*History)
		want map[Key][2]bool
	}{
		"a deployment": {func(h *History) {
			h.addWatched("v1", night.Add(2*time.Hour), 2*time.Hour, 7*time.Minute)
			h.addOnce(of("v1", 1, 0, lockKey))
			h.addOnce(of("v2", 2, 3*time.Hour, lockKey))
			h.addOnce(of("v2", 3, 3*time.Hour, runKey))
			h.addOnce(of("v2", 4, 9*time.Hour, runKey))
		}, map[Key][2]bool{lockKey: {}, runKey: {true, true}}},
		"a build that the old one outlives on another replica": {func(h *History) {
			h.addWatched("v1", night, time.Hour, time.Hour)
			h.built("v2", night)
			h.addOnce(of("v1", 1, time.Minute, lockKey))
			h.addOnce(of("v2", 2, 5*time.Hour, lockKey))
			h.addOnce(of("v2", 3, 5*time.Hour, runKey))
		}, map[Key][2]bool{lockKey: {}, runKey: {true, true}}},
		"planted after an hour": {func(h *History) {
			h.addWatched("v1", night.Add(61*time.Minute), 61*time.Minute, time.Hour)
			h.addOnce(of("v1", 1, 10*time.Second, lockKey))
			h.addOnce(of("v1", 2, 30*time.Minute, sleepKey))
			h.addOnce(of("v1", 3, 61*time.Minute, runKey))
		}, map[Key][2]bool{lockKey: {}, sleepKey: {}, runKey: {true, false}}},
		"no longer after an hour": {func(h *History) {
			h.addWatched("v1", night.Add(5*time.Hour), 5*time.Hour, time.Hour)
			h.addOnce(of("v1", 1, 65*time.Minute, runKey))
			h.addOnce(of("v1", 2, 130*time.Minute, lockKey))
		}, map[Key][2]bool{lockKey: {true, false}, runKey: {}}},
		"of another class it was there before": {func(h *History) {
			h.addWatched("v1", night.Add(5*time.Hour), 5*time.Hour, time.Hour)
			h.addOnce(of("v1", 1, time.Minute, Key{Cause: runKey.Cause, Class: "GET /other"}))
			h.addOnce(of("v2", 2, 4*time.Hour, runKey))
			h.addOnce(of("v2", 3, 4*time.Hour, runKey))
		}, map[Key][2]bool{runKey: {}}},
		"the first build was watched for ten minutes": {func(h *History) {
			h.addWatched("v1", night.Add(10*time.Minute), 10*time.Minute, 10*time.Minute)
			h.addOnce(of("v1", 1, 0, lockKey))
			h.addOnce(of("v2", 2, 11*time.Minute, runKey))
			h.addWatched("v2", night.Add(20*time.Minute), 10*time.Minute, 10*time.Minute)
		}, map[Key][2]bool{lockKey: {}, runKey: {}}},
		"it was recorded for 4% of the time": {func(h *History) {
			h.addWatched("v1", night.Add(100*time.Minute), 100*time.Minute, 4*time.Minute)
			h.addOnce(of("v1", 1, 0, lockKey))
			h.addOnce(of("v2", 2, 101*time.Minute, runKey))
		}, map[Key][2]bool{lockKey: {}, runKey: {}}},
		"the machine": {func(h *History) {
			h.addWatched("v1", night, 2*time.Hour, 2*time.Hour)
			h.addOnce(of("v2", 2, time.Minute, Key{Cause: reqtrace.CauseMachine, Class: "GET /"}))
		}, map[Key][2]bool{{Cause: reqtrace.CauseMachine, Class: "GET /"}: {}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := added(tt.do)
			for k, want := range tt.want {
				if _, ok := got[k]; k.Class == "POST /report" && !ok { // of two classes, the key names the first
					k.Class = "GET /other"
				}
				if got[k] != want {
					t.Errorf("%v: new and since the build: %v, want %v", k, got[k], want)
				}
			}
		})
	}
}

// TestMergeIsExact: what replicas counted of one stream is what one would have counted of all of
// it, in whatever order they are merged.
func TestMergeIsExact(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(1, seed))
		whole, parts := &History{}, []*History{{}, {}, {}}
		for range 300 {
			act(r, whole, parts[r.IntN(len(parts))])
		}
		want := text(t, whole)
		before := text(t, parts[1])
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
			sum := &History{}
			for _, i := range order {
				if err := sum.Merge(parts[i]); err != nil {
					t.Fatal(err)
				}
			}
			if got := text(t, sum); got != want {
				t.Fatalf("seed %d, order %v:\n%s\nwant\n%s", seed, order, got, want)
			}
			pair := &History{}
			_ = pair.Merge(parts[order[1]])
			_ = pair.Merge(parts[order[2]])
			sum = &History{}
			_ = sum.Merge(parts[order[0]])
			if _ = sum.Merge(pair); text(t, sum) != want {
				t.Fatalf("seed %d: it matters who is merged first", seed)
			}
			sum.addOnce(slow(1, night, lockKey, ms)) // shares nothing with the parts
		}
		if text(t, parts[1]) != before {
			t.Fatal("a merge changed what was merged")
		}
	}
}

func TestMergeSame(t *testing.T) {
	a, b := &History{}, &History{}
	a.addSource("x")
	b.addSource("x")
	b.addOnce(slow(1, night, lockKey, ms))
	if err := a.Merge(b); !errors.Is(err, ErrSame) || len(a.hours) != 0 {
		t.Errorf("%v, %d hours", err, len(a.hours))
	}
}

// TestBounds: however much is added, what is kept is bounded, and the sums are still right.
func TestBounds(t *testing.T) {
	h := &History{}
	heavy := Key{Cause: reqtrace.CauseLock, Function: "main.heavy", Class: "GET /"}
	const hours, busy, most = maxHours + 10, 20, 80
	kept := uint64(0)
	for hour := range hours {
		at, each := night.Add(time.Duration(hour)*time.Hour), 10
		if hour >= hours-busy {
			each = most
		}
		for i := range each {
			k := Key{
				Cause: reqtrace.CauseChannel, Function: fmt.Sprint("main.f", i+most*(hour%10)),
				Class: fmt.Sprint("GET /", i),
			}
			if i%10 == 9 {
				k = heavy
			}
			h.addOnce(slow(hour*most+i, at.Add(time.Duration(i)*20*time.Second), k, ms))
		}
		if hour >= hours-maxHours {
			kept += uint64(each)
		}
	}
	if len(h.hours) != maxHours || len(h.known) > maxKnown || len(h.recent[0])+len(h.recent[1]) > 2*maxRecent {
		t.Errorf("%d hours, %d known, %d ids", len(h.hours), len(h.known), len(h.recent[0])+len(h.recent[1]))
	}
	for at, x := range h.hours {
		if len(x.cells) > maxKeys || len(x.classes) > maxClasses+1 {
			t.Errorf("%d causes and %d classes in an hour", len(x.cells), len(x.classes))
		}
		if at < night.Unix()/3600+hours-maxHours {
			t.Errorf("hour %d is kept, and not a later one", at)
		}
	}
	list := h.Summaries(time.Time{})
	n := uint64(0)
	for _, s := range list {
		n += s.Requests
	}
	if n != kept || h.Coverage(time.Time{}).Seen != kept {
		t.Errorf("%d requests, want %d", n, kept)
	}
	if list[0].Key != heavy || list[0].Requests != kept/10 ||
		list[1].Key != (Key{Cause: reqtrace.CauseChannel, Function: Others, Class: Others}) {
		t.Errorf("%+v", list[:2])
	}
	for i := range 2 * maxBuilds {
		h.built(fmt.Sprint("v", i), night.Add(time.Duration(i)*time.Minute))
	}
	if len(h.builds) != maxBuilds {
		t.Errorf("%d builds", len(h.builds))
	}
}

// TestRecentIDs: an id is known for as many requests as are promised, and then forgotten.
func TestRecentIDs(t *testing.T) {
	h := &History{}
	first := slow(1<<30, night, lockKey, ms)
	h.addOnce(first)
	for i := range maxRecent - 1 {
		h.addOnce(slow(i, night, lockKey, ms))
	}
	if h.addOnce(first) {
		t.Error("an id is forgotten too early")
	}
	for range 2 {
		if !h.addOnce(Request{Start: night}) {
			t.Error("requests without an id are taken for one")
		}
	}
}

func TestUsual(t *testing.T) {
	h := &History{}
	parts := func(d time.Duration) reqtrace.Parts { return partsOf(times{reqtrace.CauseRunning: d}) }
	h.addUsual(night.Add(-time.Hour), Usual{"a": {300, parts(time.Hour)}, "b": {10, parts(100 * ms)}})
	h.addUsual(night, Usual{
		"a": {300, parts(600 * ms)}, "b": {10, parts(300 * ms)}, "bad": {0, parts(ms)},
		"worse": {1, parts(-ms)},
	})
	got := h.usual()
	if len(got) != 2 || got["a"] != (usualRequest{300, parts(600 * ms)}) ||
		got["b"] != (usualRequest{20, parts(400 * ms)}) {
		t.Errorf("%+v", got)
	}
}

func TestCoverageText(t *testing.T) {
	for _, tt := range []struct {
		c    Coverage
		want string
	}{
		{Coverage{}, "seen 0 of 0 slow requests"},
		{
			Coverage{Count: Count{Slow: 9, Off: 4}, Seen: 3},
			"seen 3 of 9 slow requests; not seen: 4 while recording was off to stay within its budget, 2 others",
		},
		{
			Coverage{Count: Count{Slow: 2079, Limited: 120}, Seen: 1947, Cut: 12},
			"seen 1,947 of 2,079 slow requests; not seen: 120 too soon after a snapshot, 12 that began before their " +
				"trace",
		},
		{Coverage{
			Count: Count{Slow: 3, Failed: 1},
			Seen:  4,
		}, "seen 4 slow requests, of which the service's own clock counted 3; not seen: 1 in snapshots that failed"},
	} {
		if got := tt.c.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestOddClocks: times that no clock should show are kept, and can be written.
func TestOddClocks(t *testing.T) {
	h := &History{}
	for i, at := range []time.Time{
		{},
		time.Unix(0, 0), time.Unix(-1, 0),
		time.Date(99999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 14*3600)),
		night,
	} {
		h.addOnce(slow(i, at, lockKey, ms))
		h.count(at, "GET /", Count{Slow: 1})
		h.built("v1", at)
	}
	var back History
	if err := back.UnmarshalJSON([]byte(text(t, h))); err != nil || text(t, &back) != text(t, h) {
		t.Errorf("%v", err)
	}
	if c := back.Coverage(time.Time{}); c.Seen != 6 || c.Slow != 6 {
		t.Errorf("%v", c)
	}
}

// TestLeads tests that the largest cause comes first, that classes of one cause are merged, that at
// most five causes are new, that the machine is last, and that the sentence is short.
func TestLeads(t *testing.T) {
	h := &History{}
	h.addWatched("v1", night, 2*time.Hour, 2*time.Hour)
	machine := Key{Cause: reqtrace.CauseMachine, Class: "GET /"}
	for i := range 100 {
		h.addOnce(slow(1000+i, night, machine, 50*ms))
	}
	for i := range 40 { // one lock in four classes
		k := lockKey
		k.Class = []string{"GET /orders", "GET /orders", "GET /carts", "GET /users"}[i%4]
		h.addOnce(slow(i, night, k, 50*ms))
	}
	for i := range 30 {
		k := Key{Cause: reqtrace.CauseRunning, Function: fmt.Sprint("main.hash", i), Class: "GET /"}
		r := slow(100+i, night, k, 50*ms)
		r.Build = "v2"
		h.addOnce(r)
	}
	list := h.Summaries(time.Time{})
	fresh := 0
	for _, s := range list {
		if s.New {
			fresh++
		}
	}
	first, last := list[0], list[len(list)-1]
	if first.Key != lockKey || !slices.Equal(first.Classes, []string{"GET /orders", "GET /carts", "GET /users"}) ||
		first.Requests != 40 || last.Key != machine || fresh != maxNew {
		t.Errorf("%+v is first, %+v is last, %d are new", first, last, fresh)
	}
	if got := h.Sentence(time.Time{}); got != "170 requests were slow: 24% waiting for a lock that main.refresh "+
		"holds, in main.get, in GET /orders and 2 more (new)" {
		t.Error(got)
	}
	h = &History{}
	h.addOnce(slow(1, night, machine, 50*ms))
	if got := h.Sentence(time.Time{}); strings.Contains(got, ":") {
		t.Errorf("the machine leads: %q", got)
	}
	long := strings.Repeat("évenkeel", 20)
	for _, k := range []Key{
		{Cause: reqtrace.CauseLock, Function: "main.get", Holder: "main.refresh", Class: long},
		{Cause: reqtrace.CauseLock, Function: long, Holder: long, Class: long},
	} {
		h = &History{}
		h.addOnce(slow(1, night, k, 50*ms))
		h.addOnce(slow(2, night, k, 50*ms))
		h.addOnce(slow(3, night, runKey, 50*ms))
		if got := h.Sentence(time.Time{}); utf8.RuneCountInString(got) > 150 ||
			!strings.Contains(got, "waiting for a lock") {
			t.Errorf("%d characters: %q", utf8.RuneCountInString(got), got)
		}
	}
}

// TestWeights tests that the explained requests of a class stand for the rest of it, so that shares
// are of all slow requests. Requests of a class that was not counted stand for themselves.
func TestWeights(t *testing.T) {
	h := &History{}
	network := Key{Cause: reqtrace.CauseNetwork, Function: "main.ask", Class: "POST /report"}
	for i := range 30 {
		h.addOnce(slow(i, night, lockKey, 50*ms)) // of the same class
		if i%3 == 0 {
			h.addOnce(slow(100+i, night, sleepKey, 50*ms))
			h.addOnce(slow(200+i, night, network, 50*ms))
		}
	}
	h.count(night, "GET /orders", Count{Slow: 40})
	h.count(night, "POST /report", Count{Slow: 160, Off: 150})
	h.count(night, "GET /unseen", Count{Slow: 1000, Off: 1000}) // says nothing
	h.addOnce(slow(999, night, Key{Cause: reqtrace.CauseRunning, Function: "main.f", Class: "uncounted"}, 50*ms))
	for _, s := range h.Summaries(time.Time{}) {
		want := map[reqtrace.Cause]float64{
			reqtrace.CauseLock: 30, reqtrace.CauseSleep: 10, reqtrace.CauseNetwork: 160,
			reqtrace.CauseRunning: 1,
		}[s.Key.Cause] / 201
		if math.Abs(s.Share-want) > 1e-9 {
			t.Errorf("%v has %v, want %v", s.Key, s.Share, want)
		}
	}
	if first := h.Summaries(time.Time{})[0]; first.Key != network || first.Requests != 10 {
		t.Errorf("%+v comes first", first)
	}
}
