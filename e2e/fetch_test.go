//go:build unix

package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

// fetches is a script that asks for all that a page can ask for, and returns what is wrong. A body of unknown length
// Chromium sends by HTTP/2 alone.
const fetches = `(async () => {
	const wrong = []
	const same = (what, got, want) => { if (got !== want) wrong.push(what + ": " + String(got).slice(0, 200) + ", want " + String(want).slice(0, 200)) }
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
		const body = new ReadableStream({start(c) { for (let at = 0; at < file.byteLength; at += 65536) c.enqueue(new Uint8Array(file, at, Math.min(65536, file.byteLength - at))); c.close() }})
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
	for (const e of performance.getEntriesByType("resource")) if (e.nextHopProtocol && e.nextHopProtocol !== hop) wrong.push(e.name + " came by " + e.nextHopProtocol)
	return wrong
})()`

// TestClientsOfChromium: what a page asks for, by HTTP/1.1 and, with TLS, by HTTP/2.
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
				t.Fatal(err) // the certificate is that of package httptest
			}
			do(t, ctx, chromedp.Navigate(c.url+"/"))
			script := fmt.Sprintf("const proto = %q, hop = %q, want = %q; ", c.proto, c.hop, s.digest) + fetches
			for _, wrong := range read(t, ctx, chromedp.Evaluate[[]string](script, chromedp.EvalAwaitPromise)) {
				t.Errorf("%s: %s", c.url, wrong)
			}
		}
	})
}
