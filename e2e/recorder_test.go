//go:build unix

package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestRecorderPage: what a recorder shows of a night is all on the screen, wide or narrow, and has
// colours of its own where the reader wants it dark. Its policy blocks nothing of it: the browser
// would log that.
func TestRecorderPage(t *testing.T) {
	chromium(t) // or skip now
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
		[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().width < 10 || s.getBoundingClientRect().height < 3).length)`
	if n := read(t, ctx, chromedp.Evaluate[int](blank)); n > 0 {
		t.Errorf("%d pictures have no size", n)
	}
	if n := len(texts(t, ctx, "svg")); n < 3 {
		t.Errorf("%d pictures: the band and the causes' paths are missing", n)
	}
}
