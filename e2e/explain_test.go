//go:build unix

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

var wholeRequests = regexp.MustCompile(`(?m)^([0-9,]+) whole requests? `)

// explained traces the search service under load, and returns the report and its page. If a trace
// has few requests, it takes a longer one.
func explained(t *testing.T) (text, page string) {
	t.Helper()
	evenkeel := build(t, "../cmd/evenkeel")
	p, url := start(t, searchListens, build(t, "../examples/search"), "-addr", "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { cancel(); wg.Wait(); stop(t, p) }()
	for range 3 {
		wg.Go(func() { ask(ctx, url+"/search?term=president&cnn=on&bbc=on&nyt=on") })
	}
	page = filepath.Join(t.TempDir(), "page.html")
	for seconds := 1; ; seconds *= 2 {
		from := fmt.Sprintf("%s/debug/pprof/trace?seconds=%d", url, seconds)
		out, err := exec.CommandContext(t.Context(), evenkeel, "explain", "-html", page, from).CombinedOutput()
		requests := 0
		if m := wholeRequests.FindSubmatch(out); m != nil {
			requests, _ = strconv.Atoi(strings.ReplaceAll(string(m[1]), ",", ""))
		}
		if requests < 20 && seconds < 60 {
			t.Logf("a trace of %d s has %d requests, or an error: %v", seconds, requests, err)
			continue
		}
		if err != nil {
			t.Fatalf("evenkeel explain: %v\n%s", err, out)
		}
		if _, err := os.Stat(page); err != nil {
			t.Fatal(err)
		}
		return string(out), page
	}
}

func ask(ctx context.Context, url string) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return
		}
		res, err := client.Do(req)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		time.Sleep(10 * time.Millisecond) // for hundreds of requests in a second
	}
}

func TestExplain(t *testing.T) {
	chromium(t)
	out, page := explained(t)
	ctx := browser(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+page),
		chromedp.WaitVisible(chromedp.CSS("#ccdf")))
	shoot(t, ctx, "explain")
	do(t, ctx, chromedp.EmulateViewport(1280, 900))

	t.Run("same verdict as the terminal", func(t *testing.T) {
		verdict := strings.Join(texts(t, ctx, "#verdict"), "")
		if verdict == "" || !strings.Contains(strings.Join(strings.Fields(out), " "), verdict) {
			t.Errorf("the page says %q, the terminal\n%s", verdict, out)
		}
		for _, name := range texts(t, ctx, "#bands tbody th") {
			if !strings.Contains(out, "\n"+name+" ") {
				t.Errorf("the page has a band %q, the terminal has not", name)
			}
		}
	})
	t.Run("pointing at a bar says what it is", func(t *testing.T) {
		b := box(t, ctx, "#bands rect.k")
		do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.Width/2, b.Y+b.Height/2))
		if tip := texts(t, ctx, "#tooltip:not([hidden])"); len(tip) != 1 || !strings.HasPrefix(tip[0], "p0-50, ") ||
			!strings.Contains(tip[0], "%") {
			t.Errorf("the tooltip says %q", tip)
		}
	})
	t.Run("pointing at the distribution says a share", func(t *testing.T) {
		b := box(t, ctx, "#ccdf .hit")
		do(t, ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, b.X+b.Width*.5, b.Y+b.Height/2))
		if tip := texts(t, ctx, "#tooltip:not([hidden])"); len(tip) != 1 ||
			!strings.Contains(tip[0], "% slower than ") {
			t.Errorf("the tooltip says %q", tip)
		}
	})
	t.Run("a click opens a request's path, another closes it", func(t *testing.T) {
		open := func() int { return len(texts(t, ctx, "details.request[open]")) }
		if n := len(texts(t, ctx, "details.request")); n != 10 || open() != 0 {
			t.Fatalf("%d requests, %d of them open", n, open())
		}
		box(t, ctx, "details.request summary")
		do(t, ctx, chromedp.Click(chromedp.CSS("details.request summary")))
		if open() != 1 {
			t.Fatalf("%d are open after a click", open())
		}
		rows := texts(t, ctx, "details.request[open] div table.path tbody tr")
		if len(rows) == 0 || !strings.HasPrefix(rows[0], "+0") {
			t.Errorf("its path: %q", rows)
		}
		const height = `document.querySelector("details.request[open] table.path").getBoundingClientRect().height`
		if wide := read(t, ctx, chromedp.Evaluate[bool](height+` > 0`)); !wide {
			t.Error("its path is not to be seen")
		}
		shoot(t, ctx, "explain-path")
		do(t, ctx, chromedp.EmulateViewport(1280, 900), chromedp.Click(chromedp.CSS("details.request summary")))
		if open() != 0 {
			t.Error("it stays open after a second click")
		}
	})
	t.Run("the keyboard opens one too", func(t *testing.T) {
		do(t, ctx, chromedp.Focus(chromedp.CSS("details.request:nth-of-type(2) summary")), chromedp.KeyEvent("\r"))
		if n := len(texts(t, ctx, "details.request:nth-of-type(2)[open]")); n != 1 {
			t.Error("Enter does not open it")
		}
	})
	t.Run("a cause alone, and all again", func(t *testing.T) {
		dim := func() int { return len(texts(t, ctx, ".k.dim")) }
		do(t, ctx, chromedp.Click(chromedp.CSS("button.cause")))
		if dim() == 0 || len(texts(t, ctx, `button.cause[aria-pressed="true"]`)) != 1 {
			t.Errorf("%d pieces are dimmed", dim())
		}
		do(t, ctx, chromedp.KeyEvent("\x1b"))
		if dim() != 0 {
			t.Errorf("%d pieces are dimmed after Escape", dim())
		}
	})
}

