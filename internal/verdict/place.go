package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/reqtrace"
)

// Place is where in the code the slowest 1% wait or assist the collector, on average.
type Place struct {
	reqtrace.Blame // Time is of the slowest 1%
	Median         time.Duration
	Excess         time.Duration // Time less Median
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

// locate says where most of a cause is, and who held what is waited for, each if at least
// worthSite of it has that in common.
func locate(n *NamedCause, list []Place) {
	all := list
	n.Site, list = most(list, n.Excess, func(p *Place) string { return p.Site }, nil)
	if n.Site == "" {
		list = all
	}
	n.Call, _ = most(list, n.Excess, func(p *Place) string { return p.Call }, nil)
	n.Op, _ = most(list, n.Excess, func(p *Place) string { return p.Op }, nil)
	n.Inside, _ = most(list, n.Excess, func(p *Place) string { return p.Inside }, functionOf)
	n.Handler, _ = most(list, n.Excess, func(p *Place) string { return p.Handler }, functionOf)

	var held []Place
	n.Holder, held = most(all, n.Excess, func(p *Place) string { return p.Holder }, functionOf)
	if n.Holder == "" {
		held = all
	}
	of := n.Excess
	if n.Holder != "" {
		of = excessOf(held)
	}
	n.Writer, _ = most(held, of, func(p *Place) string { return p.Writer }, functionOf)
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
	n.DoingAt, _ = most(held, of, func(p *Place) string { return p.DoingAt }, functionOf)
	n.DoingOp, _ = most(held, of, func(p *Place) string { return p.DoingOp }, nil)
	for i := range held {
		n.Longest = max(n.Longest, held[i].Longest)
	}
}

// most returns what at least worthSite of an excess has in common, as its largest place says it,
// and these places. same says what counts as the same; nil: equal texts.
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

func excessOf(list []Place) (sum time.Duration) {
	for i := range list {
		sum += list[i].Excess
	}
	return sum
}

// functionOf returns "main.look" of "main.look (look.go:12)".
func functionOf(site string) string {
	f, _, _ := strings.Cut(site, " (")
	return f
}

// lineOf returns "look.go:12" of that.
func lineOf(site string) string {
	_, line, _ := strings.Cut(site, " (")
	return strings.TrimSuffix(line, ")")
}
