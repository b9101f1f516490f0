package history

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/reqtrace"
)

// TestCalls tests that an explained request has its marked calls, that a history forgets them, and
// that its JSON has none.
func TestCalls(t *testing.T) {
	q := took(7, "GET /", 2*time.Second, times{reqtrace.CauseNetwork: 60 * ms})
	q.Caller = "5e"
	q.Calls = []reqtrace.Call{{Start: q.Start + ms}, {ID: "7f", Start: q.Start + 2*ms}}
	e := explained(t, []reqtrace.Request{q}, Trace{Threshold: 50 * ms, Calls: true})
	if r := &e.Slow[0]; r.Caller != "5e" || len(r.Calls) != 1 || r.Calls[0] != (Call{"7f", 2 * ms}) {
		t.Errorf("%+v", r)
	}
	b, err := json.Marshal(e)
	if err != nil || strings.Contains(string(b), "7f") || strings.Contains(string(b), "5e") {
		t.Errorf("%v: %s", err, b)
	}
	s := Open(Options{})
	s.AddSnapshot(&Head{}, e)
	if w := s.Snapshot().Summaries(time.Time{})[0].Worst; w.Caller != "" || w.Calls != nil {
		t.Errorf("%+v", w)
	}
}

// TestWaitsFor tests that a request that waited for other services counts for the last one's cause,
// apart from its own requests with that cause, and is never new.
func TestWaitsFor(t *testing.T) {
	h := &History{}
	h.addWatched("v1", night, 2*time.Hour, 2*time.Hour)
	awaited := slow(1, night, lockKey, 50*ms)
	awaited.Snapshot = "s7"
	for i := range 4 {
		q := slow(2+i, night, Key{Cause: reqtrace.CauseNetwork, Function: "main.ask", Class: "POST /report"}, 60*ms)
		q.Build = "v2"
		if i > 0 {
			q.WaitsFor([]string{"stock", "prices"}, &awaited)
		}
		h.addOnce(q)
	}
	h.addOnce(awaited)
	var back History
	if err := json.Unmarshal([]byte(text(t, h)), &back); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*History{h, &back} {
		s := x.Summaries(time.Time{})[0]
		cause := "waiting for a lock that main.refresh holds, in main.get"
		got := []string{s.String(), s.Worst.Words, s.Worst.Place, x.SentenceOf("shop", time.Time{})}
		if d := cmp.Diff([]string{
			"waiting for prices, through stock: " + cause + ", in POST /report",
			"waiting for prices, through stock (55 ms there, snapshot s7 of prices): " + cause, "main.get (main.go:7)",
			"60% of shop's slow requests waited for prices, through stock: " + cause + ".",
		}, got); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		if s.New || s.Requests != 3 || s.Worst.Duration != 65*ms {
			t.Errorf("%+v", s)
		}
	}
	if got := (&History{}).SentenceOf("shop", time.Time{}); got != "shop: no request was slow" {
		t.Error(got)
	}
}
