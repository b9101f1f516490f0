package page

import (
	"strings"
	"testing"

	"evenkeel.dev/loadgen"
)

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
