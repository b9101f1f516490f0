package reqtrace

import (
	"cmp"
	"maps"
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

// spent is the time of a wait.
type spent struct {
	wait waitID
	ns   int64
}

// sums are times of requests, of all and of the slowest 1%.
type sums struct{ all, slow int64 }

func (s *sums) add(ns int64, slow bool) {
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
	slow    int      // index of the first request of the slowest 1%
	weight  int      // for how many each request stands: Report.Sampled, or 1

	found map[row]*placed // what each place took of each class

	// Rows are first those of what no place has, of each class and cause, then those of places.
	rows []row
}

// newBlocker returns a blocker for the requests, which are in the order of their times.
func (a *analysis) newBlocker(m *model) *blocker {
	x := &blocker{a: a, sites: m.sites, weight: max(a.kept.oneIn, 1), found: map[row]*placed{}}
	x.slow, _ = a.edges(.99, 1)
	x.fold()
	for i := range a.requests {
		class := x.classes[a.requests[i].class]
		for _, s := range a.detailsOf(&a.requests[i]).waits {
			r := x.rowOf(class, s)
			if x.found[r] == nil {
				x.found[r] = &placed{row: r}
			}
			x.found[r].add(s.ns, i >= x.slow)
		}
	}
	x.choose()
	return x
}

// rowOf returns the row that a wait of a class's request would have.
func (x *blocker) rowOf(class uint8, s spent) row {
	return row{class, x.sites.waits[s.wait].cause, s.wait + 1}
}

// blocks returns the blocks of a trace of that length.
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
			rest[x.sites.waits[s.wait].cause] -= s.ns
			of[x.row(class, s)].add(s.ns*int64(x.weight), i >= x.slow)
		}
		for cause, ns := range rest {
			of[int(class)*int(numCauses)+cause].add(ns*int64(x.weight), i >= x.slow)
		}
		if i >= kept && (n-1-i)%step == 0 {
			blocks[b].Slow = append(blocks[b].Slow, SlowRequest{
				Class: x.names[class], Start: dur(d.start), Time: dur(r.time), Weight: step * x.weight,
				Parts: x.blames(d.waits, &rest),
			})
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

// row returns the number of the row that a wait's time belongs to.
func (x *blocker) row(class uint8, s spent) int {
	p := x.found[x.rowOf(class, s)]
	if p.in != 0 {
		return p.in
	}
	return int(class)*int(numCauses) + int(p.cause)
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

// blames returns all of a request's time: that of its waits, and what they leave of each cause.
func (x *blocker) blames(waits []spent, rest *[numCauses]int64) (list []Blame) {
	for _, s := range waits {
		if s.ns != 0 {
			list = append(list, x.blame(x.rowOf(0, s), s.ns))
		}
	}
	for c, ns := range rest {
		if ns != 0 {
			list = append(list, Blame{Cause: Cause(c), Time: dur(ns)})
		}
	}
	return list
}

// blame returns the time of a row as users see it.
func (x *blocker) blame(r row, ns int64) Blame {
	if r.wait == 0 {
		return Blame{Cause: r.cause, Time: dur(ns)}
	}
	return x.sites.blame(&x.sites.waits[r.wait-1], ns, 0)
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
	places := slices.Collect(maps.Values(x.found))
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
