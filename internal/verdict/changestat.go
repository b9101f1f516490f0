package verdict

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"evenkeel.dev/reqtrace"
)

// changeTable has what a comparison is made from. A line is what one cause takes at one function,
// through one holder, in one class. A group is the sum of lines:
//
//	lines   class × cause × function × holder
//	groups  rows:  cause × function            byCause: cause
//	        whole: rows and mix                mix:     by how many requests of each class there are
//
// Invariant: the rows and the causes add up to the same, and with the mix to the whole.
type changeTable struct {
	sides    [2][]*changeTrace
	classes  []string
	share    [2][]float64               // of all requests, by class
	usual    map[reqtrace.Cause]float64 // of a request on both sides
	slowness *slowness
	level    float64
	rows     map[groupKey]*group
	byCause  map[groupKey]*group
	mix      *group
	whole    *group
	sites    [2]map[groupKey]siteTime
}

// siteTime is where a slow request spends most at a function.
type siteTime struct {
	site string
	time time.Duration
}

type changeTrace struct {
	report   *reqtrace.Report
	requests []float64 // by block
	ofClass  [][]float64
	lines    map[lineKey][]float64 // ns, by block
	all      float64
}

type lineKey struct {
	class    int
	cause    reqtrace.Cause
	function string
	holder   string
}

type groupKey struct {
	cause    reqtrace.Cause
	function string
}

// group is what some lines take of the mean of the slowest 1%.
type group struct {
	key     groupKey
	raw     [2]float64     // mean of the side's traces
	values  [2][]float64   // by trace, in the same mix of classes
	blocks  [2][][]float64 // by trace and block: how far the block moves the value
	holders map[string]float64
	classes map[string]float64
}

func newChangeTable(sides [2][]*reqtrace.Report) *changeTable {
	t := &changeTable{
		classes: classesOf(sides), usual: map[reqtrace.Cause]float64{}, slowness: newSlowness(sides),
		rows: map[groupKey]*group{}, byCause: map[groupKey]*group{},
	}
	classOf := func(name string) int {
		if i := slices.Index(t.classes, name); i >= 0 {
			return i
		}
		return max(slices.Index(t.classes, reqtrace.OtherClasses), 0)
	}
	for s, reports := range sides {
		t.share[s] = make([]float64, len(t.classes))
		for _, r := range reports {
			tr := newChangeTrace(r, len(t.classes), classOf)
			t.sides[s] = append(t.sides[s], tr)
			for i := range t.classes {
				t.share[s][i] += total(tr.ofClass[i]) / tr.all / float64(len(reports))
			}
			for c, d := range r.Total.All() {
				t.usual[Joined(c)] += float64(d) / tr.all / float64(2*len(reports))
			}
		}
	}
	for s, side := range t.sides {
		t.sites[s] = map[groupKey]siteTime{}
		for _, tr := range side {
			t.addSlow(tr, t.sites[s], classOf)
		}
	}
	t.whole, t.mix = t.newGroup(groupKey{}), t.newGroup(groupKey{})
	t.sum()
	return t
}

// muchUnclassed requests without a class keep classes from being compared. Without marks only
// requests that waited have a class, so a new lock would look like another mix.
const muchUnclassed = .02

// classesOf returns the classes that are compared, in order. If blocks fold classes, one that some trace does
// not name is one of the others.
func classesOf(sides [2][]*reqtrace.Report) []string {
	reports := slices.Concat(sides[0], sides[1])
	names := map[string]int{} // in how many traces
	for _, r := range reports {
		requests, all := map[string]int{}, 0
		for i := range r.Blocks {
			for _, c := range r.Blocks[i].Classes {
				requests[c.Class] += c.Requests
				all += c.Requests
			}
		}
		if float64(requests[""]) > muchUnclassed*float64(all) {
			return []string{""}
		}
		for name := range requests {
			names[name]++
		}
	}
	_, folded := names[reqtrace.OtherClasses]
	maps.DeleteFunc(names, func(name string, n int) bool {
		return n < len(reports) && folded && name != reqtrace.OtherClasses
	})
	return slices.Sorted(maps.Keys(names))
}

