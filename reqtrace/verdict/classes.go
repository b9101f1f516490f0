package verdict

import (
	"fmt"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// When the slowest requests are said to be of another class than the rest.
const (
	leastSlow      = 5  // requests of it among the slowest 1%
	leastSlowShare = .6 // of the slowest 1%
	// of its share of the slowest 1%: its share of all requests, those without a class counted as its own
	mostOfAll = .5
)

// SlowClass is the class that most of the slowest 1% of the requests are of, where the rest are of others.
type SlowClass struct {
	Name string  `json:"name"`
	Slow float64 `json:"slow"` // its share of the slowest 1% (p99+), 0 to 1
	All  float64 `json:"all"`  // its share of all requests
}

// slowClass returns the class of the slowest requests, nil where they are like the rest, or where that is not known: of
// a request that did not wait in its handler no stack tells its class, and those that did not wait are the fast ones.
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

// countClasses returns how many requests there are of all classes, among the slowest 1%, and without a class.
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

// classCaveat says that the slowest may be of another class than the rest, where several are known
// but not those of most requests; "": they are, or nothing hints at it.
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
	Name     string // in words, where there is none
	Requests int
	P50, P99 time.Duration
	Slow     float64 // its share of the slowest 1%, 0 to 1
}

// Classes returns the classes of the report's requests, those with most of the slowest 1% first;
// none where all are of one.
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

// ClassText names a class ([reqtrace.Request].Class), also the one of requests that have none.
func ClassText(class string) string {
	if class == "" {
		return "not seen in a handler"
	}
	return class
}
