package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/reqtrace"
)

func TestExplanationText(t *testing.T) {
	x := NewExplanation("trace.out", knownReport())
	golden(t, "explain.golden.txt", func(b *bytes.Buffer) error { return x.Text(b, Style{}) })
	golden(t, "explain-color.golden.txt", func(b *bytes.Buffer) error { return x.Text(b, Style{Color: true}) })

	cut := NewExplanation("trace.out", &reqtrace.Report{Trace: time.Second, CutEnd: 3, Procs: 1, Marked: true})
	golden(t, "explain-cut.golden.txt", func(b *bytes.Buffer) error { return cut.Text(b, Style{}) })
}

// TestWhatIfForecast: what cannot be relied on is no forecast.
func TestWhatIfForecast(t *testing.T) {
	for _, tt := range []struct {
		text, page string
		change     func(*reqtrace.WhatIf)
	}{
		{"would be 5.46 ms, by a replay:", "p99 5.46 ms, model error &#43;10%", func(*reqtrace.WhatIf) {}},
		{"-60%, too much for a forecast", "<small>model error -60%", func(w *reqtrace.WhatIf) { w.ModelError = -.6 }},
		{"what-if     -  there was nothing", "", func(w *reqtrace.WhatIf) { *w = reqtrace.WhatIf{} }},
	} {
		r := knownReport()
		tt.change(&r.WhatIf)
		x := NewExplanation("trace.out", r)
		var text, page strings.Builder
		if err := x.Text(&text, Style{}); err != nil || !strings.Contains(text.String(), tt.text) {
			t.Errorf("no %q: %v\n%s", tt.text, err, text.String())
		}
		if err := x.HTML(&page); err != nil || !strings.Contains(page.String(), tt.page) {
			t.Errorf("the page has no %q, %v", tt.page, err)
		}
		for l := range strings.Lines(text.String()) {
			if strings.Contains(l, "what-if") && len(l) > 100 {
				t.Errorf("%d columns: %s", len(l), l)
			}
		}
	}
}

