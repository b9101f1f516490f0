package page

import (
	"math"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/cmd/evenkeel/internal/runfile"
	"evenkeel.dev/internal/chart"
	"evenkeel.dev/loadgen"
)

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

func TestHistogramSharesSumToOne(t *testing.T) {
	d := newPageData(newFake(t).comparison(1, "v"))
	sum := 0.
	for _, s := range d.Columns[0].Hist {
		sum += s
	}
	if math.Abs(sum-1) > .01 {
		t.Errorf("shares sum to %g", sum)
	}
}

func TestMergeCollections(t *testing.T) {
	f := newFake(t)
	for _, n := range []int{0, 1, gcSpans, gcSpans + 1, 20000} {
		f.collections = n
		spans := mergeCollections(f.gc(20*time.Second), 20)
		if len(spans) > gcSpans {
			t.Errorf("%d collections: %d spans", n, len(spans))
		}
		count := 0
		for i, s := range spans {
			count += s.count
			if s.live < f.live || s.live > f.live*9/8 || s.low > s.live || s.high < s.live {
				t.Fatalf("%d collections: span %d: live %d, low %d, high %d", n, i, s.live, s.low, s.high)
			}
			if i > 0 && s.at < spans[i-1].at {
				t.Fatalf("%d collections: span %d starts before the one before it", n, i)
			}
		}
		if count != n {
			t.Errorf("%d collections became %d", n, count)
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

func TestSawtooth(t *testing.T) {
	spans := mergeCollections(&runfile.GC{Collections: []runfile.Collection{
		{At: time.Second, Wall: time.Second, Before: 50, After: 60, Live: 20},
		{At: 5 * time.Second, Wall: time.Second, Before: 40, After: 40, Live: 10},
	}}, 10)
	x, y := chart.Axis{Hi: 10}, chart.Axis{Hi: 100}
	if got, want := sawtooth(spans, x, y), "M1000 500l1000-100v400l3000-200h1000v300"; got != want {
		t.Errorf("sawtooth %s, want %s", got, want)
	}
	if got, want := envelope(spans, x, y), "M1500 400l4000 200v300l-4000-100z"; got != want {
		t.Errorf("envelope %s, want %s", got, want)
	}
}

func TestCollectionMarks(t *testing.T) {
	f := newFake(t)
	x := chart.Axis{Hi: 20}
	for n, want := range map[int]string{0: "", gcBands: "band", gcBands + 1: "strip s0", 5000: "strip s3"} {
		f.collections, f.wall = n, 5*time.Millisecond
		marks := collectionMarks(mergeCollections(f.gc(20*time.Second), 20), x, 0)
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
