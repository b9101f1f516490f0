package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/reqtrace"
)

func pageOf(t *testing.T, h *History, o PageOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WritePage(&b, h, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

func TestPage(t *testing.T) {
	p := pageOf(t, knownHistory(), PageOptions{
		Title: "orders", Now: night, Status: []string{"Recording 97% of the time; slower than 50 ms is slow."},
		SnapshotURL: func(id string) string { return "snapshot/" + id },
	})
	m := styleElement.FindStringSubmatch(p)
	sum := sha256.Sum256([]byte(m[1]))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'"; !strings.Contains(html.UnescapeString(p), want) {
		t.Errorf("the page does not allow its style: %s", want)
	}
	if strings.Contains(p, "<script") || strings.Contains(p, "http") && !strings.Contains(p, "http-equiv") ||
		strings.Contains(p, " style=") {
		t.Error("a script, an address or a style that its policy does not allow")
	}
	p = styleElement.ReplaceAllString(p, "<style>...</style>")
	p = regexp.MustCompile(`sha256-.*?&#39;`).ReplaceAllString(p, "...")
	golden.Check(t, "page.golden.html", p)
}

func TestPageOfLittle(t *testing.T) {
	if p := pageOf(t, &History{}, PageOptions{}); !strings.Contains(p, "no request was slow") {
		t.Error(p)
	}
	h := &History{}
	h.count(night, "GET /", Count{Slow: 4, Off: 4})
	if p := pageOf(t, h, PageOptions{Now: night}); !strings.Contains(p,
		"4 requests were slow, and none of them is explained") || !strings.Contains(p, "4 while recording was off") {
		t.Error(p)
	}
	h.addOnce(slow(1, night, Key{Cause: reqtrace.CauseLock, Function: "main.get", Class: "GET /"}, ms))
	if got, want := h.Sentence(time.Time{}),
		"4 requests were slow (1 explained): 100% waiting for a lock"; !strings.HasPrefix(got, want) {
		t.Errorf("%q is said of one request of four", got)
	}
	h = &History{}
	for i := range pageCauses + 2 {
		h.addOnce(slow(i, night, Key{Cause: reqtrace.CauseLock, Function: fmt.Sprint("main.f", i), Class: "GET /"}, ms))
	}
	if p := pageOf(t, h, PageOptions{}); !strings.Contains(p, "And 2 more causes, which made 2 requests slow.") {
		t.Error(p)
	}
}

func TestPageEscapes(t *testing.T) {
	evil := "evil</style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'"
	h := &History{}
	r := slow(1, night, Key{Cause: reqtrace.CauseLock, Function: evil, Holder: evil, Class: evil}, ms)
	for _, text := range []*string{
		&r.ID, &r.Mark, &r.Words, &r.Place, &r.HolderPlace, &r.Breakdown, &r.Snapshot, &r.Build, &r.TraceID,
	} {
		*text = evil
	}
	h.built("old", night.Add(-time.Hour))
	h.addOnce(r)
	p := pageOf(t, h, PageOptions{
		Title: evil, Status: []string{evil}, Sources: []string{evil},
		SnapshotURL: func(s string) string { return "javascript:" + s },
	})
	if strings.Contains(p, "<script") || strings.Contains(p, "<img") || strings.Contains(p, `href="javascript`) ||
		strings.Count(p, "</style>") != 1 {
		t.Error("markup is taken as such")
	}
}

// TestBand: every explained request is in the picture, however long its time is.
func TestBand(t *testing.T) {
	for _, span := range []time.Duration{
		0, 10 * time.Minute, 3 * time.Hour, 47 * time.Hour, 60 * time.Hour,
		100 * 24 * time.Hour,
	} {
		h := &History{}
		const n = 1000
		for i := range n {
			one := &History{}
			one.addOnce(slow(i, night.Add(-span*time.Duration(i)/n), Key{Cause: reqtrace.Cause(i % 3)}, ms))
			h.merge(one)
		}
		b := h.band(time.Time{}, night)
		sum := uint64(0)
		for _, bin := range b.bins {
			sum += sumOf(bin)
		}
		if sum != n || len(b.bins) > maxBins+1 || span > 48*time.Hour && b.width < 3600 {
			t.Errorf("%v: %d requests in %d pieces of %d s", span, sum, len(b.bins), b.width)
		}
		for _, tick := range b.chart(h, night).X {
			if tick.At < 0 || tick.At > 100 || tick.Label == "" {
				t.Errorf("%v: %+v", span, tick)
			}
		}
	}
}

func TestMark(t *testing.T) {
	for _, id := range []string{"", "a", "a b", "slow-1", "x slow-2"} {
		if got, n := unmark(Mark(id, 7)); got != id || n != 7 {
			t.Errorf("%q: %q, %d", id, got, n)
		}
	}
	for _, m := range []string{"", "a", "a b", "slow-", "slow-x", "a slow--1"} {
		if got, n := unmark(m); got != m || n != 0 {
			t.Errorf("%q: %q, %d", m, got, n)
		}
	}
}

// noted is a slow request of a kept snapshot, as a trace shows it.
func noted(number uint64, class string) Request {
	k := Key{Cause: reqtrace.CauseLock, Function: "main.get", Holder: "main.refresh", Class: class}
	q := slow(int(number), night, k, ms)
	q.Mark = Mark("a", number)
	return q
}

// TestAddFound tests that what somebody finds in kept snapshots takes the place of their kept
// requests: each slow request counts once, whatever became of it, and in however many snapshots it
// is.
func TestAddFound(t *testing.T) {
	served := &History{} // by the process, which knows no class of one of them
	served.addSource("shop")
	served.count(night, "GET /", Count{Slow: 4, Kept: 4})
	served.count(night, "", Count{Slow: 1, Kept: 1})
	served.count(night, "GET /", Count{Slow: 2, Off: 2})
	served.count(night.Add(time.Minute), "GET /", Count{Slow: 3, Kept: 3}) // whose snapshot is gone
	found := Open(Options{})
	one := &Head{Trace: Trace{Taken: night}, Noted: []Noted{{1, "GET /", "t1"}, {2, "GET /", ""}, {3, "", ""}}}
	two := &Head{Trace: Trace{Taken: night}, Noted: []Noted{{4, "GET /", ""}, {5, "GET /", ""}}}
	cut := noted(5, "GET /")
	cut.Cut = true
	early := noted(6, "GET /") // waited before its handler
	early.Mark = ""
	first, third, fourth := noted(1, "GET /"), noted(3, "main.serve"), noted(4, "GET /")
	found.AddKept(one, &Explained{Slow: []Request{first, third, early}})       // and not 2
	found.AddKept(two, &Explained{Slow: []Request{first, fourth, cut, early}}) // 1 again
	served.AddFound(found.Snapshot())
	want := Coverage{Count: Count{Slow: 11, Kept: 3, Limited: 1, Off: 2}, Seen: 4, Cut: 1}
	if c := served.Coverage(time.Time{}); c != want {
		t.Errorf("%+v, not %+v", c, want)
	}
	if c := served.CoverageByClass(time.Time{}); c[""] != (Coverage{}) || c["main.serve"].Slow != 1 {
		t.Errorf("%+v", c)
	}
	list := served.Summaries(time.Time{})
	if len(list) != 1 || list[0].Requests != 4 || list[0].Worst.Mark != "a" {
		t.Errorf("%+v", list)
	}
	if len(served.sources) != 1 {
		t.Errorf("sources: %v", served.sources)
	}
}
