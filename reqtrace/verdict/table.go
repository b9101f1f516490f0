package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// Row is a line of a verdict's table: what a cause takes of a request, on average.
type Row struct {
	Cause  reqtrace.Cause
	Median time.Duration // of the median request
	Tail   time.Duration // of the slowest 1%
	Excess time.Duration // Tail less Median
	Share  float64       // of the whole excess, 0 to 1; 0 where it takes less than in the median request
}

// leastRow is the least share of the time of a request that gives a cause a row.
const leastRow = .0005

func table(r *reqtrace.Report) []Row {
	var rows []Row
	for _, c := range Causes(leastRow, r.Tail.Parts, r.Median.Parts) {
		rows = append(rows, Row{c, r.Median.Parts.Of(c), r.Tail.Parts.Of(c), r.Tail.Excess.Of(c), r.Tail.Share(c)})
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Excess, a.Excess) })
	return rows
}

// Place is where in the code the slowest 1% wait or assist the collector: what that takes of a
// request, on average.
type Place struct {
	Cause  reqtrace.Cause
	Site   string        // function (file:line), "": the trace has no stack of it
	Median time.Duration // of the median request
	Tail   time.Duration // of the slowest 1%
	Excess time.Duration // Tail less Median
}

func places(r *reqtrace.Report) []Place {
	var list []Place
	for _, t := range r.Tail.Sites {
		p := Place{Cause: t.Cause, Site: t.Site, Tail: t.Time}
		for _, m := range r.Median.Sites {
			if m.Cause == t.Cause && m.Site == t.Site {
				p.Median += m.Time
			}
		}
		p.Excess = p.Tail - p.Median
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b Place) int { return cmp.Compare(b.Excess, a.Excess) })
	return list
}

// SiteText names a place of a [Place] or a [reqtrace.Blame], also one that the trace has no stack of.
func SiteText(site string) string {
	if site == "" {
		return "a place without a stack"
	}
	return site
}

// Breakdown says in a line what took most of a request, where, and which one it was.
func Breakdown(q *reqtrace.Request) string {
	causes := slices.Clone(causeOrder)
	slices.SortStableFunc(causes, func(a, b reqtrace.Cause) int { return cmp.Compare(q.Parts.Of(b), q.Parts.Of(a)) })
	var t []string
	for _, c := range causes[:3] {
		if share := q.Parts.Share(c); share >= .05 {
			t = append(t, textfmt.Share(share)+" "+c.String())
		}
	}
	if len(q.Sites) > 0 && q.Sites[0].Site != "" && 3*q.Sites[0].Time > q.Duration() {
		t = append(t, q.Sites[0].Site)
	}
	if q.ID != "" {
		t = append(t, "id "+q.ID)
	}
	return textfmt.Printable(strings.Join(t, ", "))
}
