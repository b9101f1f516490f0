package reqtrace

import (
	"cmp"
	"slices"
	"time"
)

// What bounds a report's blocks.
const (
	numBlocks    = 40
	blockClasses = 16 // those with the most requests; the rest are OtherClasses
	blockPlaces  = 24 // with the most time in the slowest 1%, and as many of all requests; the rest have no place
	blockSlow    = 4096
	slowFrom     = .97 // the requests that blocks keep one by one: room for a threshold that several traces share
)

// Block is what a part of the trace's time has of a report's sums. All blocks of a report are equally long, and a
// request is in the one that it began in. Requests of one block are not independent of each other, as one stall slows
// hundreds of them; blocks nearly are. So blocks are what an interval can be estimated from, which requests are not.
// There are 40 of them; each has at most 17 classes, 48 places, and the rest of each cause and class.
type Block struct {
	Start   time.Duration `json:"start_ns"`
	End     time.Duration `json:"end_ns"`
	Classes []BlockClass  `json:"classes"` // those with requests in it, by name
	Parts   []BlockPart   `json:"parts"`   // those that took some time, by class, cause and place
	// those of the trace's slowest 3% that began in it; of more than 4096 in the trace, each second, third and so on
	Slow []SlowRequest `json:"-"`
}

// SlowRequest is a slow request as a [Block] keeps it.
type SlowRequest struct {
	Class  string
	Start  time.Duration // from the start of the trace
	Time   time.Duration
	Weight int     // for how many it stands
	Parts  []Blame // all of its time: places, and what is left of each cause
}

// BlockClass counts the requests of a class.
type BlockClass struct {
	Class    string `json:"class,omitempty"`
	Requests int    `json:"requests"`
	Slow     int    `json:"slow,omitempty"` // of the trace's slowest 1%: Report.Tail
}

// BlockPart is the time of requests that one cause took at one place: the sum of all, and of the slowest 1%.
type BlockPart struct {
	Class  string        `json:"class,omitempty"`
	Cause  Cause         `json:"cause"`
	Site   string        `json:"site,omitempty"`   // as that of a [Blame]; "": none is known, or it is of little weight
	Holder string        `json:"holder,omitempty"` // likewise
	All    time.Duration `json:"all_ns"`
	Slow   time.Duration `json:"slow_ns,omitempty"`
}

// row is what the sums of blocks are by.
type row struct {
	class uint8 // a number of blocker.names
	cause Cause
	wait  waitID // 1 more than its number; 0: what no place has
}

// spent is some of a request's time: at a place, or what its places leave of a cause.
type spent struct {
	cause Cause
	wait  waitID // as of a row
	ns    int64
}

// sums are times of requests, of all and of the slowest 1%.
type sums struct {
	all, slow int64
	some      bool // there was a time to add, though they may come to nothing
}

func (s *sums) add(ns int64, slow bool) {
	s.some = true
	s.all += ns
	if slow {
		s.slow += ns
	}
}

// blocker sums requests up in blocks.
//
// Invariant: of each block, class and cause the parts of all places add up to the time of the block's requests.
type blocker struct {
	a       *analysis
	sites   *sites
	names   []string // of classes, as blocks have them
	classes []uint8  // the number in names, by the class's own number
	kept    int      // index of the first that is kept by itself
	step    int      // of these every so manyth is
	weight  int      // for how many each request stands: Report.Sampled, or 1
	scratch []spent

	found []placed  // what each place took of each class
	at    [][]int32 // 1 more than an index of found, by class and wait; 0: none yet

	// Rows are first those of what no place has, of each class and cause, then those of places.
	rows []row
}

// newBlocker returns a blocker for the requests, which are in the order of their times.
func (a *analysis) newBlocker(m *model) *blocker {
	n := len(a.requests)
	x := &blocker{a: a, sites: m.sites, weight: max(a.kept.oneIn, 1), kept: min(int(slowFrom*float64(n)), n-1)}
	x.step = (n - x.kept + blockSlow - 1) / blockSlow
	x.fold()
	x.at = make([][]int32, len(x.names))
	for i := range x.at {
		x.at[i] = make([]int32, len(m.sites.waits))
	}
	return x
}

// took takes note of what a place took of a request.
func (x *blocker) took(class siteID, id waitID, ns int64, slow bool) {
	if ns == 0 {
		return
	}
	c := x.classes[class]
	at := &x.at[c][id]
	if *at == 0 {
		x.found = append(x.found, placed{row: row{c, x.sites.waits[id].cause, id + 1}})
		*at = int32(len(x.found))
	}
	x.found[*at-1].add(ns, slow)
}

