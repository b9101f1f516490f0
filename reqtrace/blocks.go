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
	blockPlaces  = 24 // in the slowest 1%, and as many in all requests
	blockSlow    = 4096
	slowFrom     = .97 // two traces may share a higher threshold
)

// Block is a fortieth of the trace, with the sums of the requests that began in it. Intervals are
// estimated from blocks, because one stall slows hundreds of requests.
type Block struct {
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	Classes []BlockClass  `json:"classes"`
	Parts   []BlockPart   `json:"parts"`
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

// BlockPart is the time that a cause took at a place.
type BlockPart struct {
	Class  string        `json:"class,omitempty"`
	Cause  Cause         `json:"cause"`
	Site   string        `json:"site,omitempty"` // "": not known, or of little weight
	Holder string        `json:"holder,omitempty"`
	All    time.Duration `json:"all_ns"`
	Slow   time.Duration `json:"slow_ns,omitempty"`
}

type row struct {
	class uint8
	cause Cause
	wait  waitID // number + 1, or 0
}

type spent struct {
	wait waitID
	ns   int64
}

type sums struct{ all, slow int64 }

func (s *sums) add(ns int64, slow bool) {
	s.all += ns
	if slow {
		s.slow += ns
	}
}

// blocker adds requests up in blocks. In each block the rows of a class and a cause add up to the
// time of its requests.
type blocker struct {
	a       *analysis
	sites   *sites
	names   []string
	classes []uint8 // indexes of names by siteID
	slow    int
	weight  int

	found [][]placed // by class and wait

	// first one for each class and cause, without a place
	rows []row
}

func (a *analysis) newBlocker(m *model) *blocker {
	x := &blocker{
		a: a, sites: m.sites, weight: max(a.kept.oneIn, 1), classes: make([]uint8, len(m.sites.places)),
	}
	x.slow, _ = a.edges(.99, 1)
	x.fold()
	for range x.names {
		x.found = append(x.found, make([]placed, len(x.sites.waits)))
	}
	for i := range a.requests {
		class := x.classes[a.requests[i].class]
		for _, s := range a.detailsOf(&a.requests[i]).waits {
			p := &x.found[class][s.wait]
			p.row = x.rowOf(class, s)
			p.add(s.ns, i >= x.slow)
		}
	}
	x.choose()
	return x
}

func (x *blocker) rowOf(class uint8, s spent) row {
	return row{class, x.sites.waits[s.wait].cause, s.wait + 1}
}

func (x *blocker) blocks(length int64) []Block {
	length = max(length, 1)
	blocks := make([]Block, numBlocks)
	parts := make([]sums, numBlocks*len(x.rows))
	classes := make([]BlockClass, numBlocks*len(x.names))
	n := len(x.a.requests)
	kept := min(int(slowFrom*float64(n)), n-1)
	step := (n - kept + blockSlow - 1) / blockSlow
	for i := range x.a.requests {
		r := &x.a.requests[i]
		d := x.a.detailsOf(r)
		b, class := blockAt(d.start, length), x.classes[r.class]
		c := &classes[b*len(x.names)+int(class)]
		c.Requests += x.weight
		if i >= x.slow {
			c.Slow += x.weight
		}
		of := parts[b*len(x.rows):][:len(x.rows)]
		rest := d.parts
		for _, s := range d.waits {
			rest.ns[x.sites.waits[s.wait].cause] -= dur(s.ns)
			of[x.row(class, s)].add(s.ns*int64(x.weight), i >= x.slow)
		}
		for cause, d := range rest.ns {
			of[int(class)*int(numCauses)+cause].add(int64(d)*int64(x.weight), i >= x.slow)
		}
		if i >= kept && (n-1-i)%step == 0 {
			blocks[b].Slow = append(blocks[b].Slow, Request{
				Class: x.names[class], Start: dur(d.start), End: dur(d.start + r.time),
				Sites: x.blames(d.waits, &rest),
			})
		}
	}
	for i := range blocks {
		b := &blocks[i]
		b.Weight = step * x.weight
		b.Start, b.End = dur(length*int64(i)/numBlocks), dur(length*int64(i+1)/numBlocks)
		b.Classes = x.classesOf(classes[i*len(x.names):][:len(x.names)])
		b.Parts = x.partsOf(parts[i*len(x.rows):][:len(x.rows)])
	}
	return blocks
}

func blockAt(start, length int64) int { return min(int(start*numBlocks/length), numBlocks-1) }

func (x *blocker) row(class uint8, s spent) int {
	p := &x.found[class][s.wait]
	if p.in != 0 {
		return p.in
	}
	return int(class)*int(numCauses) + int(p.cause)
}

func (x *blocker) classesOf(all []BlockClass) []BlockClass {
	list := make([]BlockClass, 0, len(all))
	for i, c := range all {
		if c.Class = x.names[i]; c.Requests > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(p, q BlockClass) int { return cmp.Compare(p.Class, q.Class) })
	return list
}

func (x *blocker) partsOf(all []sums) []BlockPart {
	list := []BlockPart{}
	for i, s := range all {
		if s != (sums{}) {
			at := x.blame(x.rows[i], 0)
			list = append(list, BlockPart{
				x.names[x.rows[i].class], x.rows[i].cause, at.Site, at.Holder, dur(s.all),
				dur(s.slow),
			})
		}
	}
	slices.SortFunc(list, func(p, q BlockPart) int {
		return cmp.Or(cmp.Compare(p.Class, q.Class), cmp.Compare(p.Cause, q.Cause), cmp.Compare(p.Site, q.Site),
			cmp.Compare(p.Holder, q.Holder),
			cmp.Compare(q.All, p.All), cmp.Compare(q.Slow, p.Slow))
	})
	return list
}

// blames returns a request's waits, and what they leave of each cause.
func (x *blocker) blames(waits []spent, rest *Parts) (list []Blame) {
	for _, s := range waits {
		if s.ns != 0 {
			list = append(list, x.blame(x.rowOf(0, s), s.ns))
		}
	}
	for c, d := range rest.All() {
		list = append(list, Blame{Cause: c, Time: d})
	}
	return list
}

func (x *blocker) blame(r row, ns int64) Blame {
	if r.wait == 0 {
		return Blame{Cause: r.cause, Time: dur(ns)}
	}
	return x.sites.blame(&x.sites.waits[r.wait-1], ns, 0)
}

// fold numbers the classes. Those with few requests share a number.
func (x *blocker) fold() {
	count := x.sites.countClasses(x.a.requests)
	for i, id := range x.sites.mostClasses(count, count) {
		name := x.sites.name(id)
		if i >= blockClasses {
			name = OtherClasses
		}
		n := slices.Index(x.names, name)
		if n < 0 {
			n = len(x.names)
			x.names = append(x.names, name)
		}
		x.classes[id] = uint8(n)
	}
}

type placed struct {
	row
	sums
	in int // number of its row, or 0
}

func (x *blocker) choose() {
	for class := range x.names {
		for c := range numCauses {
			x.rows = append(x.rows, row{class: uint8(class), cause: c})
		}
	}
	var places []*placed
	for _, waits := range x.found {
		for i := range waits {
			if waits[i].wait != 0 {
				places = append(places, &waits[i])
			}
		}
	}
	first := map[[2]string]waitID{} // places with the same site and holder share a row
	for _, by := range []func(*placed) int64{
		func(p *placed) int64 { return p.slow },
		func(p *placed) int64 { return p.all },
	} {
		slices.SortFunc(places, func(p, q *placed) int {
			return cmp.Or(cmp.Compare(by(q), by(p)),
				cmp.Compare(x.names[p.class], x.names[q.class]), cmp.Compare(p.cause, q.cause),
				cmp.Compare(p.wait, q.wait))
		})
		for _, p := range places[:min(len(places), blockPlaces)] {
			if by(p) == 0 {
				break
			}
			at := x.blame(p.row, 0)
			name := [2]string{at.Site, at.Holder}
			if _, ok := first[name]; !ok {
				first[name] = p.wait
			}
			r := row{p.class, p.cause, first[name]}
			n := slices.Index(x.rows, r)
			if n < 0 {
				n = len(x.rows)
				x.rows = append(x.rows, r)
			}
			p.in = n
		}
	}
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
	total   map[siteID]*Parts
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
	if t == nil {
		t = &Parts{}
		c.total[id] = t
	}
	t.addAll(*p)
}

func (c *classes) asked() (total Parts) {
	for id, p := range c.total {
		if c.wants(id) {
			total.addAll(*p)
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
		last.Total.addAll(*c.total[id])
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
