package page

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/testutil"
)

// laneComparison is smallComparison with events of a gate and of a deployment in the run that
// is drawn.
func laneComparison(t *testing.T) *compare.Comparison {
	c := smallComparison(t)
	event := func(s float64, source, state, note string) runfile.Event {
		at := c.Columns[0].Median().Load.Started.Add(time.Duration(s * 1e9))
		return runfile.Event{Time: at, Source: source, State: state, Note: note}
	}
	e := &runfile.Events{Name: "ev", List: []runfile.Event{
		event(-1, "replica 1", "serving", ""),
		event(.5, "replica 1", "wanting", ""),
		event(.52, "replica 1", "collecting", "heap 128 MiB"),
		event(.7, "replica 1", "serving", ""),
		event(1, "<b>deployment</b>\x1b", "rolling </script> out", `"><img src=x>`),
		event(1.2, "<b>deployment</b>\x1b", "serving", ""),
	}}
	c.SetEvents([]*runfile.Events{e})
	return c
}

var lanesChart = regexp.MustCompile(`(?s)<div class="chart panel lanes.*?\n</div>\n<p class="xlabel"`)

func TestHTMLLanes(t *testing.T) {
	p := pageOf(t, laneComparison(t))
	lanes := lanesChart.FindAllString(p, -1)
	if len(lanes) != 1 { // of the other variant another repeat is drawn
		t.Fatalf("%d charts of lanes, want 1", len(lanes))
	}
	for _, want := range []string{
		`class="state e0"`, `class="state e3"`, `scale(0.01 1)`, "&lt;b&gt;deployment&lt;/b&gt;\ufffd</text>",
		">replica 1</text>",
		"replica 1: collecting 1x, 180 ms in all.",
	} {
		if !strings.Contains(lanes[0], want) {
			t.Errorf("the lanes lack %q:\n%s", want, lanes[0])
		}
	}
	for _, want := range []string{
		`id="states"`, "collecting</li>", "rolling &lt;/script&gt; out</li>",
		"serving</li>",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<b>", "<img", "\x1b", "lane-note\""} {
		if strings.Contains(p, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(p, "</script"); n != 2 {
		t.Errorf("%d script elements end, want 2", n)
	}
}

func TestHTMLWithoutEvents(t *testing.T) {
	c := smallComparison(t)
	want := pageOf(t, c)
	c.SetEvents([]*runfile.Events{{Name: "ev", List: []runfile.Event{{Time: time.Date(2026, 11, 21, 10, 0, 0, 0,
		time.UTC), Source: "a", State: "b"}}}})
	c.Notes = smallComparison(t).Notes
	if d := cmp.Diff(want, pageOf(t, c)); d != "" {
		t.Errorf("events outside the windows change the page: -want +got\n%s", d)
	}
	if strings.Contains(want, `id="states"`) || lanesChart.MatchString(want) {
		t.Error("lanes without events")
	}
}

// TestHTMLLanesStaySmall draws 60,000 states of 60 sources with 300 names.
func TestHTMLLanesStaySmall(t *testing.T) {
	testutil.Slow(t, "it draws for seconds")
	testutil.Computes(t)
	f := newFake(t)
	f.points, f.rate = 50, 100
	c := f.comparison(1, labelsN(2)...)
	plain := len(pageOf(t, c))
	e := &runfile.Events{Name: "ev"}
	from := c.Columns[0].Median().Load.Started
	for i := range 60000 {
		e.List = append(e.List, runfile.Event{
			Time: from.Add(time.Duration(i) * 300 * time.Microsecond), Source: fmt.Sprintf("source %d", i%60),
			State: fmt.Sprintf("state %d", f.rnd.IntN(300)), Note: strings.Repeat("n", 1000*(i%2)),
		})
	}
	c.SetEvents([]*runfile.Events{e})
	p := pageOf(t, c)
	if n := len(p) - plain; n > 700<<10 {
		t.Errorf("events add %d bytes, want at most %d", n, 700<<10)
	}
	for _, want := range []string{
		"the first 24 of 60 sources are drawn", "neighbours are drawn as one", " others</li>",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestMergeStates(t *testing.T) {
	f := newFake(t)
	const window = 20 * time.Second
	for _, n := range []int{0, 1, 100, 101, 5000} {
		for _, long := range []int{0, 3} { // one of so many is long
			var spans []compare.Span
			at := -time.Second
			for i := range n {
				d := time.Duration(f.rnd.Int64N(int64(window) / int64(n)))
				if long > 0 && i%long == 0 {
					d *= 2
				}
				spans = append(spans, compare.Span{State: fmt.Sprint(i % 3), From: at, To: at + d, Count: 1})
				at += d + time.Duration(f.rnd.Int64N(2))*time.Millisecond
			}
			got := mergeStates(spans, window, 100)
			if len(got) > 100 || n <= 100 && len(got) != n {
				t.Errorf("%d spans became %d", n, len(got))
			}
			count, last := 0, time.Duration(-1<<62)
			for _, s := range got {
				count += s.Count
				if s.From < last || s.To < s.From {
					t.Fatalf("%d spans: %+v begins before %v", n, s, last)
				}
				last = s.To
			}
			if count != n {
				t.Errorf("%d spans became %d with %d in them", n, len(got), count)
			}
		}
	}
}

func TestMergeStatesTakesTheLongest(t *testing.T) {
	ms := time.Millisecond
	got := mergeStates([]compare.Span{
		{State: "a", From: 0, To: 2 * ms, Count: 1},
		{State: "b", Note: "n", From: 2 * ms, To: 4 * ms, Count: 1},
		{State: "b", From: 5 * ms, To: 8 * ms, Count: 1},
		{State: "a", From: 600 * ms, To: 601 * ms, Count: 1},
	}, time.Second, 3)
	want := []compare.Span{{State: "b", From: 0, To: 601 * ms, Count: 4}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(compare.Span{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestStatesKeepTheirColours(t *testing.T) {
	class := func(state string, states ...string) string {
		var l compare.Lane
		for _, s := range states {
			l.Spans = append(l.Spans, compare.Span{State: s})
		}
		st := newStates([][]compare.Lane{{l}})
		return st.legend[st.index(state)].Class
	}
	if got := class("collecting", "zzz", "collecting", "aaa"); got != "e3" {
		t.Errorf("collecting is %s", got)
	}
	alone := class("down", "down")
	if got := class("down", "collecting", "down", "draining"); got != alone {
		t.Errorf("down is %s, and %s beside others", alone, got)
	}
	seen := map[string]bool{}
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, s := range all {
		seen[class(s, all...)] = true
	}
	if len(seen) != otherColors {
		t.Errorf("%d states have %d colours", len(all), len(seen))
	}
}
