package verdict

import (
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/reqtrace"
)

// TestClassCaveat: where the class of most requests is not known, a hint stands among the caveats,
// and only if there are several.
func TestClassCaveat(t *testing.T) {
	for want, classes := range map[bool][]reqtrace.Class{
		true: {
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 20, Slow: 5},
			{Requests: 11500},
		},
		false: {{Name: "main.report", Requests: 480, Slow: 115}, {Requests: 11520, Slow: 5}},
	} {
		r := knownReport()
		r.Classes = classes
		const says = "96% of the slowest 1% are main.report. The class of 96% of all requests is unknown"
		if got := strings.Contains(strings.Join(Of(r).Caveats, "\n"), says); got != want {
			t.Errorf("%+v: %q", classes, Of(r).Caveats)
		}
	}
}

// TestSlowClass: where the slowest are of another class than the rest, a figure says so; not where a class is rare
// only because stacks tell it of the slow ones alone.
func TestSlowClass(t *testing.T) {
	const says = "96% of the slowest 1% are main.report. Of all requests, 4% are."
	for _, tt := range []struct {
		name    string
		classes []reqtrace.Class
		class   string // Options.Class
		want    bool
	}{
		{"another one", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 11520, Slow: 5},
		}, "", true},
		{"some are not known", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 7520, Slow: 5},
			{Requests: 4000},
		}, "", true},
		{"most are not known", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Requests: 11520, Slow: 5},
		}, "", false},
		{"the slow ones are not known", []reqtrace.Class{
			{Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 11520, Slow: 5},
		}, "", false},
		{"as the rest", []reqtrace.Class{
			{Name: "main.report", Requests: 11000, Slow: 115},
			{Name: "main.hello", Requests: 1000, Slow: 5},
		}, "", false},
		{
			"too few",
			[]reqtrace.Class{{Name: "main.report", Requests: 4, Slow: 4}, {Name: "main.hello", Requests: 100}},
			"", false,
		},
		{"one class", []reqtrace.Class{{Name: "main.report", Requests: 12000, Slow: 120}}, "", false},
		{"alone", []reqtrace.Class{
			{Name: "main.report", Requests: 480, Slow: 115},
			{Name: "main.hello", Requests: 11520, Slow: 5},
		}, "main.report", false},
	} {
		r := knownReport()
		r.Classes, r.Class = tt.classes, tt.class
		v := Of(r)
		if got := slices.Contains(v.Figures, says); got != tt.want || got != (v.Class != nil) {
			t.Errorf("%s: %q, %+v", tt.name, v.Figures, v.Class)
		}
		if tt.class != "" && !strings.HasPrefix(v.Scope(), "class main.report: 12,000 whole requests") {
			t.Errorf("%s: %q", tt.name, v.Scope())
		}
	}
}
