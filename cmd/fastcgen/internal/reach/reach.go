package reach

import (
	"container/heap"
	"slices"
	"strings"
)

// target is where a call through a pointer may go.
type target struct {
	key  string
	cost int
}

// What a step on a path costs: the cheapest path says most to a reader.
const (
	direct   = 1
	through  = 3       // a pointer, to a function that is put there and takes what is passed
	mistaken = 60      // one that takes something else
	guessed  = 1 << 20 // any function of a table at that offset or, where there is none, any whose address is taken
)

// targets returns where a call through a pointer may go: to the functions that are put where the
// pointer is read, and among them to those that take what is passed. sure is false when nothing
// says where: then it may be any function whose address is taken.
func (g *callGraph) targets(n *graphNode, s site) (list []target, sure bool) {
	candidates, kind := g.functions(s.from)
	cost, sure := through, kind < copied
	if !sure {
		cost = guessed
	}
	if len(candidates) == 0 { // in a table that the function looks at, perhaps
		for _, key := range sortedKeys(n.refers) {
			if v := g.nodes[key]; v != nil && !v.function {
				more, _ := g.functions(value{valElement, key, 0})
				candidates = append(candidates, more...)
			}
		}
		cost, sure = through, true
	}
	if len(candidates) == 0 {
		candidates, cost, sure = g.taken, guessed, false
	}
	for _, key := range candidates {
		if extra, ok := g.takes(key, s); ok {
			list = append(list, target{key, cost + extra})
		}
	}
	if len(list) == 0 {
		for _, key := range candidates {
			list = append(list, target{key, cost + mistaken})
		}
	}
	return list, sure
}

// takes reports whether a function takes what a call passes, and how much more that is.
func (g *callGraph) takes(key string, s site) (extra int, ok bool) {
	n := g.nodes[key]
	if n == nil || s.passes == nil {
		return 0, true
	}
	for number, width := range n.takes {
		switch passed, is := s.passes[number]; {
		case !is, passed != anyNumber && (passed == 8) != (width == 8):
			return 0, false
		}
	}
	return len(s.passes) - len(n.takes), true
}

// step is a place that was reached, and from where.
type step struct {
	key  string
	cost int
	from *step
	ptr  bool // by a call through a pointer
	sure bool // no pointer on the way is one that may be anything
}

type steps []*step

func (s steps) Len() int { return len(s) }
func (s steps) Less(i, j int) bool {
	return s[i].cost < s[j].cost || s[i].cost == s[j].cost && s[i].key < s[j].key
}
func (s steps) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *steps) Push(x any)   { *s = append(*s, x.(*step)) }
func (s *steps) Pop() any     { l := *s; x := l[len(l)-1]; *s = l[:len(l)-1]; return x }

// reach returns the cheapest way from a function to each of those that wanted holds.
//
// It goes from the function outwards, the cheapest place first (Dijkstra): the first way to a place is the cheapest one,
// so each place is looked at once, and of a library of thousands of functions only what the function gets to is
// resolved. Cost is not likelihood: it orders ways by what they rest on, so that a call by name is preferred to a
// pointer that is known, and that to one that may be anything, however many calls by name follow.
func (g *callGraph) reach(from string, wanted func(symbol string) bool) []*step {
	g.link()
	var found []*step
	seen := map[string]bool{}
	queue := &steps{{key: from, sure: true}}
	for queue.Len() > 0 {
		s := heap.Pop(queue).(*step)
		if seen[s.key] {
			continue
		}
		seen[s.key] = true
		n := g.nodes[s.key]
		if n == nil {
			if wanted(s.key) {
				found = append(found, s)
			}
			continue
		}
		push := func(key string, cost int, ptr, sure bool) {
			if !seen[key] && (g.nodes[key] != nil || wanted(key)) {
				heap.Push(queue, &step{key, s.cost + cost, s, ptr, s.sure && sure})
			}
		}
		for _, key := range sortedKeys(n.calls) {
			push(key, direct, false, true)
		}
		for _, h := range n.hands { // qsort calls what it is handed
			if g.nodes[h.to] == nil && h.to != "*" && g.isFunction(h.name) {
				push(h.name, through, true, true)
			}
		}
		for _, site := range n.sites {
			list, sure := g.targets(n, site)
			for _, t := range list {
				push(t.key, t.cost, true, sure)
			}
		}
	}
	return found
}

// path writes a way: -> for a call, => for one through a pointer, ~> for one through a pointer that may be anything.
func (g *callGraph) path(s *step) string {
	var parts []string
	for ; s != nil; s = s.from {
		n := g.nodes[s.key]
		name := s.key
		if n != nil {
			name = n.name
		}
		arrow := ""
		switch {
		case s.from == nil:
		case s.from.sure && !s.sure:
			arrow = " ~> "
		case s.ptr:
			arrow = " => "
		default:
			arrow = " -> "
		}
		parts = append(parts, arrow+name)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}
