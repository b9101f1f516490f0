package history

import (
	"testing"
	"time"

	"evenkeel.dev/reqtrace"
)

func TestMark(t *testing.T) {
	for _, id := range []string{"", "a", "a b", "slow-1", "x slow-2"} {
		if got, n := unmark(Mark(id, 7)); got != id || n != 7 {
			t.Errorf("%q: %q, %d", id, got, n)
		}
	}
	for _, m := range []string{"", "a", "a b", "slow-", "slow-x", "a slow--1"} {
		if got, n := unmark(m); got != m || n != 0 {
			t.Errorf("%q: %q, %d", m, got, n)
		}
	}
}

// noted is a slow request of a kept snapshot, as a trace shows it.
func noted(number uint64, class string) Request {
	q := slow(int(number), night, Key{reqtrace.CauseLock, "main.get", "main.refresh", class}, ms)
	q.Mark = Mark("a", number)
	return q
}

// TestAddFound tests that what somebody finds in kept snapshots takes the place of their kept
// requests: each slow request counts once, whatever became of it, and in however many snapshots it
// is.
func TestAddFound(t *testing.T) {
	served := &History{} // by the process, which knows no class of one of them
	served.addSource("shop")
	served.count(night, "GET /", Count{Slow: 4, Kept: 4})
	served.count(night, "", Count{Slow: 1, Kept: 1})
	served.count(night, "GET /", Count{Slow: 2, Off: 2})
	served.count(night.Add(time.Minute), "GET /", Count{Slow: 3, Kept: 3}) // whose snapshot is gone
	found := Open(Options{})
	one := &Head{Trace: Trace{Taken: night}, Noted: []Noted{{1, "GET /", "t1"}, {2, "GET /", ""}, {3, "", ""}}}
	two := &Head{Trace: Trace{Taken: night}, Noted: []Noted{{4, "GET /", ""}, {5, "GET /", ""}}}
	cut := noted(5, "GET /")
	cut.Cut = true
	early := noted(6, "GET /") // waited before its handler
	early.Mark = ""
	first, third, fourth := noted(1, "GET /"), noted(3, "main.serve"), noted(4, "GET /")
	found.AddKept(one, &Explained{Slow: []Request{first, third, early}})       // and not 2
	found.AddKept(two, &Explained{Slow: []Request{first, fourth, cut, early}}) // 1 again
	served.AddFound(found.Snapshot())
	want := Coverage{Count: Count{Slow: 11, Kept: 3, Limited: 1, Off: 2}, Seen: 4, Cut: 1}
	if c := served.Coverage(time.Time{}); c != want {
		t.Errorf("%+v, not %+v", c, want)
	}
	if c := served.CoverageByClass(time.Time{}); c[""] != (Coverage{}) || c["main.serve"].Slow != 1 {
		t.Errorf("%+v", c)
	}
	list := served.Summaries(time.Time{})
	if len(list) != 1 || list[0].Requests != 4 || list[0].Worst.Mark != "a" {
		t.Errorf("%+v", list)
	}
	if len(served.sources) != 1 {
		t.Errorf("sources: %v", served.sources)
	}
	other := &History{} // as of days ago, when minutes were last known
	other.count(night, "GET /", Count{Slow: 4, Kept: 4})
	other.count(night, "", Count{Slow: 1, Kept: 1})
	for _, x := range other.hours {
		x.coarsen()
	}
	other.AddFound(found.Snapshot())
	if c := other.Coverage(time.Time{}); c.Kept != 0 || c.Slow != 6 {
		t.Errorf("%+v", c)
	}
}