func TestExplanationTextFits(t *testing.T) {
	var b strings.Builder
	if err := NewExplanation("trace.out", knownReport()).Text(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(b.String(), "\n") {
		if n := len([]rune(l)); n > 100 && i > 0 { // the sentence may be longer
			t.Errorf("%d columns: %s", n, l)
		}
		if strings.TrimRight(l, " ") != l {
			t.Errorf("blanks at the end of %q", l)
		}
	}
}

func TestExplanationTextHasNoControlCharacters(t *testing.T) {
	var b strings.Builder
	if err := hostileExplanation().Text(&b, Style{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07") || !strings.Contains(b.String(), "evil") {
		t.Errorf("%q", b.String())
	}
}

// hostileExplanation has markup and control characters wherever a trace can have text.
func hostileExplanation() *Explanation {
	evil := "\x1b[2J\x07evil</script><script>alert(1)</script><img src=x onerror=alert(1)><!--\"'"
	site := reqtrace.Blame{Cause: reqtrace.CauseLock, Site: evil, Time: 9 * ms}
	r := fakeReport(partsOf(times{reqtrace.CauseRunning: 2 * ms}), partsOf(times{reqtrace.CauseRunning: 2 * ms, reqtrace.CauseLock: 9 * ms}), site)
	r.Slowest[0].ID, r.Slowest[1].ID = evil, evil
	r.Bands[0].Name = evil
	return NewExplanation(evil, r)
}

func TestExplanationJSON(t *testing.T) {
	var b bytes.Buffer
	if err := NewExplanation("trace.out", knownReport()).JSON(&b); err != nil {
		t.Fatal(err)
	}
	tool := regexp.MustCompile(`"tool": ".*"`)
	golden(t, "explain.golden.json", func(out *bytes.Buffer) error {
		out.Write(tool.ReplaceAll(b.Bytes(), []byte(`"tool": "evenkeel"`)))
		return nil
	})

	var got struct {
		Version int
		Verdict struct{ Sentence string }
		Tail    struct {
			Parts  map[string]time.Duration `json:"parts_ns"`
			Shares map[string]float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != ExplainVersion || got.Verdict.Sentence == "" || got.Tail.Parts["lock"] != 4*ms {
		t.Errorf("%+v", got)
	}
	sum := 0.
	for _, s := range got.Tail.Shares {
		sum += s
	}
	if sum < .999 || sum > 1.001 {
		t.Errorf("shares of the tail add up to %f", sum)
	}
}

// TestExplanationJSONHasNoNull has lists be lists even where there is nothing to list.
func TestExplanationJSONHasNoNull(t *testing.T) {
	for _, r := range []*reqtrace.Report{{}, fakeReport(partsOf(times{1: ms}), partsOf(times{1: ms}))} {
		r.Spans, r.CCDF = nil, nil
		var b strings.Builder
		if err := NewExplanation("-", r).JSON(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "null") {
			t.Errorf("null in\n%s", b.String())
		}
	}
}

func explainPageOf(t *testing.T, x *Explanation) string {
	t.Helper()
	var b strings.Builder
	if err := x.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExplanationPage(t *testing.T) {
	p := html.UnescapeString(explainPageOf(t, NewExplanation("trace.out", knownReport())))
	for _, want := range []string{
		`<h1 id="verdict">p99+ requests take 18.7 ms more`, "trace.out", "p99.9+", "run queue behind mark workers", "main.(*cache).get (cache.go:51)",
		"order-7", `<details class="request">`, `class="marking"`, `class="stop"`, "What a trace cannot show", `id="ccdf"`, contentSecurityPolicy(pageStyle+explainStyle, explainScript),
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(p, "<details class=\"request\">"); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	cut := explainPageOf(t, NewExplanation("trace.out", &reqtrace.Report{CutEnd: 3}))
	if !strings.Contains(cut, "no whole request") || strings.Contains(cut, `id="bands"`) {
		t.Error("the page of a trace without a whole request has figures, or no verdict")
	}
}

func TestExplanationPageEscapes(t *testing.T) {
	p := explainPageOf(t, hostileExplanation())
	for _, bad := range []string{"<script>alert", "<img", "<!--"} {
		if strings.Contains(p, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(p, "</script"); n != 2 {
		t.Errorf("%d script elements end, want 2", n)
	}
}

func TestExplanationPageLoadsNothing(t *testing.T) {
	p := explainPageOf(t, NewExplanation("trace.out", knownReport()))
	for _, bad := range []string{
		`(?i)\b(src|href|srcset|action|poster|background)\s*=\s*["'a-z]`, `(?i)\burl\(`, `(?i)@import`, `(?i)<link`,
		`\bfetch\(`, `XMLHttpRequest`, `\beval\(`, `new Function`, `innerHTML`, `(?i)\sstyle=`, `(?i)\son[a-z]+=`, `import\(`,
	} {
		if m := regexp.MustCompile(bad).FindString(p); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
}

// TestExplanationPageStaysSmall has twenty requests with paths of thousands of pieces.
func TestExplanationPageStaysSmall(t *testing.T) {
	r := knownReport()
	q := longRequest(5000)
	r.Slowest = nil
	for range 20 {
		r.Slowest = append(r.Slowest, q)
	}
	for i := range 3000 {
		r.Spans = append(r.Spans, reqtrace.Span{Start: time.Duration(i) * ms, End: time.Duration(i)*ms + ms/2, Stopped: i%2 == 0})
	}
	if n := len(explainPageOf(t, NewExplanation("trace.out", r))); n > 500<<10 {
		t.Errorf("%d bytes, want at most %d", n, 500<<10)
	}
}

// longRequest has a path of n pieces, a few of them long.
func longRequest(n int) reqtrace.Request {
	q := reqtrace.Request{Start: time.Second}
	at := q.Start
	for i := range n {
		d := time.Duration(1+i%7) * time.Microsecond
		if i%500 == 3 {
			d = 5 * ms
		}
		c := reqtrace.Cause(1 + i%3)
		q.Parts.Add(c, d)
		q.Path = append(q.Path, reqtrace.Tile{Start: at, End: at + d, Cause: c, Site: fmt.Sprintf("main.f%d (main.go:%d)", i%4, i%4)})
		at += d
	}
	q.End = at
	return q
}

func TestPathRows(t *testing.T) {
	q := longRequest(5000)
	rows := pathRows(&q)
	if len(rows) > maxPathRows+2 {
		t.Errorf("%d rows, want about %d", len(rows), maxPathRows)
	}
	long := 0
	for _, r := range rows {
		if r.For == "5 ms" {
			long++
		}
	}
	if long != 10 {
		t.Errorf("%d of the 10 long pieces are listed", long)
	}
	short := fakeRequest("", partsOf(times{reqtrace.CauseRunning: ms, reqtrace.CauseLock: 2 * ms}), reqtrace.Blame{Cause: reqtrace.CauseLock, Site: "here"})
	short.Path = append(short.Path, reqtrace.Tile{Start: short.End, End: short.End + ms, Cause: reqtrace.CauseLock, Site: "here"})
	want := []pathRow{
		{newPageCause(reqtrace.CauseRunning), "+0", "1 ms", ""},
		{newPageCause(reqtrace.CauseLock), "+1 ms", "3 ms", "here"},
	}
	if d := cmp.Diff(want, pathRows(&short), cmp.AllowUnexported(pathRow{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestJoinNarrow has tiles joined without a gap, and none of the wide ones lost.
func TestJoinNarrow(t *testing.T) {
	q := longRequest(5000)
	tiles := joinNarrow(q.Path, func(d time.Duration) bool { return d < ms })
	if len(tiles) > 100 {
		t.Errorf("%d tiles", len(tiles))
	}
	at, long := q.Start, 0
	for _, x := range tiles {
		if x.Start != at || x.End <= x.Start {
			t.Fatalf("a gap, or nothing, at %v: %+v", at, x)
		}
		if at = x.End; x.End-x.Start == 5*ms {
			long++
		}
	}
	if at != q.End || long != 10 {
		t.Errorf("ends at %v of %v, %d of the 10 long ones are whole", at, q.End, long)
	}
	mixed := joinNarrow([]reqtrace.Tile{
		{Start: 0, End: 10, Cause: reqtrace.CauseRunning}, {Start: 10, End: 40, Cause: reqtrace.CauseLock}, {Start: 40, End: 50, Cause: reqtrace.CauseRunning},
	}, func(time.Duration) bool { return true })
	if len(mixed) != 1 || mixed[0].Cause != reqtrace.CauseLock || mixed[0].End != 50 {
		t.Errorf("%+v", mixed)
	}
}
