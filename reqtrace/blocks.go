package reqtrace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev"
)

const (
	numBlocks    = 40
	blockClasses = 16
	blockSlow    = 4096
	slowFrom     = .97 // two traces may share a higher threshold
)

// Block is a fortieth of the trace, with the requests that began in it. Intervals are
// estimated from blocks, because one stall slows hundreds of requests.
type Block struct {
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	Classes []BlockClass  `json:"classes"`
	// of the trace's slowest 3%, at most 4096 in the trace; with Class, and from Start to End
	// without stalls, of which Sites has all
	Slow   []Request `json:"-"`
	Weight int       `json:"-"` // how many requests each of Slow stands for
}

// BlockClass counts the requests of a class.
type BlockClass struct {
	Class    string `json:"class,omitempty"`
	Requests int    `json:"requests"`
	Slow     int    `json:"slow,omitempty"` // of the trace's slowest 1%
}

type spent struct {
	wait waitID
	ns   int64
}

// blocker divides requests into blocks.
type blocker struct {
	*analysis
	sites   *sites
	weight  int
	slow    int               // number of the first of the slowest 1%
	classes map[siteID]string // those with few requests share a name
}

func (a *analysis) blocks(m *model) []Block {
	x := &blocker{
		analysis: a, sites: m.sites, weight: max(a.oneIn, 1),
		classes: map[siteID]string{},
	}
	x.slow, _ = a.edges(.99, 1)
	count := x.sites.countClasses(x.requests)
	for i, id := range x.sites.mostClasses(count, count) {
		x.classes[id] = OtherClasses
		if i < blockClasses {
			x.classes[id] = x.sites.name(id)
		}
	}
	return x.divide(max(m.now-m.origin, 1))
}

func (x *blocker) divide(length int64) []Block {
	blocks := make([]Block, numBlocks)
	n := len(x.requests)
	kept := min(int(slowFrom*float64(n)), n-1)
	step := (n - kept + blockSlow - 1) / blockSlow
	for i := range blocks {
		blocks[i] = Block{
			Start: dur(length * int64(i) / numBlocks), End: dur(length * int64(i+1) / numBlocks),
			Weight: step * x.weight, Classes: []BlockClass{},
		}
	}
	for i := range x.requests {
		r := &x.requests[i]
		d := x.detailsOf(r)
		at := min(int(d.start*numBlocks/length), numBlocks-1)
		b, class, slow := &blocks[at], x.classes[r.class], i >= x.slow
		b.count(class, x.weight, slow)
		if i >= kept && (n-1-i)%step == 0 {
			b.Slow = append(b.Slow, Request{
				Class: class, Start: dur(d.start), End: dur(d.start + r.time), Sites: x.blames(d.waits),
			})
		}
	}
	for i := range blocks {
		slices.SortFunc(blocks[i].Classes, func(p, q BlockClass) int { return cmp.Compare(p.Class, q.Class) })
	}
	return blocks
}

func (b *Block) count(class string, n int, slow bool) {
	i := slices.IndexFunc(b.Classes, func(c BlockClass) bool { return c.Class == class })
	if i < 0 {
		i, b.Classes = len(b.Classes), append(b.Classes, BlockClass{Class: class})
	}
	c := &b.Classes[i]
	c.Requests += n
	if slow {
		c.Slow += n
	}
}

func (x *blocker) blames(waits []spent) (list []Blame) {
	for _, s := range waits {
		if s.ns != 0 {
			list = append(list, x.sites.blame(&x.sites.waits[s.wait], s.ns, 0))
		}
	}
	return list
}

// noClass stands for requests without a class in Options.Class.
const noClass = "-"

const maxClasses = 64

// OtherClasses stands for all classes that have no row of their own.
const OtherClasses = "(others)"

// Class is requests of one kind, such as those of a route.
type Class struct {
	Name     string `json:"name"` // as in [Request].Class
	Requests int    `json:"requests"`

	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	Tail time.Duration `json:"p99+_mean_ns"` // from P99 up

	Slow  int   `json:"slow"` // in the slowest 1% of all requests
	Total Parts `json:"total_ns"`
}

func (c *Class) quantiles(times []int64) {
	at := func(q float64) int { return min(int(q*float64(len(times))), len(times)-1) }
	c.P50, c.P90, c.P99, c.P999 = dur(times[at(.5)]), dur(times[at(.9)]), dur(times[at(.99)]), dur(times[at(.999)])
	var sum float64
	tail := times[at(.99):]
	for _, t := range tail {
		sum += float64(t)
	}
	c.Tail = dur(int64(sum / float64(len(tail))))
}

type classes struct {
	pattern string
	sites   *sites
	total   map[siteID]Parts
}

func (c *classes) wants(id siteID) bool {
	name := c.sites.name(id)
	switch {
	case c.pattern == "":
		return true
	case name == "":
		return c.pattern == noClass
	}
	return matches(c.pattern, name)
}

func (c *classes) add(id siteID, p *Parts) {
	t := c.total[id]
	t.addAll(*p)
	c.total[id] = t
}

func (c *classes) asked() (total Parts) {
	for id, p := range c.total {
		if c.wants(id) {
			total.addAll(p)
		}
	}
	return total
}

// list returns the classes with most of the slowest requests first. requests are in order of time.
func (c *classes) list(requests []record) []Class {
	slow := max(min(int(.99*float64(len(requests))), len(requests)-1), 0)
	count, late := c.sites.countClasses(requests), c.sites.countClasses(requests[slow:])
	list, rowOf := []Class{}, map[siteID]int{}
	for i, id := range c.sites.mostClasses(late, count) {
		switch {
		case i < maxClasses-1:
			list = append(list, Class{Name: c.sites.name(id)})
		case i == maxClasses-1:
			list = append(list, Class{Name: OtherClasses})
		}
		last := &list[len(list)-1]
		last.Requests, last.Slow = last.Requests+count[id], last.Slow+late[id]
		last.Total.addAll(c.total[id])
		rowOf[id] = len(list) - 1
	}
	times := make([][]int64, len(list))
	for i := range requests {
		row := rowOf[requests[i].class]
		times[row] = append(times[row], requests[i].time)
	}
	for i := range list {
		list[i].quantiles(times[i])
	}
	return list
}

func (s *sites) countClasses(requests []record) map[siteID]int {
	count := map[siteID]int{}
	for i := range requests {
		count[requests[i].class]++
	}
	return count
}

// mostClasses returns the classes of count in the order of first, then of count, then of names.
func (s *sites) mostClasses(first, count map[siteID]int) []siteID {
	return slices.SortedFunc(maps.Keys(count), func(a, b siteID) int {
		return cmp.Or(cmp.Compare(first[b], first[a]), cmp.Compare(count[b], count[a]),
			cmp.Compare(s.name(a), s.name(b)))
	})
}

func classError(pattern string, list []Class) error {
	var names []string
	for _, c := range list {
		names = append(names, fmt.Sprintf("%q (%d)", cmp.Or(c.Name, noClass), c.Requests))
	}
	return evenkeel.NewOptionError("reqtrace.Options", "Class",
		"no request is of class %q; write one of %s, or a pattern of path.Match",
		pattern, strings.Join(names, ", "))
}
