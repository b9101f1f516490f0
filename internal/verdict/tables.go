package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/internal/textfmt"
	"evenkeel.dev/reqtrace"
)

// Place is where in the code the slowest 1% wait or assist the collector, on average.
type Place struct {
	reqtrace.Blame // of the slowest 1%
	Median         time.Duration
	Excess         time.Duration
}

func places(r *reqtrace.Report) []Place {
	median := map[reqtrace.Blame]time.Duration{}
	for _, b := range r.Median.Sites {
		median[identity(b)] += b.Time
	}
	var list []Place
	for _, b := range r.Tail.Sites {
		m := median[identity(b)]
		if b.Time == 0 && m == 0 { // less than a nanosecond
			continue
		}
		list = append(list, Place{Blame: b, Median: m, Excess: b.Time - m})
	}
	slices.SortStableFunc(list, func(a, b Place) int { return cmp.Compare(b.Excess, a.Excess) })
	return list
}

func identity(b reqtrace.Blame) reqtrace.Blame {
	b.Time, b.Longest = 0, 0
	return b
}

// locate sets what at least worthSite of a cause has in common.
func locate(n *NamedCause, list []Place) {
	all := list
	n.Site, list = most(list, n.Excess, func(p *Place) string { return p.Site }, nil)
	if n.Site == "" {
		list = all
	}
	n.Call, _ = most(list, n.Excess, func(p *Place) string { return p.Call }, nil)
	n.Op, _ = most(list, n.Excess, func(p *Place) string { return p.Op }, nil)
	n.Inside, _ = most(list, n.Excess, func(p *Place) string { return p.Inside }, Function)
	n.Handler, _ = most(list, n.Excess, func(p *Place) string { return p.Handler }, Function)

	var held []Place
	n.Holder, held = most(all, n.Excess, func(p *Place) string { return p.Holder }, Function)
	if n.Holder == "" {
		held = all
	}
	of := n.Excess
	if n.Holder != "" {
		of = 0
		for i := range held {
			of += held[i].Excess
		}
	}
	n.Writer, _ = most(held, of, func(p *Place) string { return p.Writer }, Function)
	doing, same := most(held, of, func(p *Place) string {
		if p.Doing == reqtrace.CauseUnknown {
			return ""
		}
		return p.Doing.String()
	}, nil)
	if doing == "" && n.Cause != reqtrace.CauseRunqueueBusy && n.Cause != reqtrace.CauseStoppedOther {
		return
	}
	if doing != "" {
		n.Doing, held = same[0].Doing, same
	}
	n.DoingAt, _ = most(held, of, func(p *Place) string { return p.DoingAt }, Function)
	n.DoingOp, _ = most(held, of, func(p *Place) string { return p.DoingOp }, nil)
	for i := range held {
		n.Longest = max(n.Longest, held[i].Longest)
	}
}

// most returns what at least worthSite of an excess has in common, as its largest place says it,
// and these places. Texts are equal if same says so, or equal bytes if it is nil.
func most(list []Place, excess time.Duration, of func(*Place) string, same func(string) string) (string, []Place) {
	sums, best := map[string]time.Duration{}, ""
	key := func(p *Place) string {
		if same == nil {
			return of(p)
		}
		return same(of(p))
	}
	for i := range list {
		k := key(&list[i])
		if sums[k] += list[i].Excess; k != "" && (best == "" || sums[k] > sums[best]) {
			best = k
		}
	}
	if best == "" || float64(sums[best]) < worthSite*float64(excess) {
		return "", nil
	}
	var common []Place
	for i := range list {
		if key(&list[i]) == best {
			common = append(common, list[i])
		}
	}
	return of(&common[0]), common
}

// Function returns "main.look" of "main.look (look.go:12)".
func Function(site string) string {
	f, _, _ := strings.Cut(site, " (")
	return f
}

// lineOf returns "look.go:12" of "main.look (look.go:12)".
func lineOf(site string) string {
	_, line, _ := strings.Cut(site, " (")
	return strings.TrimSuffix(line, ")")
}

// Row is what a cause takes of a request, on average.
type Row struct {
	Cause  reqtrace.Cause
	Median time.Duration
	Tail   time.Duration
	Excess time.Duration
	Share  float64
}

const leastRow = .0005

// Table returns the causes that matter, the largest excess first.
func (v *Verdict) Table() (rows []Row) {
	r := v.report
	for _, c := range Causes(leastRow, r.Tail.Parts, r.Median.Parts) {
		rows = append(rows, Row{c, r.Median.Parts.Of(c), r.Tail.Parts.Of(c), r.Tail.Excess.Of(c), r.Tail.Share(c)})
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.Excess, a.Excess) })
	return rows
}

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
		b := &q.Sites[0]
		if b.Site != "" {
			t = append(t, b.Site)
		}
		if b.Holder != "" {
			t = append(t, "behind "+b.Holder)
		}
	}
	if q.ID != "" {
		t = append(t, "id "+q.ID)
	}
	return textfmt.Printable(strings.Join(t, ", "))
}

const (
	leastSlow      = 5  // among the slowest 1%
	leastSlowShare = .6 // of the slowest 1%
	// most of all requests that it has, as a part of its share of the slowest 1%
	mostOfAll = .5
)

// SlowClass is the class of most of the slowest 1%, if it is not the class of most requests.
type SlowClass struct {
	Name string  `json:"name"`
	Slow float64 `json:"slow"`
	All  float64 `json:"all"`
}

// slowClass returns the class of most of the slowest requests, if the rest are of others. Only requests
// that waited have a class, so those without one count as of this class.
func slowClass(r *reqtrace.Report) *SlowClass {
	if r.Class != "" || len(r.Classes) < 2 || !worth(r) {
		return nil
	}
	top := r.Classes[0]
	all, slow, unknown := countClasses(r)
	s := &SlowClass{top.Name, float64(top.Slow) / float64(slow), float64(top.Requests) / float64(all)}
	if top.Name == "" || top.Slow < leastSlow || s.Slow < leastSlowShare ||
		float64(top.Requests+unknown)/float64(all) > mostOfAll*s.Slow {
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

// ClassRow is a class by the name for readers.
type ClassRow struct {
	reqtrace.Class
	Share float64 // of the slowest 1%
}

// Classes returns nothing if there is one class.
func (v *Verdict) Classes() []ClassRow {
	if len(v.report.Classes) < 2 {
		return nil
	}
	_, slow, _ := countClasses(v.report)
	var rows []ClassRow
	for _, c := range v.report.Classes {
		c.Name = ClassText(c.Name)
		rows = append(rows, ClassRow{c, float64(c.Slow) / float64(max(slow, 1))})
	}
	return rows
}

func ClassText(class string) string { return cmp.Or(class, "not seen in a handler") }
