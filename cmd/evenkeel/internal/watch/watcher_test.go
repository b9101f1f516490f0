package watch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/gatestats"
)

// TestWatchCountsFromItsFirstLook: what was last week needs no operator now.
func TestWatchCountsFromItsFirstLook(t *testing.T) {
	at := func(alone, allocated uint64) *gatestats.Stats {
		return &gatestats.Stats{WithoutTurn: alone, IgnoredDrains: 9, Allocated: allocated}
	}
	w := &Watcher{replicas: []*replica{{host: "a"}}}
	r := w.replicas[0]
	for i, look := range []struct {
		stats *gatestats.Stats
		want  string
	}{
		{at(5, 100), ""},
		{at(7, 200), "2 collections went without a turn"},
		{nil, "gone"},
		{at(8, 300), "3 collections went without a turn"},
		{at(4, 50), "4 collections went without a turn"}, // it was started again
		{at(4, 400), "4 collections went without a turn"},
	} {
		r.Stats, r.Error = look.stats, "gone"
		r.remember()
		got := strings.Join(w.warnings(), "; ")
		if !strings.Contains(got, look.want) || look.want == "" && got != "" {
			t.Errorf("look %d: got %q, want %q", i, got, look.want)
		}
	}
	w.Once = true
	if got := strings.Join(w.warnings(), "; "); !strings.Contains(got, "4 collections") ||
		!strings.Contains(got, "9 times requests came after") {
		t.Errorf("-once says %q", got)
	}
}

// TestWatchSaysWhoHoldsTheTurnUp, also once it is over, and does not blame the number of turns for
// it.
func TestWatchSaysWhoHoldsTheTurnUp(t *testing.T) {
	const peer = "HAProxy be/a at 127.0.0.1:9199: 100% refused"
	holder, waiter := &gatestats.Stats{State: "serving"},
		&gatestats.Stats{State: "wanting", Heap: 584, Trigger: 100, WithoutTurn: 2}
	holder.Turn.Turns, holder.Turn.Holding, holder.Turn.HeldUpBy, holder.Turn.HeldUpFor = 1, 1, peer, 7*time.Second
	waiter.Turn.Turns, waiter.Turn.Holding, waiter.Turn.HeldUpBy, waiter.Turn.HeldUpFor = 1, 0, "db-1:812",
		6*time.Second
	holder.At = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	waiter.At = holder.At
	free := &gatestats.Stats{State: "serving", WithoutTurn: 2}
	heldUp := "a has held the turn for 7 s, because a peer has not put it back: " + peer
	for _, c := range []struct {
		name string
		a, b *gatestats.Stats
		want []string
	}{
		{"both say so", holder, waiter, []string{
			heldUp, "b has waited for the turn for 6 s, with its heap at 584% of the trigger: db-1:812",
			"b: 2 collections went without a turn: the turn was held up at 15:04:05: " + heldUp,
		}},
		{"the holder is not watched", nil, waiter, []string{"b: 2 collections went without a turn: the turn was held " +
			"up at 15:04:05: b has waited"}},
		{"nobody is held up", free, free, []string{"b: 2 collections went without a turn: its log says why"}},
	} {
		var pages []*replica
		for i, s := range []*gatestats.Stats{c.a, c.b} {
			pages = append(pages, &replica{host: string(rune('a' + i)), Stats: s, Error: "gone"})
		}
		w := &Watcher{Once: true, replicas: pages}
		w.noteHeldUp()
		got := strings.Join(w.warnings(), "\n")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it does not say %q:\n%s", c.name, want, got)
			}
		}
		if strings.Contains(got, "do not suffice") {
			t.Errorf("%s: it blames the turns:\n%s", c.name, got)
		}
		pages[0].Stats, pages[1].Stats = free, free
		w.noteHeldUp()
		if got := strings.Join(w.warnings(), "\n"); c.a == holder &&
			!strings.Contains(got, "the turn was held up at 15:04:05: "+heldUp) {
			t.Errorf("%s: once it is over it says\n%s", c.name, got)
		}
	}
}

// TestWatchNoticesARestart by any counter: while nobody looks, the new process may have served more
// than the old one had.
func TestWatchNoticesARestart(t *testing.T) {
	w := &Watcher{replicas: []*replica{{host: "a"}}}
	r := w.replicas[0]
	for _, s := range []*gatestats.Stats{
		{Entered: 5000, Allocated: 1 << 30, WithoutTurn: 2, IgnoredDrains: 1},
		nil,
		{Entered: 9000, Allocated: 2 << 30, IgnoredDrains: 3},
	} {
		r.Stats = s
		r.remember()
	}
	if got := w.warnings(); len(got) != 1 || !strings.Contains(got[0], "3 times requests came after") {
		t.Errorf("it says %q", got)
	}
}

// TestWatchTakesNoHandOverForTwo: the answers of one look are of different moments, between which
// the turn may pass from one to the other.
func TestWatchTakesNoHandOverForTwo(t *testing.T) {
	const crowd = "2 replicas are drained at once"
	state := func(s string) *httptest.Server {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"State": %q, "Trigger": 1, "Turn": {"Turns": 1}}`, s)
		}))
		t.Cleanup(page.Close)
		return page
	}
	a, b, c := state("collecting"), state("collecting"), state("serving")
	w := &Watcher{client: gatestats.NewClient(), replicas: []*replica{{URL: a.URL, host: "a"}, {URL: b.URL, host: "b"}}}
	look := func() string {
		w.look(t.Context())
		return strings.Join(w.warnings(), "; ")
	}
	if got := look(); strings.Contains(got, crowd) {
		t.Errorf("after one look: %s", got)
	}
	w.replicas[1].URL = c.URL
	look()
	w.replicas[1].URL = b.URL
	for n := 1; n <= leftLooks; n++ {
		if got := look(); strings.Contains(got, crowd) != (n == leftLooks) {
			t.Errorf("at look %d: %q", n, got)
		}
	}
}

// TestRoundsBetween says what happened between two looks.
func TestRoundsBetween(t *testing.T) {
	before := &gatestats.Stats{Collections: map[string]uint64{"trigger": 1}, Overlapped: 4}
	after := &gatestats.Stats{
		Collections: map[string]uint64{"trigger": 1, "idle gap": 2}, Overlapped: 5,
		At: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
	}
	after.Phases = map[string]gatestats.Duration{
		"wanting":    {Count: 2, Total: 4 * time.Second},
		"collecting": {Count: 2, Total: time.Second},
	}
	want := "15:04:05  a: idle gap (2 times), waited 2 s, collected 500 ms, 1 request met it"
	if got := strings.Join(roundsBetween("a", before, after), ";"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := roundsBetween("a", after, before); got != nil { // it was started again
		t.Errorf("got %q", got)
	}
}
