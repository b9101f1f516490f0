//go:build unix

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"evenkeel.dev/internal/testutil"
)

// TestWidths: at 500 pixels the last column of each table of an explanation is on the screen, without
// scrolling; at 1280 the tables of the slowest requests use the right third of the page.
func TestWidths(t *testing.T) {
	testutil.Long(t, "more widths of pages")
	chromium(t) // or skip now
	page := filepath.Join(t.TempDir(), "why.html")
	cmd := exec.CommandContext(t.Context(), build(t, "../cmd/evenkeel"), "explain", "-html", page, "../bench/results/search-locked-2026-11-22.trace.gz")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("evenkeel explain: %v\n%s", err, out)
	}
	ctx := browser(t)
	const (
		open = `document.querySelectorAll('details').forEach(d => d.open = true)`
		// where the last cells that are shown end, by table, in pixels of the screen's width
		ends = `[...document.querySelectorAll('table')].flatMap(table => [...table.rows].map(row => {
			const shown = [...row.cells].filter(c => c.getClientRects().length > 0);
			return {Table: (table.id || table.className) + ' ' + (shown.at(-1)?.textContent.trim() ?? ''), X: Math.ceil(shown.at(-1)?.getBoundingClientRect().right ?? 0)};
		}))`
	)
	type end struct {
		Table string
		X     int
	}
	do(t, ctx, chromedp.EmulateViewport(500, 900), chromedp.Navigate("file://"+page), chromedp.WaitVisible(chromedp.CSS("#slowest")))
	rows := read(t, ctx, chromedp.Evaluate[[]end]("("+open+", "+ends+")"))
	if len(rows) < 20 {
		t.Errorf("the page has %d rows of tables: %v", len(rows), rows)
	}
	for _, r := range rows {
		if r.X > 500 {
			t.Errorf("at 500 pixels the last column of %q ends at %d", r.Table, r.X)
		}
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 900))
	used := 0
	for _, r := range read(t, ctx, chromedp.Evaluate[[]end](ends)) {
		if strings.HasPrefix(r.Table, "path ") {
			used = max(used, r.X)
		}
	}
	if used < 1280*2/3 {
		t.Errorf("at 1280 pixels the tables of the slowest requests end at %d: the right third is empty", used)
	}
}
