//go:build unix

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"evenkeel.dev/internal/testutil"
)

// browserTimeout bounds the start of the browser, and all that one test does in it: only what
// hangs meets it.
const browserTimeout = 5 * time.Minute

// chrome is the browser of all tests. The first that needs it starts it: that takes more of a processor than what a test
// does in it. TestMain ends it.
var chrome struct {
	sync.Once
	ctx context.Context // nil: it was not started
	end func()
	err error
}

// startChrome starts headless Chromium with a new profile.
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
	chrome.end = end // it waits for the process and removes the profile
	chrome.err = chromedp.Do(chrome.ctx)
}

// endChrome returns when the browser has ended, if there is one.
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

// browser opens a tab of the browser, that has cookies and storage of its own, and returns the context that
// chromedp takes. The test fails if a page logs an error: a blocked style sheet, a missing
// file, an exception.
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

// chromium returns the browser's path. Where the browser is required, a missing one is a
// failure.
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

// do runs actions and ends the test if one fails.
func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// read runs an action and returns its value, or ends the test.
func read[T any](t *testing.T, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// texts returns the text of each element that matches a CSS selector.
func texts(t *testing.T, ctx context.Context, selector string) []string {
	t.Helper()
	return read(t, ctx, chromedp.Evaluate[[]string](
		fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent.trim())`, selector)))
}

// screen is what a screenshot is taken on.
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

// shoot takes a screenshot of the open page on each screen where somebody wants to look at them, and fails if the page is
// wider than a screen.
func shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("EVENKEEL_SHOTS")
	if f := flag.Lookup("test.artifacts"); dir == "" && f != nil && f.Value.String() == "true" {
		dir = t.ArtifactDir()
	} else if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range screens {
		if dir == "" && s.scheme == "dark" {
			continue // it is as wide in both
		}
		do(t, ctx, chromedp.EmulateViewport(s.width, s.height))
		if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}},
		}); err != nil {
			t.Fatal(err)
		}
		overflow := read(t, ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		if overflow > 0 {
			t.Errorf("%s on %s: the page is %d pixels wider than the screen", name, s.name, overflow)
		}
		if dir == "" {
			continue
		}
		png := read(t, ctx, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join(dir, name+"-"+s.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