// blocks returns the blocks of a trace of that length, in which the zones from slow on are the slowest 1%.
func (x *blocker) blocks(slow uint8, length int64) []Block {
	length = max(length, 1)
	x.choose()
	blocks := make([]Block, numBlocks)
	parts := make([]sums, numBlocks*len(x.rows))
	classes := make([]BlockClass, numBlocks*len(x.names))
	for _, p := range x.a.details {
		for len(p) > 0 {
			r := p.nextRecord()
			zone := p.nextZone()
			if zone == notAsked {
				p.skipDetails()
				continue
			}
			b, class := blockAt(p.next(), length), x.classes[r.class]
			c := &classes[b*len(x.names)+int(class)]
			c.Requests += x.weight
			if zone >= slow {
				c.Slow += x.weight
			}
			of := parts[b*len(x.rows):][:len(x.rows)]
			for _, s := range x.spent(&p) {
				of[x.row(class, s)].add(s.ns*int64(x.weight), zone >= slow)
			}
		}
	}
	for i, n := x.kept, len(x.a.requests); i < n; i++ {
		if r := &x.a.requests[i]; (n-1-i)%x.step == 0 {
			start, rest := x.a.detail(r)
			b := &blocks[blockAt(start, length)]
			b.Slow = append(b.Slow, x.request(r, start, rest))
		}
	}
	for i := range blocks {
		b := &blocks[i]
		b.Start, b.End = dur(length*int64(i)/numBlocks), dur(length*int64(i+1)/numBlocks)
		b.Classes = x.classesOf(classes[i*len(x.names):][:len(x.names)])
		b.Parts = x.partsOf(parts[i*len(x.rows):][:len(x.rows)])
	}
	return blocks
}

// blockAt returns the number of the block that a request began in.
func blockAt(start, length int64) int { return min(int(start*numBlocks/length), numBlocks-1) }

// row returns the number of the row that some of a request's time belongs to.
func (x *blocker) row(class uint8, s spent) int {
	if s.wait != 0 {
		if r := x.found[x.at[class][s.wait-1]-1].in; r != 0 {
			return r
		}
	}
	return int(class)*int(numCauses) + int(s.cause)
}

// classesOf returns those classes of a block that have requests, by name.
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

// partsOf returns those rows of a block that took some time.
func (x *blocker) partsOf(all []sums) []BlockPart {
	list := []BlockPart{}
	for i, s := range all {
		if s.some {
			at := x.blame(x.rows[i].cause, x.rows[i].wait, 0)
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

// request keeps a slow request by itself.
func (x *blocker) request(r *record, start int64, rest packed) SlowRequest {
	q := SlowRequest{
		Class: x.names[x.classes[r.class]], Start: dur(start), Time: dur(r.time),
		Weight: x.step * x.weight,
	}
	for _, s := range x.spent(&rest) {
		q.Parts = append(q.Parts, x.blame(s.cause, s.wait, s.ns))
	}
	return q
}

// blame returns a time as users see it; wait is as in a row.
func (x *blocker) blame(cause Cause, wait waitID, ns int64) Blame {
	if wait == 0 {
		return Blame{Cause: cause, Time: dur(ns)}
	}
	return x.sites.blame(&x.sites.waits[wait-1], ns, 0)
}

// spent returns a request's time by causes and places, until the next call, and takes it off rest,
// with the samples. What its places leave of a cause has none.
func (x *blocker) spent(rest *packed) []spent {
	var causes [numCauses]int64
	for c := rest.next(); c != 0; c = rest.next() {
		causes[c-1] = rest.next()
	}
	list := x.scratch[:0]
	for n := rest.next(); n > 0; n-- {
		id := waitID(rest.next())
		c, ns := x.sites.waits[id].cause, rest.next()
		causes[c] -= ns
		if ns != 0 {
			list = append(list, spent{c, id + 1, ns})
		}
	}
	for n := 2 * rest.next(); n > 0; n-- {
		rest.next()
	}
	for c, ns := range causes {
		if ns != 0 {
			list = append(list, spent{Cause(c), 0, ns})
		}
	}
	x.scratch = list
	return list
}

// fold numbers the classes: those with the most requests, and the rest as one.
func (x *blocker) fold() {
	count := x.sites.countClasses(x.a.requests)
	var order []siteID
	for id, n := range count {
		if n > 0 {
			order = append(order, siteID(id))
		}
	}
	slices.SortFunc(order, func(a, b siteID) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(x.sites.name(a), x.sites.name(b)))
	})
	x.classes = make([]uint8, len(count))
	for i, id := range order {
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

// placed is what a place took of a class's requests.
type placed struct {
	row
	sums
	in int // number of the row that it is in; 0: that of its cause without a place
}

// choose chooses the places that have rows: those that took the most.
func (x *blocker) choose() {
	for class := range x.names {
		for c := range numCauses {
			x.rows = append(x.rows, row{class: uint8(class), cause: c})
		}
	}
	places := make([]*placed, len(x.found))
	for i := range x.found {
		places[i] = &x.found[i]
	}
	first := map[[2]string]waitID{} // by site and holder: places differ in more than that
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
			at := x.blame(p.cause, p.wait, 0)
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