func newChangeTrace(r *reqtrace.Report, classes int, classOf func(string) int) *changeTrace {
	n := len(r.Blocks)
	t := &changeTrace{report: r, requests: make([]float64, n), lines: map[lineKey][]float64{}}
	for range classes {
		t.ofClass = append(t.ofClass, make([]float64, n))
	}
	for b := range r.Blocks {
		for _, c := range r.Blocks[b].Classes {
			t.requests[b] += float64(c.Requests)
			t.ofClass[classOf(c.Class)][b] += float64(c.Requests)
		}
	}
	t.all = total(t.requests)
	return t
}

// addSlow adds the slow requests. It shares what one counts among its causes, by what each takes
// beyond the usual, because what all requests do does not make some slow.
func (t *changeTable) addSlow(tr *changeTrace, sites map[groupKey]siteTime, classOf func(string) int) {
	for b := range tr.report.Blocks {
		for i := range tr.report.Blocks[b].Slow {
			q := &tr.report.Blocks[b].Slow[i]
			over := t.slowness.of(q.Duration()) * float64(tr.report.Blocks[b].Weight)
			if over <= 0 {
				continue
			}
			var causes, more reqtrace.Parts
			for _, p := range q.Sites {
				causes.Add(Joined(p.Cause), p.Time)
			}
			for c, d := range causes.All() {
				more.Add(c, max(d-time.Duration(t.usual[c]), 0))
			}
			if more.Total() == 0 {
				more = causes
			}
			for _, p := range q.Sites {
				c := Joined(p.Cause)
				d := over * more.Share(c) * float64(p.Time) / float64(causes.Of(c))
				if d == 0 {
					continue
				}
				k := lineKey{classOf(q.Class), c, builtFunction(p.Site), builtFunction(p.Holder)}
				if tr.lines[k] == nil {
					tr.lines[k] = make([]float64, len(tr.requests))
				}
				tr.lines[k][b] += d
				at := groupKey{c, k.function}
				if p.Time > sites[at].time {
					sites[at] = siteTime{p.Site, p.Time}
				}
			}
		}
	}
}

var closureNumber = regexp.MustCompile(`(\.func|\.gowrap|\.deferwrap|-range)[0-9]+\b(?:\.[0-9]+\b)*`)

// builtFunction returns a place's function without the numbers that earlier closures change.
func builtFunction(site string) string {
	return closureNumber.ReplaceAllString(Function(site), "$1")
}

func (t *changeTable) sum() {
	all := map[lineKey][]float64{}
	for _, tr := range slices.Concat(t.sides[0], t.sides[1]) {
		maps.Copy(all, tr.lines)
	}
	inOrder := slices.SortedFunc(maps.Keys(all), func(p, q lineKey) int {
		return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.cause, q.cause),
			cmp.Compare(p.function, q.function), cmp.Compare(p.holder, q.holder))
	})
	for _, k := range inOrder { // because floating point depends on it
		line := t.newGroup(groupKey{k.cause, k.function})
		mix := t.newGroup(groupKey{})
		t.estimate(line, mix, k)
		more := line.more()
		line.holders, line.classes = map[string]float64{k.holder: more}, map[string]float64{t.classes[k.class]: more}
		t.group(t.rows, line.key).add(line)
		t.group(t.byCause, groupKey{cause: k.cause}).add(line)
		t.mix.add(mix)
		t.whole.add(line)
		t.whole.add(mix)
	}
}

