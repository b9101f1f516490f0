package verdict

import (
	"fmt"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

const (
	leastSlow      = 5  // among the slowest 1%
	leastSlowShare = .6 // of the slowest 1%
	// its share of all requests, as a part of its share of the slowest 1%
	mostOfAll = .5
)

// SlowClass is the class of most of the slowest 1%, if it is not the class of most requests.
type SlowClass struct {
	Name string  `json:"name"`
	Slow float64 `json:"slow"` // its share of the slowest 1%, 0 to 1
	All  float64 `json:"all"`  // its share of all requests
}

// slowClass returns the class of the slowest requests, nil if they are like the rest. Requests
// without a class count as its own, because only requests that waited have one.
func slowClass(r *reqtrace.Report) *SlowClass {
	if r.Class != "" || len(r.Classes) < 2 || !worth(r) {
		return nil
	}
	top := r.Classes[0]
	all, slow, unknown := countClasses(r)
	if top.Name == "" || top.Slow < leastSlow {
		return nil
	}
	s := &SlowClass{top.Name, float64(top.Slow) / float64(slow), float64(top.Requests) / float64(all)}
	if s.Slow < leastSlowShare || float64(top.Requests+unknown)/float64(all) > mostOfAll*s.Slow {
		return nil
	}
	return s
}

func countClasses(r *reqtrace.Report) (all, slow, unknown int) {
	for _, c := range r.Classes {
		all += c.Requests
		slow += c.Slow
		if c.Name == "" {
			unknown += c.Requests
		}
	}
	return all, slow, unknown
}

// classCaveat says that the slowest may be of another class, if most classes are unknown.
func classCaveat(r *reqtrace.Report) string {
	if r.Class != "" || len(r.Classes) < 3 || !worth(r) || slowClass(r) != nil {
		return ""
	}
	top := r.Classes[0]
	all, slow, unknown := countClasses(r)
	if top.Name == "" || top.Slow < leastSlow || float64(top.Slow) < leastSlowShare*float64(slow) ||
		float64(top.Requests) > mostOfAll*float64(all) || 2*unknown < all {
		return ""
	}
	return fmt.Sprintf("%s of the slowest 1%% are %s. The class of %s of all requests is unknown, because they left no stack in a handler; wrap handlers with region.Middleware.",
		textfmt.Share(float64(top.Slow)/float64(slow)), top.Name, textfmt.Share(float64(unknown)/float64(all)))
}

// ClassRow is a line of the table of classes.
type ClassRow struct {
	Name     string
	Requests int
	P50, P99 time.Duration
	Slow     float64 // its share of the slowest 1%, 0 to 1
}

// Classes returns the classes of the report's requests, those with most of the slowest 1% first.
// It is empty if there is one class.
func (v *Verdict) Classes() []ClassRow {
	if v.report == nil || len(v.report.Classes) < 2 {
		return nil
	}
	_, slow, _ := countClasses(v.report)
	var rows []ClassRow
	for _, c := range v.report.Classes {
		rows = append(rows, ClassRow{
			ClassText(c.Name), c.Requests, c.P50, c.P99,
			float64(c.Slow) / float64(max(slow, 1)),
		})
	}
	return rows
}

// ClassText names a class, also that of requests without one.
func ClassText(class string) string {
	if class == "" {
		return "not seen in a handler"
	}
	return class
}
