//go:build unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// freePort returns a free address on loopback.
func freePort(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + freeServerPort(t)
}

// TestReport measures the search service in two ways, and uses the page.
func TestReport(t *testing.T) {
	chromium(t)
	evenkeel, search := build(t, "../cmd/evenkeel"), build(t, "../examples/search")
	ctx := browser(t)
	page := filepath.Join(t.TempDir(), "page.html")
	addr := freePort(t)
	cmd := exec.CommandContext(t.Context(), evenkeel, "run", "-n", "40", "-c", "8", "-repeat", "2", "-html", page,
		"-url", "http://"+addr+"/search?term=president&cnn=on&bbc=on&nyt=on",
		"-variant", "default:", "-variant", "<b>lean</b>: -alloc=lean", "--", search, "-addr", addr)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("evenkeel run: %v\n%s", err, out)
	}
	if _, err := os.Stat(page); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+page),
		chromedp.WaitVisible(chromedp.CSS("#ccdf")))
	shoot(t, ctx, "report")
	do(t, ctx, chromedp.EmulateViewport(1280, 900))

	t.Run("same figures as the terminal", func(t *testing.T) {
		rows := texts(t, ctx, "#figures tbody tr th")
		for _, name := range rows {
			if !strings.Contains(string(out), "\n"+name) {
				t.Errorf("the page has a row %q, the terminal has not", name)
			}
		}
		if len(rows) < 15 {
			t.Errorf("only %d rows: %q", len(rows), rows)
		}
	})
	t.Run("legend hides a variant", func(t *testing.T) {
		shown := func() int {
			return read(t, ctx, chromedp.Evaluate[int](
				`[...document.querySelectorAll('#ccdf .data [data-v="1"]')]
			.filter(e => !e.hasAttribute('hidden')).length`))
		}
		before := shown()
		do(t, ctx, chromedp.Click(chromedp.CSS(`button.variant[data-v="1"]`)))
		if before == 0 || shown() != 0 {
			t.Errorf("%d lines of the variant before, %d after it was switched off", before, shown())
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`button.variant[data-v="1"]`)))
		if shown() != before {
			t.Errorf("%d lines after it was switched on again, want %d", shown(), before)
		}
	})
	t.Run("pointing shows values", func(t *testing.T) {
		b := box(t, ctx, "#ccdf .hit")
		do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.Width*.6, b.Y+b.Height/2))
		tip := strings.Join(texts(t, ctx, "#tooltip:not([hidden])"), "")
		if !strings.Contains(tip, "default") || !strings.Contains(tip, "<b>lean</b>") {
			t.Errorf("the tooltip says %q; both variants should be in it", tip)
		}
	})
	t.Run("dragging zooms, reset undoes it", func(t *testing.T) {
		view := func() string {
			return read(t, ctx, chromedp.Evaluate[string](
				`document.querySelector('#ccdf svg.data').getAttribute('viewBox')`))
		}
		ticks := func() string { return strings.Join(texts(t, ctx, "#ccdf .xticks .tick text"), " ") }
		whole, wholeTicks := view(), ticks()
		b := box(t, ctx, "#ccdf .hit")
		y := b.Y + b.Height/2
		do(t, ctx,
			chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, b.X+b.Width*.5, y, chromedp.ButtonLeft,
				chromedp.ClickCount(1)),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.Width*.7, y, chromedp.ButtonLeft),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, b.X+b.Width*.7, y, chromedp.ButtonLeft,
				chromedp.ClickCount(1)))
		if view() == whole || ticks() == wholeTicks {
			t.Errorf("after a drag the view is %s, the ticks %q: nothing changed", view(), ticks())
		}
		do(t, ctx, chromedp.Click(chromedp.CSS(`button.reset[data-group="latency"]:not([hidden])`)))
		if view() != whole || ticks() != wholeTicks {
			t.Errorf("after reset the view is %s, want %s", view(), whole)
		}
	})
	t.Run("labels are text", func(t *testing.T) {
		if got := texts(t, ctx, "b"); len(got) != 0 {
			t.Errorf("a label became markup: %q", got)
		}
	})
}

type rect struct{ X, Y, Width, Height float64 }

// box scrolls to a selector's first match, and returns where it is.
func box(t *testing.T, ctx context.Context, selector string) rect {
	t.Helper()
	return read(t, ctx, chromedp.Evaluate[rect](fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect();
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height};
	})()`, selector)))
}

// TestRecorderPage tests a recorder's page, wide, narrow and dark. The browser logs what its policy
// blocks.
func TestRecorderPage(t *testing.T) {
	chromium(t)
	page := filepath.Join(t.TempDir(), "night.html")
	cmd := exec.CommandContext(t.Context(), build(t, "../cmd/evenkeel"), "report", "-html", page,
		"../internal/history/testdata/history.json")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("evenkeel report: %v\n%s", err, out)
	}
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate("file://"+page), chromedp.WaitVisible(chromedp.CSS("h1")))
	shoot(t, ctx, "recorder")
	var seen []string
	for _, scheme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, read(t, ctx,
			chromedp.Evaluate[string](`(s => s.color + ' on ' + s.backgroundColor)(getComputedStyle(document.body))`)))
	}
	if seen[0] == seen[1] {
		t.Errorf("light and dark are the same: %s", seen[0])
	}
	const blank = `(document.querySelectorAll('details').forEach(d => d.open = true),
		[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect())
			.filter(r => r.width < 10 || r.height < 3).length)`
	if n := read(t, ctx, chromedp.Evaluate[int](blank)); n > 0 {
		t.Errorf("%d pictures have no size", n)
	}
	if n := len(texts(t, ctx, "svg")); n < 3 {
		t.Errorf("%d pictures: the band and the causes' paths are missing", n)
	}
}
