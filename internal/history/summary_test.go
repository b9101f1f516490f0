package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"evenkeel.dev/reqtrace"
)

// TestLeads tests that the largest cause comes first, that classes of one cause are merged, that at
// most five causes are new, that the machine is last, and that the sentence is short.
func TestLeads(t *testing.T) {
	h := &History{}
	h.addWatched("v1", night, 2*time.Hour, 2*time.Hour)
	machine := Key{reqtrace.CauseMachine, "", "", "GET /"}
	for i := range 100 {
		h.addOnce(slow(1000+i, night, machine, 50*ms))
	}
	for i := range 40 { // one lock in four classes
		k := lockKey
		k.Class = []string{"GET /orders", "GET /orders", "GET /carts", "GET /users"}[i%4]
		h.addOnce(slow(i, night, k, 50*ms))
	}
	for i := range 30 {
		r := slow(100+i, night, Key{reqtrace.CauseRunning, fmt.Sprint("main.hash", i), "", "GET /"}, 50*ms)
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
	if got := h.Sentence(time.Time{}); got != "170 requests were slow: 24% waiting for a lock that main.refresh holds, in main.get, in GET /orders and 2 more (new)" {
		t.Error(got)
	}
	h = &History{}
	h.addOnce(slow(1, night, machine, 50*ms))
	if got := h.Sentence(time.Time{}); strings.Contains(got, ":") {
		t.Errorf("the machine leads: %q", got)
	}
	long := strings.Repeat("évenkeel", 20)
	for _, k := range []Key{
		{reqtrace.CauseLock, "main.get", "main.refresh", long},
		{reqtrace.CauseLock, long, long, long},
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
	network := Key{reqtrace.CauseNetwork, "main.ask", "", "POST /report"}
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
	h.addOnce(slow(999, night, Key{reqtrace.CauseRunning, "main.f", "", "uncounted"}, 50*ms))
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
