//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestReportEvents measures a service, makes up events, and uses the lanes of the page.
func TestReportEvents(t *testing.T) {
	chromium(t)
	evenkeel, search := build(t, "../cmd/evenkeel"), build(t, "../examples/search")
	ctx := browser(t)
	dir := t.TempDir()
	run, events, page := filepath.Join(dir, "run.json"), filepath.Join(dir, "events.ndjson"),
		filepath.Join(dir, "page.html")
	addr := freePort(t)
	command(t, evenkeel, "run", "-rate", "20", "-z", "3s", "-o", run, "-url", "http://"+addr+
		"/search?term=president&cnn=on", "--", search, "-addr", addr)
	writeEvents(t, events, windowStart(t, run))
	out := command(t, evenkeel, "compare", "-events", events, "-html", page, run)
	for _, want := range []string{
		"replica 1: collecting", "replica 2: collecting",
		"1x,  500 ms in all, longest  500 ms", "release\ufffd: rolled out",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal lacks %q:\n%s", want, out)
		}
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+page),
		chromedp.WaitVisible(chromedp.CSS("#lanes-0")))
	box(t, ctx, "#lanes-0")
	shoot(t, ctx, "events")
	do(t, ctx, chromedp.EmulateViewport(1280, 900))

	t.Run("lanes and legend are seen", func(t *testing.T) {
		if got := strings.Join(texts(t, ctx, "#lanes-0 .yticks text"),
			", "); got != "release\ufffd, replica 1, replica 2" {
			t.Errorf("lanes %q", got)
		}
		legend := strings.Join(texts(t, ctx, "#states li"), ", ")
		if legend != "draining, collecting, rolled out, serving" {
			t.Errorf("legend %q", legend)
		}
		for _, selector := range []string{
			"#lanes-0 .track", "#lanes-0 .state.e3", "#lanes-0 .state.narrow.e2",
			"#states .state",
		} {
			if b := box(t, ctx, selector); b.Height < 4 {
				t.Errorf("%s is %v", selector, b)
			}
		}
	})
	t.Run("lanes share the time axis of the latency", func(t *testing.T) {
		lanes, latency := box(t, ctx, "#lanes-0 .hit"), box(t, ctx, "#time-0 .hit")
		if lanes.X != latency.X || lanes.Width != latency.Width || lanes.Height < 30 {
			t.Errorf("lanes at %v, latency at %v", lanes, latency)
		}
	})
	t.Run("pointing tells the state", func(t *testing.T) {
		tip := pointAtState(t, ctx, "#lanes-0 .state.e3", .5, 1.5/3)
		for _, want := range []string{"replica 1", "collecting", "from 1.000 s for 500 ms", "heap <b>64</b> MiB"} {
			if !strings.Contains(tip, want) {
				t.Errorf("the tooltip %q lacks %q", tip, want)
			}
		}
		if tip := pointAtState(t, ctx, "#lanes-0 .state.narrow.e2", .5, 1.5/3); !strings.Contains(tip, "draining") ||
			!strings.Contains(tip, "10 µs") {
			t.Errorf("at what is narrower than a pixel the tooltip says %q", tip)
		}
	})
	t.Run("zoom moves the lanes", func(t *testing.T) {
		before := box(t, ctx, "#lanes-0 .state.e3")
		b := box(t, ctx, "#time-0 .hit")
		y := b.Y + b.Height/2
		do(t, ctx,
			chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, b.X+b.Width*.25, y, chromedp.ButtonLeft,
				chromedp.ClickCount(1)),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.Width*.75, y, chromedp.ButtonLeft),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, b.X+b.Width*.75, y, chromedp.ButtonLeft,
				chromedp.ClickCount(1)))
		after := box(t, ctx, "#lanes-0 .state.e3")
		if r := after.Width / before.Width; r < 1.8 || r > 2.2 {
			t.Errorf("twice as near, a state is %.2f times as wide", r)
		}
		view := func(id string) string {
			return read(t, ctx, chromedp.Evaluate[string](
				fmt.Sprintf(`document.querySelector('#%s svg.data').getAttribute('viewBox')`, id)))
		}
		if view("lanes-0") != view("time-0") {
			t.Errorf("lanes show %s, latency %s", view("lanes-0"), view("time-0"))
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`button.reset[data-group="time"]:not([hidden])`)))
		if got := box(t, ctx, "#lanes-0 .state.e3"); got.Width != before.Width {
			t.Errorf("after reset %v, before %v", got, before)
		}
	})
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// windowStart returns when the first run began.
func windowStart(t *testing.T, name string) time.Time {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Runs []struct{ Load struct{ Started time.Time } }
	}
	if err := json.Unmarshal(text, &f); err != nil || len(f.Runs) == 0 {
		t.Fatalf("%s: %v, %d runs", name, err, len(f.Runs))
	}
	return f.Runs[0].Load.Started
}

// writeEvents makes up events around a run of three seconds.
func writeEvents(t *testing.T, name string, began time.Time) {
	t.Helper()
	var b strings.Builder
	for _, e := range []struct {
		after               time.Duration
		source, state, note string
	}{
		{-time.Second, "replica 1", "serving", ""},
		{500 * time.Millisecond, "replica 1", "draining", ""},
		{500*time.Millisecond + 10*time.Microsecond, "replica 1", "serving", ""},
		{time.Second, "replica 1", "collecting", "heap <b>64</b> MiB"},
		{1500 * time.Millisecond, "replica 1", "serving", ""},
		{2 * time.Second, "replica 2", "collecting", ""},
		{2100 * time.Millisecond, "replica 2", "serving", ""},
		{2500 * time.Millisecond, "release\x1b", "rolled out", ""},
		{time.Hour, "replica 1", "collecting", ""},
	} {
		line, err := json.Marshal(map[string]any{
			"t": began.Add(e.after), "source": e.source, "state": e.state,
			"note": e.note, "heap": 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pointAtState moves the pointer over a state, and returns the tooltip's text.
func pointAtState(t *testing.T, ctx context.Context, selector string, share, height float64) string {
	t.Helper()
	lanes := box(t, ctx, "#lanes-0 .hit")
	b := read(t, ctx, chromedp.Evaluate[rect](fmt.Sprintf(`(() => {
		const r = document.querySelector(%q).getBoundingClientRect();
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height};
	})()`, selector)))
	do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.Width*share,
		lanes.Y+lanes.Height*height))
	return strings.Join(texts(t, ctx, "#tooltip:not([hidden])"), " ")
}