// estimate works out a line of each trace, and what the mix of classes does to it.
//
// Let x be what the line takes of a request, r its class's share of all requests, and both bars
// the mean of old and new. Then x = r (x/r), and the difference is
//
//	x' - x = r̄ (x'/r' - x/r)  +  (r' - r) (x/r)‾
//	         └ the line ─────┘    └ the mix ────┘
//
// x and r vary from trace to trace and from block to block, so x/r enters linearized: (x -
// (x/r)(r_k - r)) / r in trace k. If a side has no request of the class, all of it belongs to the
// mix.
func (t *changeTable) estimate(line, mix *group, k lineKey) {
	var mean, rate [2]float64
	for s, side := range t.sides {
		for _, tr := range side {
			mean[s] += tr.mean(k) / float64(len(side))
		}
		if t.share[s][k.class] > 0 {
			rate[s] = mean[s] / t.share[s][k.class]
		}
		line.raw[s] = mean[s]
	}
	old, now := t.share[0][k.class], t.share[1][k.class]
	both := (old + now) / 2
	typical := (rate[0] + rate[1]) / 2
	alone := old == 0 || now == 0
	if alone {
		typical = rate[0] + rate[1]
	}
	for s, side := range t.sides {
		r := t.share[s][k.class]
		for i, tr := range side {
			share := total(tr.ofClass[k.class]) / tr.all
			ofLine, ofShare := tr.influence(k)
			mix.values[s][i] = share * typical
			axpy(mix.blocks[s][i], typical, ofShare)
			if alone {
				continue
			}
			line.values[s][i] = both / r * (tr.mean(k) - rate[s]*(share-r))
			axpy(line.blocks[s][i], both/r, ofLine)
			axpy(line.blocks[s][i], -both/r*rate[s], ofShare)
		}
	}
}

func (t *changeTrace) mean(k lineKey) float64 { return total(t.lines[k]) / (slowest * t.all) }

func (t *changeTrace) influence(k lineKey) (line, share []float64) {
	line, share = make([]float64, len(t.requests)), make([]float64, len(t.requests))
	l, mean, r := t.lines[k], t.mean(k), total(t.ofClass[k.class])/t.all
	for b, n := range t.requests {
		share[b] = (t.ofClass[k.class][b] - r*n) / t.all
		if l != nil {
			line[b] = l[b]/(slowest*t.all) - mean*n/t.all
		}
	}
	return line, share
}

func (t *changeTable) newGroup(k groupKey) *group {
	g := &group{key: k, holders: map[string]float64{}, classes: map[string]float64{}}
	for s, side := range t.sides {
		g.values[s] = make([]float64, len(side))
		for _, tr := range side {
			g.blocks[s] = append(g.blocks[s], make([]float64, len(tr.requests)))
		}
	}
	return g
}

func (t *changeTable) group(in map[groupKey]*group, k groupKey) *group {
	g := in[k]
	if g == nil {
		g = t.newGroup(k)
		in[k] = g
	}
	return g
}

func (g *group) add(x *group) {
	for s := range g.values {
		g.raw[s] += x.raw[s]
		axpy(g.values[s], 1, x.values[s])
		for k := range g.blocks[s] {
			axpy(g.blocks[s][k], 1, x.blocks[s][k])
		}
	}
	for h, d := range x.holders {
		g.holders[h] += d
	}
	for c, d := range x.classes {
		g.classes[c] += d
	}
}

// tested returns how many differences are tested. It does not depend on how much they differ,
// because results must not choose their tests.
func (t *changeTable) tested() (n int) {
	groups := slices.Collect(maps.Values(t.byCause))
	for k, g := range t.rows {
		if k.function != "" {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		if ofProgram(g.key.cause) && max(g.raw[0], g.raw[1]) >= changeShare*t.slowness.tails[0] {
			n++
		}
	}
	return n
}

func (t *changeTable) sorted(in map[groupKey]*group) []*group {
	return slices.SortedFunc(maps.Values(in), func(p, q *group) int {
		return cmp.Or(cmp.Compare(math.Abs(q.more()), math.Abs(p.more())),
			cmp.Compare(p.key.cause, q.key.cause), cmp.Compare(p.key.function, q.key.function))
	})
}

func (t *changeTable) row(g *group) CauseChange {
	more := g.more()
	c := CauseChange{
		Cause: g.key.cause, Phrase: Phrase(g.key.cause), Function: g.key.function, Holder: mostOf(g.holders, more),
		Slow: t.difference(g),
	}
	if g.key.function != "" {
		c.Site = cmp.Or(t.sites[1][g.key].site, t.sites[0][g.key].site)
	}
	if len(t.classes) > 1 {
		c.Class = mostOf(g.classes, more)
	}
	return c
}

func mostOf(parts map[string]float64, more float64) (name string) {
	best := 0.
	for _, k := range slices.Sorted(maps.Keys(parts)) {
		if x := parts[k] / more; more != 0 && x >= changeDetail && x > best {
			name, best = k, x
		}
	}
	return name
}
