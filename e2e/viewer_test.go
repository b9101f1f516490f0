//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"evenkeel.dev/internal/testutil"
)

// viewerListens is what go tool trace says when its pages can be opened.
var viewerListens = regexp.MustCompile(`Trace viewer is listening on http://127\.0\.0\.1:([0-9]+)`)

// TestViewer follows a link of the page into go tool trace, which marks the request's time; and the viewer of
// Chrome's that go tool trace brings reads what -perfetto writes, all of it and without a warning.
func TestViewer(t *testing.T) {
	testutil.Long(t, "go tool trace takes half a minute of a processor for its pages")
	chromium(t) // or skip now
	dir := t.TempDir()
	packed, err := os.ReadFile("../bench/results/search-locked-2026-11-22.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	trace, page, tracks := filepath.Join(dir, "t.trace"), filepath.Join(dir, "t.html"), filepath.Join(dir, "t.json")
	if err := os.WriteFile(trace+".gz", packed, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gzip", "-dk", trace+".gz").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), build(t, "../cmd/evenkeel"), "explain", "-html", page, "-perfetto", tracks, trace).CombinedOutput(); err != nil {
		t.Fatalf("evenkeel explain: %v\n%s", err, out)
	}
	viewer, port := start(t, viewerListens, "sh", "-c", "BROWSER=true exec go tool trace -http=127.0.0.1:0 "+trace+" 2>&1")
	defer stop(t, viewer)

	ctx := browser(t)
	do(t, ctx, chromedp.Navigate("file://"+page), chromedp.WaitVisible(chromedp.CSS("#port")))
	do(t, ctx, chromedp.Focus(chromedp.CSS("#port")))
	const first = `document.querySelector(".leads a").href`
	read(t, ctx, chromedp.Evaluate[bool](fmt.Sprintf(`(() => { const p = document.getElementById("port"); p.value = %q; p.dispatchEvent(new Event("input")); return true })()`, port)))
	link := read(t, ctx, chromedp.Evaluate[string](first))
	if !strings.HasPrefix(link, "http://localhost:"+port+"/trace?goid=") {
		t.Fatalf("the first link after the port was written is %s", link)
	}
	var from, to float64
	if _, err := fmt.Sscanf(link[strings.IndexByte(link, '#'):], "#%f:%f", &from, &to); err != nil {
		t.Fatalf("%s: %v", link, err)
	}

	do(t, ctx, chromedp.Navigate(link))
	// It is drawn when the range is there.
	const marked = `(() => { const r = document.getElementById("trace-viewer")?.trackView?.viewport?.interestRange; return r && !r.isEmpty ? [r.min, r.max] : [] })()`
	var got []float64
	eventually(t, "go tool trace marks the request's time", func() bool {
		got = read(t, ctx, chromedp.Evaluate[[]float64](marked))
		return len(got) == 2
	})
	if got[0] != from || got[1] != to {
		t.Errorf("it marks %v, want %v to %v", got, from, to)
	}

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
		const n = Object.values(model.processes).flatMap(p => Object.values(p.threads)).reduce((n, t) => n + t.sliceGroup.length, 0);
		return [...model.importWarnings.map(w => w.message), ...(n === %d ? [] : [n + " slices were read"])];
	})()`, text, slices))); len(warnings) > 0 {
		t.Errorf("of %d slices: %q", slices, warnings)
	}
}
