package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/compare"
	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/loadgen"
)

func pageOf(t *testing.T, c *compare.Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := Compare(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func smallComparison(t *testing.T) *compare.Comparison {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 2, 200, 5, 20
	c := f.comparison(2, "GOGC=100", "GOGC=off")
	off := c.Columns[1].Runs
	for _, r := range off {
		r.GC = &runfile.GC{}
	}
	off[1].Load.Interrupted = true
	files := &runfile.File{Machine: c.Machines[0]}
	for _, col := range c.Columns {
		for _, r := range col.Runs {
			if err := json.Unmarshal(fmt.Append(nil, 10*len(r.GC.Collections)), &r.GC.Summary.CPUPercent); err != nil {
				t.Fatal(err)
			}
			files.Runs = append(files.Runs, *r)
		}
	}
	return compare.Files([]*runfile.File{files}, []string{"run.json"})
}

// checkPage compares a page with a file of testdata, which holds its data and structure: style and
// script are files of their own.
func checkPage(t *testing.T, name, page string) {
	t.Helper()
	for _, own := range []string{`(?s)<style>.*?</style>`, `(?s)<script>.*?</script>`, `sha256-.*?&#39;`} {
		page = regexp.MustCompile(own).ReplaceAllString(page, "...")
	}
	golden.Check(t, name, page)
}

func TestHTMLGolden(t *testing.T) {
	checkPage(t, "compare.golden.html", pageOf(t, smallComparison(t)))
	checkPage(t, "explain.golden.html", explainPageOf(t, "trace.out", knownReport(t)))
}

func TestHTMLStaysSmall(t *testing.T) {
	f := newFake(t)
	f.collections, f.wall, f.points = 2500, 3*time.Millisecond, 400
	if n := len(pageOf(t, f.comparison(3, labelsN(4)...))); n > 400<<10 {
		t.Errorf("4 variants, 3 repeats of 2,500 collections: %d bytes, want at most %d", n, 400<<10)
	}
}

func TestHTMLEscapesLabels(t *testing.T) {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 1, 100, 3, 10
	labels := []string{
		`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "<!--",
		"{{.}} 'ü\u2028日本' &amp;", "</title></style>",
	}
	c := f.comparison(1, labels...)
	c.Notes = append(c.Notes, "<b>note</b>")
	p := pageOf(t, c)
	for _, bad := range []string{"<script>alert", "<img", "<b>", "<!--", "</title></style>"} {
		if strings.Contains(p, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(p, "</script"); n != 2 {
		t.Errorf("%d script elements end, want 2", n)
	}
	_, data, _ := strings.Cut(p, `<script type="application/json" id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var d pageData
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	for i, l := range labels {
		if d.Columns[i].Label != l {
			t.Errorf("label %q became %q", l, d.Columns[i].Label)
		}
		if !strings.Contains(p, "<span>"+escaped(l)+"</span>") {
			t.Errorf("label %q is not on the page", l)
		}
	}
}

// escaped escapes as html/template does.
func escaped(s string) string {
	return strings.ReplaceAll(html.EscapeString(s), "+", "&#43;")
}

func TestHTMLLoadsNothing(t *testing.T) {
	p := pageOf(t, smallComparison(t))
	for _, bad := range []string{
		`(?i)\b(src|href|srcset|action|poster|background)\s*=\s*["'a-z]`, `(?i)\burl\(`, `(?i)@import`, `(?i)<link`,
		`\bfetch\(`, `XMLHttpRequest`, `\beval\(`, `new Function`, `innerHTML`, `(?i)\sstyle=`, `(?i)\son[a-z]+=`,
		`import\(`,
	} {
		if m := regexp.MustCompile(bad).FindString(p); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
	for _, m := range regexp.MustCompile(`https?://[^\s"'<]*`).FindAllString(p, -1) {
		if m != "http://www.w3.org/2000/svg" && !strings.HasPrefix(m, "http://127.0.0.1:8080/search") {
			t.Errorf("the page names %s", m)
		}
	}
}

func TestHTMLPolicyAllowsItsOwn(t *testing.T) {
	p := pageOf(t, smallComparison(t))
	content := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`)
	policy := html.UnescapeString(content.FindStringSubmatch(p)[1])
	for _, name := range []string{"style", "script"} {
		if n := strings.Count(p, "<"+name+">"); n != 1 {
			t.Errorf("the page has %d of <%s>, want 1", n, name)
		}
		_, text, _ := strings.Cut(p, "<"+name+">")
		text, _, _ = strings.Cut(text, "</"+name+">")
		sum := sha256.Sum256([]byte(text))
		if want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'"; !strings.Contains(policy, want) {
			t.Errorf("policy %s lacks %s", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("policy %s", policy)
	}
}

func TestHTMLEdges(t *testing.T) {
	one := func(change func(*runfile.Run)) *compare.Comparison {
		f := newFake(t)
		f.seconds, f.rate, f.collections, f.points = 1, 100, 3, 10
		r := f.run("v", 1, time.Millisecond)
		change(&r)
		return compare.Files([]*runfile.File{{Runs: []runfile.Run{r}}}, []string{"a.json"})
	}
	eight := newFake(t)
	eight.seconds, eight.rate, eight.collections, eight.points = 1, 100, 3, 10
	for _, tt := range []struct {
		name string
		c    *compare.Comparison
		want []string
	}{
		{"one variant", one(func(*runfile.Run) {}), []string{"<h1>1 variant, 1 repeat: "}},
		{"no GC", one(func(r *runfile.Run) {
			r.GC = nil
		}), []string{"The collections of the service were not measured."}},
		{"no collection", one(func(r *runfile.Run) {
			r.GC.Collections = nil
		}), []string{", 0 collections"}},
		{"none answered", one(func(r *runfile.Run) {
			r.Load = &loadgen.Result{Failed: 3}
		}), []string{"no request was answered", "<dd>none</dd>"}},
		{"single sample", one(func(r *runfile.Run) {
			r.Load.Latency = histogramOf(t, 1e6)
			r.Load.Series.Points = r.Load.Series.Points[:1]
		}), []string{"p99</text>"}},
		{"all alike", one(func(r *runfile.Run) { r.Load.Latency = histogramOf(t, 1e6, 1e6, 1e6) }), []string{"100%"}},
		{"below the histogram", one(func(r *runfile.Run) { r.Load.Latency = histogramOf(t, 0, 0, 1) }), []string{"ns"}},
		{"gaps", one(func(r *runfile.Run) {
			for i := 2; i < 5; i++ {
				r.Load.Series.Points[i] = loadgen.Point{Failed: 2}
			}
		}), []string{`class="failed v0"`}},
		{"interrupted", one(func(r *runfile.Run) {
			r.Load.Interrupted = true
		}), []string{"the load was interrupted", "collections, interrupted"}},
		{
			"eight, with long names", eight.comparison(1, append(labelsN(7), strings.Repeat("long ", 40))...),
			[]string{"<h1>8 variants, 1 repeat</h1>", `class="series v7"`},
		},
		{"more targets than fit", one(func(r *runfile.Run) {
			r.Load.Targets = make([]string,
				99)
			r.Load.Targets[0] = "GET /"
		}), []string{"and 79 more"}},
		{"open loop", one(func(r *runfile.Run) {
			r.Load.Rate = 5000
		}), []string{"5,000 requests/s (open loop), at most 50 connections"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pageOf(t, tt.c)
			for _, w := range tt.want {
				if !strings.Contains(p, w) {
					t.Errorf("the page lacks %q", w)
				}
			}
			markup, _, _ := strings.Cut(p, `<script type="application/json"`)
			if m := regexp.MustCompile(`NaN|[+-]?Inf\b|%!|ZgotmplZ|>-0`).FindString(markup); m != "" {
				t.Errorf("the page has %q", m)
			}
		})
	}
}

func TestHTMLTableIsTheText(t *testing.T) {
	c := smallComparison(t)
	p := pageOf(t, c)
	for _, r := range c.Rows {
		if want := fmt.Sprintf(`<th scope="row" title="%s">%s</th>`, escaped(r.Note), r.Name); !strings.Contains(p,
			want) {
			t.Errorf("the table lacks %s", want)
		}
		for _, cell := range r.Cells {
			if want := `<span class="value">` + r.Format(cell.Median) + "</span>"; cell.Known &&
				!strings.Contains(p, want) {
				t.Errorf("%s: the table lacks %s", r.Name, want)
			}
		}
	}
}

func TestRangeText(t *testing.T) {
	for _, tt := range []struct{ lo, hi, want string }{
		{"1 ms", "1 ms", ""},
		{"1.20 ms", "1.31 ms", "1.20–1.31 ms"},
		{"900 µs", "1.1 ms", "900 µs–1.1 ms"},
		{"3.1%", "3.2%", "3.1%–3.2%"},
	} {
		if got := rangeText(tt.lo, tt.hi); got != tt.want {
			t.Errorf("rangeText(%q, %q) = %q, want %q", tt.lo, tt.hi, got, tt.want)
		}
	}
}

func TestCCDFKeepsQuantiles(t *testing.T) {
	c := newFake(t).comparison(2, "v")
	d := newPageData(c)
	var merged loadgen.Histogram
	for _, r := range c.Columns[0].Runs {
		merged.Merge(&r.Load.Latency)
	}
	ccdf := &d.Columns[0].CCDF
	for i := 1; i < len(ccdf.X); i++ {
		if ccdf.X[i] < ccdf.X[i-1] || ccdf.Share[i] > ccdf.Share[i-1] {
			t.Fatalf("point %d does not fall to the right", i)
		}
	}
	if n := len(ccdf.X); n > 3000 {
		t.Errorf("%d points", n)
	}
	if last := ccdf.Share[len(ccdf.Share)-1]; last != 0 {
		t.Errorf("ends at %g, want 0", last)
	}
	for _, q := range []float64{.5, .9, .99, .999} {
		want := float64(merged.Quantile(q)) / microsecond
		if got := ccdf.quantile(1 - q); math.Abs(got/want-1) > .01 {
			t.Errorf("q%g: %g µs, want %g within 1%%", q, got, want)
		}
	}
}

func TestSeriesLeavesGapsOpen(t *testing.T) {
	s := pageSeries{Step: 1}
	x, y := chart.Axis{Hi: 4}, chart.Axis{Lo: 1, Hi: 100, Log: true}
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{[]float64{10, 10, 100}, "M1250 500h2500l2500-500"},
		{[]float64{10, 0, 10, 1}, "M1250 500h0M6250 500l2500 500"},
		{[]float64{0, 10, 0, 0}, "M3750 500h0"},
		{[]float64{0, 0}, ""},
		{nil, ""},
	} {
		if got := s.draw(tt.values, x, y); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.values, got, tt.want)
		}
	}
}

func TestCollectionMarks(t *testing.T) {
	f := newFake(t)
	x := chart.Axis{Hi: 20}
	for n, want := range map[int]string{0: "", gcBands: "band", gcBands + 1: "strip s0", 5000: "strip s3"} {
		f.collections, f.wall = n, 5*time.Millisecond
		marks := collectionMarks(f.gc(20*time.Second), x, 0)
		got := ""
		if len(marks) > 0 {
			got = marks[len(marks)-1].Class
		}
		if got != want {
			t.Errorf("%d collections: last mark %q, want %q", n, got, want)
		}
	}
}

// TestHTMLClasses has a variant with classes beside one without any.
func TestHTMLClasses(t *testing.T) {
	f := newFake(t)
	f.seconds, f.rate, f.collections, f.points = 1, 100, 3, 10
	c := f.comparison(1, "mixed", "plain")
	l := c.Columns[0].Runs[0].Load
	l.Classes = []loadgen.TargetClass{
		{Name: "<b>search</b>", Share: .25, Answered: 25, Bytes: 25 << 10, Latency: histogramOf(t, 5e6)},
		{Name: "GET http://127.0.0.1:8080/x", Share: .75, Failed: 75},
	}
	l.MoreTargets = 7
	p := pageOf(t, c)
	for _, want := range []string{
		"By class of request", "&lt;b&gt;search&lt;/b&gt;", "<td><span class=\"value\">25.0%</span></td>", "1 KiB",
		"5.00 ms",
		"GET http://127.0.0.1:8080/x", "and 7 more",
	} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(p, `aria-label="Classes of `); n != 1 {
		t.Errorf("%d tables of classes, want that of the first variant", n)
	}
	l.Classes = nil
	if p := pageOf(t, c); strings.Contains(p, `id="classes"`) {
		t.Error("a section for classes that there are none of")
	}
}
