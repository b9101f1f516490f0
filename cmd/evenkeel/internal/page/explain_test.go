package page

import (
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/verdict"
	"evenkeel.dev/reqtrace"
)

// knownReport is made up, by the tests of internal/verdict.
func knownReport(t *testing.T) *reqtrace.Report {
	t.Helper()
	b, err := os.ReadFile("../../../../internal/verdict/testdata/report.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reqtrace.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func explainPageOf(t *testing.T, source string, r *reqtrace.Report) string {
	t.Helper()
	var b strings.Builder
	if err := Explain(&b, source, verdict.Of(r)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExplain(t *testing.T) {
	p := html.UnescapeString(explainPageOf(t, "trace.out", knownReport(t)))
	for _, want := range []string{
		`<h1 id="verdict">64% of the extra time is waiting for a CPU (GC workers ran).</h1>`,
		`<p id="fix">Fix: allocate less`, "docs/explain.md#runqueue-gc",
		"The slowest 1% take 21.7 ms on average", "Left out: 12 requests under way when the trace began.", "trace.out",
		"p99.9+", "main.(*cache).get (cache.go:51)",
		"order-7", `<details class="request">`, `class="marking"`, `class="stop"`, "What a trace cannot show",
		`id="ccdf"`, newShell(style+explainStyle, explainScript, nil).CSP,
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(p, "<details class=\"request\">"); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	cut := explainPageOf(t, "trace.out", &reqtrace.Report{CutEnd: 3})
	if !strings.Contains(cut, "No request is whole") || strings.Contains(cut, `id="bands"`) {
		t.Error("the page of a trace without a whole request has figures, or no verdict")
	}
}

// TestExplainCutOff: a trace that is cut off has a verdict, and the page says so.
func TestExplainCutOff(t *testing.T) {
	r := knownReport(t)
	r.Broken = "after 7 events: unexpected EOF"
	p := explainPageOf(t, "trace.out", r)
	for _, want := range []string{
		"waiting for a CPU (GC workers ran)",
		"The trace is cut off or corrupt. The report covers only the ", r.Broken,
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestCauseColours has each cause in the style sheet, with a light and a dark colour.
func TestCauseColours(t *testing.T) {
	for _, c := range reqtrace.Causes() {
		class := causeClass(c)
		if want := "." + class + " { --k: var(--" + class + "); }"; !strings.Contains(chart.CauseStyle, want) {
			t.Errorf("causes.css lacks %q", want)
		}
		if n := strings.Count(chart.CauseStyle, "--"+class+": #"); n != 2 {
			t.Errorf("causes.css has %d colours for %s, want a light and a dark one", n, c)
		}
	}
}

func TestExplainEscapes(t *testing.T) {
	// Markup and control characters wherever a trace can have text.
	evil := "\x1b[2J\x07evil</script><script>alert(1)</script><img src=x onerror=alert(1)><!--\"'"
	r := knownReport(t)
	r.Tail.Sites[0].Site, r.Slowest[0].ID, r.Slowest[1].ID, r.Bands[0].Name = evil, evil, evil, evil
	r.Slowest[0].Sites[0].Site, r.Slowest[0].Path[0].Site = evil, evil
	p := explainPageOf(t, evil, r)
	for _, bad := range []string{"<script>alert", "<img", "<!--"} {
		if strings.Contains(p, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(p, "</script"); n != 2 {
		t.Errorf("%d script elements end, want 2", n)
	}
}

func TestExplainLoadsNothing(t *testing.T) {
	p := explainPageOf(t, "trace.out", knownReport(t))
	for _, bad := range []string{
		`(?i)\b(src|href|srcset|action|poster|background)\s*=\s*["'a-z]`, `(?i)\burl\(`, `(?i)@import`, `(?i)<link`,
		`\bfetch\(`, `XMLHttpRequest`, `\beval\(`, `new Function`, `innerHTML`, `(?i)\sstyle=`, `(?i)\son[a-z]+=`,
		`import\(`,
	} {
		if m := regexp.MustCompile(bad).FindString(p); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
}

// TestExplainStaysSmall has twenty requests with paths of thousands of pieces.
func TestExplainStaysSmall(t *testing.T) {
	const ms = time.Millisecond
	r := knownReport(t)
	q := longRequest(5000)
	r.Slowest = nil
	for range 20 {
		r.Slowest = append(r.Slowest, q)
	}
	for i := range 3000 {
		r.Spans = append(r.Spans, reqtrace.Span{
			Start: time.Duration(i) * ms, End: time.Duration(i)*ms + ms/2,
			Stopped: i%2 == 0,
		})
	}
	if n := len(explainPageOf(t, "trace.out", r)); n > 500<<10 {
		t.Errorf("%d bytes, want at most %d", n, 500<<10)
	}
}

// longRequest has a path of n pieces, a few of them long.
func longRequest(n int) reqtrace.Request {
	const ms = time.Millisecond
	q := reqtrace.Request{Start: time.Second}
	at := q.Start
	for i := range n {
		d := time.Duration(1+i%7) * time.Microsecond
		if i%500 == 3 {
			d = 5 * ms
		}
		c := reqtrace.Cause(1 + i%3)
		q.Parts.Add(c, d)
		q.Path = append(q.Path, reqtrace.Tile{
			Start: at, End: at + d, Cause: c,
			Site: fmt.Sprintf("main.f%d (main.go:%d)", i%4, i%4),
		})
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
	const ms = time.Millisecond
	short := reqtrace.Request{Start: time.Second, Path: []reqtrace.Tile{
		{Start: time.Second, End: time.Second + ms, Cause: reqtrace.CauseRunning},
		{Start: time.Second + ms, End: time.Second + 3*ms, Cause: reqtrace.CauseLock, Site: "here"},
		{Start: time.Second + 3*ms, End: time.Second + 4*ms, Cause: reqtrace.CauseLock, Site: "here"},
	}}
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
	const ms = time.Millisecond
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
		{Start: 0, End: 10, Cause: reqtrace.CauseRunning},
		{Start: 10, End: 40, Cause: reqtrace.CauseLock},
		{Start: 40, End: 50, Cause: reqtrace.CauseRunning},
	}, func(time.Duration) bool { return true })
	if len(mixed) != 1 || mixed[0].Cause != reqtrace.CauseLock || mixed[0].End != 50 {
		t.Errorf("%+v", mixed)
	}
}

// TestMachineAndSamples: what stood still is drawn behind requests, and functions of samples have a
// table where there are enough.
func TestMachineAndSamples(t *testing.T) {
	r := knownReport(t)
	p := explainPageOf(t, "trace.out", r)
	if strings.Contains(p, `class="still"`) || strings.Contains(p, `id="running"`) {
		t.Error("a page without stalls and samples shows some")
	}
	r.Machine = reqtrace.Machine{
		Stalls: 1, Time: 5 * time.Millisecond, Longest: 5 * time.Millisecond, Requests: 1,
		Spans: []reqtrace.Span{{Start: 1003 * time.Millisecond, End: 1008 * time.Millisecond}},
	}
	r.Tail.Samples = []reqtrace.Sample{{
		Site: "main.render (page.go:12)", Handler: "main.serve (main.go:7)", Count: 30,
		Share: .75, Low: .6, High: .86,
	}, {Site: "main.sum (sum.go:3)", Count: 10, Share: .25, Low: .14, High: .4}}
	p = explainPageOf(t, "trace.out", r)
	for _, want := range []string{
		`class="still"`, "the machine stands still", `id="running"`,
		"<td>30</td><td>75%</td><td>60%–86%</td><td>main.render (page.go:12), in main.serve (main.go:7)</td>",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	r.Tail.Samples = []reqtrace.Sample{{
		Site: "main.sum (sum.go:3)", Count: 4, Share: 1,
		Low: .5, High: 1,
	}}
	if strings.Contains(explainPageOf(t, "trace.out", r), `id="running"`) {
		t.Error("functions are listed of too few samples")
	}
}

// changeReports makes up the traces of a side: requests of two classes, of which every fortieth
// waits for a lock.
func changeReports(seed uint64, locked time.Duration, line int) (list []*reqtrace.Report) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 3 {
		const n, blocks, second = 1000, 10, time.Second
		r := &reqtrace.Report{Trace: second, Requests: n, Procs: 2, Blocks: make([]reqtrace.Block, blocks)}
		for i := range n {
			class := []string{"GET /", "GET /search"}[one(i%10 == 0)]
			b := &r.Blocks[i%blocks]
			q := reqtrace.Request{Class: class, Sites: []reqtrace.Blame{{
				Cause: reqtrace.CauseRunning, Time: time.Duration(900+rng.IntN(200)) * time.Microsecond,
			}}}
			if i%40 == 0 {
				q.Sites = append(q.Sites, reqtrace.Blame{
					Cause: reqtrace.CauseLock, Site: fmt.Sprintf("main.(*cache).get (cache.go:%d)", line),
					Holder: "main.refresh (cache.go:7)",
					Time:   locked + time.Duration(rng.IntN(1000))*time.Microsecond,
				})
			}
			for _, p := range q.Sites {
				r.Total.Add(p.Cause, p.Time)
				q.End += p.Time
			}
			b.Classes = append(b.Classes, reqtrace.BlockClass{Class: class, Requests: 1})
			if len(q.Sites) > 1 {
				b.Slow, b.Weight = append(b.Slow, q), 1
			}
		}
		list = append(list, r)
	}
	return list
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestChange shows a lock that is held for longer, and has moved to another line.
func TestChange(t *testing.T) {
	c, err := verdict.Compare(changeReports(1, 10*time.Millisecond, 51), changeReports(2, 14*time.Millisecond, 60),
		"v1 <old>", "v2")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Change(&b, c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "<old>") {
		t.Error("a name is no text")
	}
	p := html.UnescapeString(b.String())
	for _, want := range []string{
		`<h1 id="verdict">The slowest 1% take `, "lock that main.refresh holds, in main.(*cache).get (cache.go:60)",
		`<tr class="named">`, "slowest 1% of v1 <old>", "slowest 1% of v2",
		"3 traces", newShell(style+explainStyle+explainChangeStyle, explainScript, nil).CSP,
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	checkPage(t, "explainchange.golden.html", b.String())
}
