package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/loadgen"

	"evenkeel.dev/internal/golden"
)

// began is when the window of eventRun begins.
var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// eventRun is measured for 10 s, from after began.
func eventRun(label string, after time.Duration) runfile.Run {
	return runfile.Run{Label: label, Repeat: 1, Load: &loadgen.Result{
		Answered: 100, Started: began.Add(after),
		Duration: 10 * time.Second,
	}}
}

// eventsOf reads "SECONDS SOURCE STATE" lines, seconds since began.
func eventsOf(t *testing.T, name string, lines ...string) *runfile.Events {
	t.Helper()
	e := &runfile.Events{Name: name}
	for _, l := range lines {
		var s float64
		var ev runfile.Event
		if _, err := fmt.Sscan(l, &s, &ev.Source, &ev.State); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		ev.Time = began.Add(time.Duration(s * 1e9))
		e.List = append(e.List, ev)
	}
	return e
}

func TestLanes(t *testing.T) {
	for name, tt := range map[string]struct {
		events []string
		want   string // source known: state from-to ..., for the run of 0 to 10 s
	}{
		"within":                  {[]string{"1 a serving", "2 a down", "3 a serving"}, "a 1s: down 2s-3s"},
		"from before":             {[]string{"-5 a down", "3 a serving"}, "a 0s: down -5s-3s"},
		"to the end":              {[]string{"4 a down"}, "a 4s: down 4s-10s open"},
		"to after the end":        {[]string{"4 a down", "30 a serving"}, "a 4s: down 4s-30s"},
		"over all of it":          {[]string{"-4 a down", "30 a serving"}, "a 0s: down -4s-30s"},
		"serving over all of it":  {[]string{"-4 a serving", "30 a down"}, ""},
		"only before":             {[]string{"-4 a down", "-3 a serving"}, ""},
		"before, and never ended": {[]string{"-4 a down"}, ""},
		"only after":              {[]string{"10.5 a down"}, ""},
		"until the start":         {[]string{"-4 a down", "0 a serving"}, "a 0s:"},
		"at the end":              {[]string{"10 a down"}, "a 10s: down 10s-10s open"},
		"at one time":             {[]string{"5 a down", "5 a serving"}, "a 5s: down 5s-5s"},
		"backwards":               {[]string{"6 a serving", "5 a down"}, "a 5s: down 5s-6s"},
		"the same line twice":     {[]string{"5 a down", "5 a down", "6 a serving"}, "a 5s: down 5s-6s"},
		"the same state again":    {[]string{"5 a down", "6 a down", "7 a serving"}, "a 5s: down 5s-6s down 6s-7s"},
		"in order of names":       {[]string{"1 r10 x", "1 r9 x"}, "r9 1s: x 1s-10s open; r10 1s: x 1s-10s open"},
		"millennia":               {[]string{"-9e9 a down", "9e9 a serving"}, "a 0s: down -876000h0m0s-876000h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Files([]*runfile.File{{Runs: []runfile.Run{eventRun("v", 0)}}}, []string{"run.json"})
			e := eventsOf(t, "ev", tt.events...)
			if name == "millennia" { // more than a Duration holds
				e.List[0].Time, e.List[1].Time = began.AddDate(-1000, 0, 0), began.AddDate(1000, 0, 0)
			}
			c.SetEvents([]*runfile.Events{e})
			var got []string
			for _, l := range c.lanes[c.Columns[0].Runs[0]] {
				s := fmt.Sprintf("%s %v:", l.Source, l.Known)
				for _, x := range l.Spans {
					s += fmt.Sprintf(" %s %v-%v", x.State, x.From, x.To)
				}
				if l.Open {
					s += " open"
				}
				got = append(got, s)
			}
			if d := cmp.Diff(tt.want, strings.Join(got, "; ")); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestEventsText(t *testing.T) {
	again, other := eventRun("default", 20*time.Second), eventRun("gate", 40*time.Second)
	again.Repeat = 2
	c := Files([]*runfile.File{{Runs: []runfile.Run{eventRun("default", 0), again, other}}}, []string{"run.json"})
	c.SetEvents([]*runfile.Events{
		eventsOf(t, "gate.ndjson", "-1 replica-2 serving", "1 replica-2 collecting", "1.31 replica-2 serving",
			"2 replica-10 draining",
			"2.005 replica-10 collecting", "2.1 replica-10 serving", "22 replica-2 collecting",
			"22.2 replica-2 serving", "41 \x1b[2J down", "42 \x1b[2J serving"),
		eventsOf(t, "deploy.ndjson", "45 deployment v2\u202e"),
	})
	golden.Written(t, "events.golden.txt", func(b *bytes.Buffer) error { return c.Text(b, textfmt.Style{}) })
}

// TestLongestStateFirst: by seconds that differ by more than 32 bits of nanoseconds can say.
func TestLongestStateFirst(t *testing.T) {
	run := eventRun("v", 0)
	c := Files([]*runfile.File{{Runs: []runfile.Run{run}}}, []string{"run.json"})
	c.SetEvents([]*runfile.Events{eventsOf(t, "ev", "1 replica short", "2 replica long", "6 replica last")})
	var got []string
	for _, s := range c.tallies(c.Columns[0].Runs) {
		got = append(got, fmt.Sprint(s.state, " ", s.total))
	}
	if d := cmp.Diff([]string{"long 4s", "last 4s", "short 1s"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestEventsTextIsBounded(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("1 source%d down", i))
	}
	c := Files([]*runfile.File{{Runs: []runfile.Run{eventRun("v", 0)}}}, []string{"run.json"})
	c.SetEvents([]*runfile.Events{eventsOf(t, "ev", lines...)})
	var b strings.Builder
	if err := c.Text(&b, textfmt.Style{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "  source"); n != maxTallies || !strings.Contains(b.String(), "  and 60 more\n") {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
}

func TestEventsNotes(t *testing.T) {
	nowhen := eventRun("v", 0)
	nowhen.Load.Started = time.Time{}
	for _, tt := range []struct {
		run    runfile.Run
		events *runfile.Events
		want   []string
	}{
		{eventRun("v", 0), eventsOf(t, "ev", "5 a b", "50 a c"), nil},
		{eventRun("v", 0), eventsOf(t, "ev"), []string{"ev: no events in it"}},
		{
			eventRun("v", 0), &runfile.Events{Name: "ev", Notes: []string{"ev:2: cut off"}},
			[]string{"ev:2: cut off", "ev: no events in it"},
		},
		{nowhen, eventsOf(t, "ev", "5 a b"), []string{"ev: the runs do not say when they were measured, so no event " +
			"can be placed: measure again"}},
		{eventRun("v", 0), eventsOf(t, "ev", "3605 a b", "3600 a b"), []string{
			"ev: no event in it (2026-11-21T11:00:00.000Z to 2026-11-21T11:00:05.000Z) lies within a run " +
				"(2026-11-21T10:00:00.000Z to 2026-11-21T10:00:10.000Z): is it of this measurement, and were the " +
				"clocks alike?",
		}},
	} {
		c := Files([]*runfile.File{{Runs: []runfile.Run{tt.run}}}, []string{"run.json"})
		c.SetEvents([]*runfile.Events{tt.events})
		if d := cmp.Diff(tt.want, c.Notes); d != "" {
			t.Errorf("%v: -want +got\n%s", tt.events, d)
		}
	}
}

func TestCompareNatural(t *testing.T) {
	want := []string{"", "01x", "1", "01", "1a", "2", "10", "a", "a1", "a01b", "a1b", "a2", "a10", "a10b", "b"}
	slices.SortFunc(want, compareNatural)
	for i, a := range want {
		for k, b := range want {
			if got := compareNatural(a, b); got < 0 != (i < k) || got == 0 != (i == k) {
				t.Errorf("%q and %q: %d, in %q", a, b, got, want)
			}
		}
	}
	got := []string{"replica 10", "replica 9", "replica", "Replica 1"}
	slices.SortFunc(got, compareNatural)
	if d := cmp.Diff([]string{"Replica 1", "replica", "replica 9", "replica 10"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
