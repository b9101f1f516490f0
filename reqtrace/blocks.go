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
	Slow    []SlowRequest `json:"-"`       // those of the trace's slowest 3% that began in it; of more than 4096 in the trace, each second, third and so on
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

// folded returns for each class the name that it has in blocks.
func folded(requests []record, s *sites) map[siteID]string {
	count := map[siteID]int{}
	for i := range requests {
		count[requests[i].class]++
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, b siteID) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(s.name(a), s.name(b)))
	})
	names := map[siteID]string{}
	for i, id := range order {
		names[id] = s.name(id)
		if i >= blockClasses {
			names[id] = OtherClasses
		}
	}
	return names
}

// partKey is what the sums of blocks are by.
type partKey struct {
	class string
	cause Cause
	wait  waitID // 1 more than its number; 0: what no place has
}

// blocker sums requests up in blocks.
//
// Invariant: of each block, class and cause the parts of all places add up to the time of the block's requests.
type blocker struct {
	a       *analysis
	sites   *sites
	classes map[siteID]string
	slow    int                // index of the first of the slowest 1%
	kept    int                // of the first that is kept by itself
	step    int                // of these every so manyth is
	weight  int                // for how many each request stands: Report.Sampled, or 1
	places  map[partKey]waitID // that have a row of their own: the first of those that look like it, as in partKey
}

// blocks returns the blocks of the requests, which are in the order of their times.
func (a *analysis) blocks(m *model) []Block {
	n, length := len(a.requests), max(m.now-m.origin, 1)
	x := blocker{a: a, sites: m.sites, classes: folded(a.requests, m.sites), weight: max(a.kept.oneIn, 1)}
	x.slow, x.kept = min(int(.99*float64(n)), n-1), min(int(slowFrom*float64(n)), n-1)
	x.step = (n - x.kept + blockSlow - 1) / blockSlow
	x.choose()
	blocks := make([]Block, numBlocks)
	parts := make([]map[partKey]*BlockPart, numBlocks)
	classes := make([]map[string]*BlockClass, numBlocks)
	for i := range blocks {
		blocks[i].Start, blocks[i].End = dur(length*int64(i)/numBlocks), dur(length*int64(i+1)/numBlocks)
		parts[i], classes[i] = map[partKey]*BlockPart{}, map[string]*BlockClass{}
	}
	for i := range a.requests {
		start, rest := a.detail(&a.requests[i])
		b := min(int(start*numBlocks/length), numBlocks-1)
		name := x.classes[a.requests[i].class]
		c := classes[b][name]
		if c == nil {
			c = &BlockClass{Class: name}
			classes[b][name] = c
		}
		slow := i >= x.slow
		c.Requests += x.weight
		if slow {
			c.Slow += x.weight
		}
		if i >= x.kept && (n-1-i)%x.step == 0 {
			blocks[b].Slow = append(blocks[b].Slow, x.request(name, start, rest, a.requests[i].time))
		}
		x.each(name, rest, func(k partKey, ns int64) {
			k.wait = x.places[k]
			p := parts[b][k]
			if p == nil {
				at := x.blame(k, 0)
				p = &BlockPart{Class: k.class, Cause: k.cause, Site: at.Site, Holder: at.Holder}
				parts[b][k] = p
			}
			ns *= int64(x.weight)
			p.All += dur(ns)
			if slow {
				p.Slow += dur(ns)
			}
		})
	}
	for i := range blocks {
		blocks[i].Classes, blocks[i].Parts = values(classes[i]), values(parts[i])
		slices.SortFunc(blocks[i].Classes, func(p, q BlockClass) int { return cmp.Compare(p.Class, q.Class) })
		slices.SortFunc(blocks[i].Parts, compareParts)
	}
	return blocks
}

// request keeps a slow request by itself.
func (x *blocker) request(class string, start int64, rest packed, ns int64) SlowRequest {
	q := SlowRequest{Class: class, Start: dur(start), Time: dur(ns), Weight: x.step * x.weight}
	x.each(class, rest, func(k partKey, ns int64) {
		q.Parts = append(q.Parts, x.blame(k, ns))
	})
	return q
}

// blame returns a time as users see it.
func (x *blocker) blame(k partKey, ns int64) Blame {
	if k.wait == 0 {
		return Blame{Cause: k.cause, Time: dur(ns)}
	}
	return x.sites.blame(&x.sites.waits[k.wait-1], ns, 0)
}

func values[K comparable, V any](m map[K]*V) []V {
	list := make([]V, 0, len(m))
	for _, v := range m {
		list = append(list, *v)
	}
	return list
}

func compareParts(p, q BlockPart) int {
	return cmp.Or(cmp.Compare(p.Class, q.Class), cmp.Compare(p.Cause, q.Cause), cmp.Compare(p.Site, q.Site), cmp.Compare(p.Holder, q.Holder),
		cmp.Compare(q.All, p.All), cmp.Compare(q.Slow, p.Slow))
}

// each hands out a request's time by causes and places. What its places leave of a cause has none.
func (x *blocker) each(class string, rest packed, f func(partKey, int64)) {
	var causes [numCauses]int64
	for c := rest.next(); c != 0; c = rest.next() {
		causes[c-1] = rest.next()
	}
	for n := rest.next(); n > 0; n-- {
		id := waitID(rest.next())
		c, ns := x.sites.waits[id].cause, rest.next()
		causes[c] -= ns
		if ns != 0 {
			f(partKey{class, c, id + 1}, ns)
		}
	}
	for c, ns := range causes {
		if ns != 0 {
			f(partKey{class, Cause(c), 0}, ns)
		}
	}
}

// choose chooses the places that have rows: those that took the most.
func (x *blocker) choose() {
	type sums struct{ all, slow int64 }
	of := map[partKey]*sums{}
	for i := range x.a.requests {
		_, rest := x.a.detail(&x.a.requests[i])
		x.each(x.classes[x.a.requests[i].class], rest, func(k partKey, ns int64) {
			if k.wait == 0 {
				return
			}
			s := of[k]
			if s == nil {
				s = &sums{}
				of[k] = s
			}
			s.all += ns
			if i >= x.slow {
				s.slow += ns
			}
		})
	}
	keys := make([]partKey, 0, len(of))
	for k := range of {
		keys = append(keys, k)
	}
	x.places = map[partKey]waitID{}
	first := map[[2]string]waitID{} // by site and holder: places differ in more than that
	for _, by := range []func(*sums) int64{func(s *sums) int64 { return s.slow }, func(s *sums) int64 { return s.all }} {
		slices.SortFunc(keys, func(p, q partKey) int {
			return cmp.Or(cmp.Compare(by(of[q]), by(of[p])), cmp.Compare(p.class, q.class), cmp.Compare(p.cause, q.cause), cmp.Compare(p.wait, q.wait))
		})
		for _, k := range keys[:min(len(keys), blockPlaces)] {
			if by(of[k]) == 0 {
				break
			}
			at := x.blame(k, 0)
			name := [2]string{at.Site, at.Holder}
			if _, ok := first[name]; !ok {
				first[name] = k.wait
			}
			x.places[k] = first[name]
		}
	}
}
