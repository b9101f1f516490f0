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
	Excess time.Duration
	Share  float64 // of the whole excess, 0 to 1
}

const leastRow = .0005

func table(r *reqtrace.Report) []Row {
	var rows []Row
	for _, c := range Causes(leastRow, r.Tail.Parts, r.Median.Parts) {
		rows = append(rows, Row{c, r.Median.Parts.Of(c), r.Tail.Parts.Of(c), r.Tail.Excess.Of(c), r.Tail.Share(c)})
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Excess, a.Excess) })
	return rows
}

// Breakdown says in a line what took most of a request, and where.
func Breakdown(q *reqtrace.Request) string {
	causes := slices.Clone(causeOrder)
	slices.SortStableFunc(causes, func(a, b reqtrace.Cause) int { return cmp.Compare(q.Parts.Of(b), q.Parts.Of(a)) })
	var t []string
	for _, c := range causes[:3] {
		if share := q.Parts.Share(c); share >= .05 {
			t = append(t, textfmt.Share(share)+" "+Phrase(c))
		}
	}
	if len(q.Sites) > 0 && 3*q.Sites[0].Time > q.Duration() {
		if b := q.Sites[0]; b.Site != "" {
			t = append(t, b.Site)
		}
		if b := q.Sites[0]; b.Holder != "" {
			t = append(t, "behind "+b.Holder)
		}
	}
	if q.ID != "" {
		t = append(t, "id "+q.ID)
	}
	return textfmt.Printable(strings.Join(t, ", "))
}
