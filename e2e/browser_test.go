//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"evenkeel.dev/internal/testutil"
)

// browserTimeout bounds the browser's start, and one test in it.
const browserTimeout = 5 * time.Minute

// chrome is the browser of all tests, because its start takes longer than most of them. TestMain
// ends it.
var chrome struct {
	sync.Once
	ctx context.Context
	end func()
	err error
}

func startChrome(path string) {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(browserTimeout),
		chromedp.NoSandbox, // the sandbox refuses to start as root, which CI often is
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	ctx, end := chromedp.NewExecAllocator(context.Background(), opts...)
	chrome.ctx, _ = chromedp.NewContext(ctx)
	chrome.end = end
	chrome.err = chromedp.Do(chrome.ctx)
}

func endChrome() error {
	if chrome.ctx == nil {
		return nil
	}
	defer chrome.end()
	if err := chromedp.Cancel(chrome.ctx); err != nil && chrome.err == nil {
		return fmt.Errorf("close the browser: %w", err)
	}
	return nil
}

// browser opens a tab with its own cookies and storage. The test fails if a page logs an error.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	if chrome.Do(func() { startChrome(path) }); chrome.err != nil {
		t.Fatal(chrome.err)
	}
	ctx, cancelTimeout := context.WithTimeout(chrome.ctx, browserTimeout)
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	messages := chromedp.Console(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for m, err := range messages {
			if err == nil && (m.IsException() || m.Type == chromedp.ConsoleError) {
				t.Errorf("the page logged: %s (%s)", m.Text, m.URL)
			}
		}
	}()
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the tab: %v", err)
		}
		cancelTimeout()
		<-watched
	})
	do(t, ctx) // the first run opens the tab
	return ctx
}

// chromium returns the browser's path. If it is required, a missing one fails the test.
func chromium(t *testing.T) string {
	t.Helper()
	testutil.Slow(t, "starts a browser")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testutil.Missing(t, "chromium, chromium-browser, google-chrome or chrome in PATH")
	return ""
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func read[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func texts(t *testing.T, ctx context.Context, selector string) []string {
	t.Helper()
	return read(t, ctx, chromedp.Evaluate[[]string](
		fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent.trim())`, selector)))
}

type screen struct {
	name   string
	width  int64
	height int64
	scheme string // prefers-color-scheme
}

var screens = []screen{
	{"desktop-light", 1280, 900, "light"},
	{"desktop-dark", 1280, 900, "dark"},
	{"phone-light", 390, 844, "light"},
	{"phone-dark", 390, 844, "dark"},
}

// shoot takes a screenshot on each screen under go test -artifacts, and fails if the page is wider.
func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	keep := flag.Lookup("test.artifacts").Value.String() == "true"
	for _, s := range screens {
		if !keep && s.scheme == "dark" {
			continue
		}
		do(t, ctx, chromedp.EmulateViewport(s.width, s.height))
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}},
		}); err != nil {
			t.Fatal(err)
		}
		overflow := read(t, ctx, chromedp.Evaluate[int](
			`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		if overflow > 0 {
			t.Errorf("%s on %s: the page is %d pixels wider than the screen", name, s.name, overflow)
		}
		if !keep {
			continue
		}
		png := read(t, ctx, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+"-"+s.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWidths tests that tables are not cut at 500 pixels, and that the slowest requests use the
// width at 1280.
func TestWidths(t *testing.T) {
	testutil.Long(t, "more widths of pages")
	chromium(t)
	page := filepath.Join(t.TempDir(), "why.html")
	cmd := exec.CommandContext(t.Context(), build(t, "../cmd/evenkeel"), "explain", "-html", page,
		"../bench/results/search-locked-2026-11-22.trace.gz")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("evenkeel explain: %v\n%s", err, out)
	}
	ctx := browser(t)
	const (
		open = `document.querySelectorAll('details').forEach(d => d.open = true)`
		// where the last cells that are shown end, by table, in pixels
		ends = `[...document.querySelectorAll('table')].flatMap(table => [...table.rows].map(row => {
			const shown = [...row.cells].filter(c => c.getClientRects().length > 0);
			const last = shown.at(-1);
		return {
			Table: (table.id || table.className) + ' ' + (last?.textContent.trim() ?? ''),
			X: Math.ceil(last?.getBoundingClientRect().right ?? 0),
		};
		}))`
	)
	type end struct {
		Table string
		X     int
	}
	do(t, ctx, chromedp.EmulateViewport(500, 900), chromedp.Navigate("file://"+page),
		chromedp.WaitVisible(chromedp.CSS("#slowest")))
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

var viewerListens = regexp.MustCompile(`Trace viewer is listening on http://127\.0\.0\.1:([0-9]+)`)

// TestViewer reads what -perfetto writes with Chrome's viewer, as go tool trace serves it.
func TestViewer(t *testing.T) {
	testutil.Long(t, "go tool trace takes half a minute of a processor for its pages")
	chromium(t)
	dir := t.TempDir()
	packed, err := os.ReadFile("../bench/results/search-locked-2026-11-22.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	trace, tracks := filepath.Join(dir, "t.trace"), filepath.Join(dir, "t.json")
	if err := os.WriteFile(trace+".gz", packed, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gzip", "-dk", trace+".gz").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), build(t, "../cmd/evenkeel"), "explain", "-perfetto", tracks,
		trace).CombinedOutput(); err != nil {
		t.Fatalf("evenkeel explain: %v\n%s", err, out)
	}
	viewer, port := start(t, viewerListens, "sh", "-c", "BROWSER=true exec go tool trace -http=127.0.0.1:0 "+trace+
		" 2>&1")
	defer stop(t, viewer)

	ctx := browser(t)
	do(t, ctx, chromedp.Navigate("http://localhost:"+port+"/trace?view=proc"))
	eventually(t, "go tool trace has its viewer", func() bool {
		const there = `Boolean(document.getElementById("trace-viewer")?.trackView?.viewport)`
		return read(t, ctx, chromedp.Evaluate[bool](there))
	})

	file, err := os.ReadFile(tracks)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	if text, err = json.Marshal(string(file)); err != nil {
		t.Fatal(err)
	}
	var written struct {
		TraceEvents []struct{ Ph string }
	}
	if err := json.Unmarshal(file, &written); err != nil {
		t.Fatal(err)
	}
	slices := 0
	for _, e := range written.TraceEvents {
		if e.Ph == "X" {
			slices++
		}
	}
	if warnings := read(t, ctx, chromedp.Evaluate[[]string](fmt.Sprintf(`(() => {
		const model = new tr.Model(), o = new tr.importer.ImportOptions();
		new tr.importer.Import(model, o).importTraces([%s]);
		const threads = Object.values(model.processes).flatMap(p => Object.values(p.threads));
		const n = threads.reduce((n, t) => n + t.sliceGroup.length, 0);
		return [...model.importWarnings.map(w => w.message), ...(n === %d ? [] : [n + " slices were read"])];
	})()`, text, slices))); len(warnings) > 0 {
		t.Errorf("of %d slices: %q", slices, warnings)
	}
}