// fetches asks for all that a page can ask for, and returns what is wrong. Chromium sends a body of
// unknown length by HTTP/2 alone.
const fetches = `(async () => {
	const wrong = []
	const same = (what, got, want) => {
		if (got !== want) wrong.push(what + ": " + String(got).slice(0, 200) + ", want " + String(want).slice(0, 200));
	}
	const hex = b => [...new Uint8Array(b)].map(x => x.toString(16).padStart(2, "0")).join("")
	const digest = async b => b.byteLength + " " + hex(await crypto.subtle.digest("SHA-256", b))
	const text = async (path, how) => (await fetch(path, how)).text()
	const hello = n => "hello " + n + " by " + proto
	for (let n = 0; n < 5; n++) same("GET", await text("/hello?n=" + n), hello(n))
	const all = await Promise.all([...Array(50).keys()].map(n => text("/hello?n=" + n)))
	all.forEach((got, n) => same("at once", got, hello(n)))
	const file = await (await fetch("/file")).arrayBuffer()
	same("a file", await digest(file), want)
	same("POST", await text("/digest", {method: "POST", body: file}), "POST " + want)
	same("307", await text("/moved", {method: "POST", body: file}), "POST " + want)
	const head = await fetch("/file", {method: "HEAD"})
	same("HEAD", head.headers.get("Content-Length"), String(file.byteLength))
	same("204", (await fetch("/empty")).status, 204)
	const redirected = await fetch("/redirect")
	same("a redirect", redirected.redirected + " " + await redirected.text(), "true " + hello("redirected"))
	const range = await fetch("/file", {headers: {Range: "bytes=100-199"}})
	same("a range", range.status + " " + hex(await range.arrayBuffer()), "206 " + hex(file.slice(100, 200)))
	same("trailers", await text("/trailers"), "body")
	if (proto === "HTTP/2.0") {
		const body = new ReadableStream({start(c) {
		for (let at = 0; at < file.byteLength; at += 65536) {
			c.enqueue(new Uint8Array(file, at, Math.min(65536, file.byteLength - at)));
		}
		c.close();
	}})
		same("a stream", await text("/digest", {method: "POST", body, duplex: "half"}), "POST " + want)
	} else {
		same("the end of a connection", await text("/close"), "closed")
	}
	const seen = []
	await new Promise(done => {
		const events = new EventSource("/events?stream=" + proto)
		events.onmessage = e => { seen.push(e.data); fetch("/seen?stream=" + proto, {method: "POST"}) }
		events.onerror = () => { events.close(); done() }
	})
	same("events", seen.join(), "0,1,2")
	const left = new AbortController()
	const answer = await fetch("/events?stream=left" + proto, {signal: left.signal})
	await answer.body.getReader().read()
	left.abort()
	same("after it has left", await text("/hello?n=9"), hello(9))
	for (const e of performance.getEntriesByType("resource")) {
		if (e.nextHopProtocol && e.nextHopProtocol !== hop) wrong.push(e.name + " came by " + e.nextHopProtocol);
	}
	return wrong
})()`

// TestClientsOfChromium tests HTTP/1.1 and, with TLS, HTTP/2.
func TestClientsOfChromium(t *testing.T) {
	needsCheck(t)
	onServers(t, func(t *testing.T, s *served) {
		for _, c := range []struct{ url, proto, hop string }{
			{s.plain, "HTTP/1.1", "http/1.1"},
			{s.secure, "HTTP/2.0", "h2"},
		} {
			ctx := browser(t)
			if _, err := chromedp.Call(ctx,
				security.SetIgnoreCertificateErrors,
				security.SetIgnoreCertificateErrorsParams{Ignore: true}); err != nil {
				t.Fatal(err) // httptest's certificate
			}
			do(t, ctx, chromedp.Navigate(c.url+"/"))
			script := fmt.Sprintf("const proto = %q, hop = %q, want = %q; ", c.proto, c.hop, s.digest) + fetches
			for _, wrong := range read(t, ctx, chromedp.Evaluate[[]string](script, chromedp.EvalAwaitPromise)) {
				t.Errorf("%s: %s", c.url, wrong)
			}
		}
	})
}
