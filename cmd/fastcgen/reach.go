package main

import (
	"container/heap"
	"slices"
	"strings"
)

// callGraph is what functions and data refer to, in the assembly that the C compiler writes.
type callGraph struct {
	nodes map[string]*graphNode
	holds map[value]map[value]bool  // what code puts into a place, and what it passes
	inner map[string]map[int64]bool // the places within a variable whose address is taken; a function has it at 0
	units int

	pointers map[value]string // the names of the pointers that fields are read through: numbers of
	origins  []value

	linked   bool
	fields   map[int64]map[value]bool // the addresses that stand at an offset of some struct
	may      map[value]map[value]bool // the addresses that come to a place without standing in a field on the way
	tables   map[int64][]value        // the addresses that stand at an offset of a table
	resolved map[value]resolved       // by functions
	stars    map[value]map[value]bool // the addresses that come to all functions that are called through pointers
	known    map[value]near           // by pointed
	taken    []string                 // the functions whose address is taken
}

// graphNode is a function or a variable.
type graphNode struct {
	name     string // for a reader: C's
	function bool
	calls    map[string]bool
	refers   map[string]bool // variables and functions whose address the function takes

	sites     []site
	hands     []hand
	takes     map[int64]int // the arguments that it looks at, and how wide they are
	addressed bool          // it takes the address of a variable of its own

	holds map[int64]value // of a variable: addresses, and unknown for numbers that are not 0
	size  int64

	stride int64 // how long the elements are, 0: it is no array
	table  bool  // it holds the address of a function
}

// site is a call through a pointer.
type site struct {
	from   value
	passes map[int64]int // the arguments that may be passed, and how wide they are; nil: not known
}

// hand is a function or variable whose address is passed to a function.
type hand struct{ to, name string }

// node returns the node of that key.
func (g *callGraph) node(key, name string) *graphNode {
	n := g.nodes[key]
	if n == nil {
		n = &graphNode{name: name, calls: map[string]bool{}, refers: map[string]bool{}, holds: map[int64]value{}}
		g.nodes[key] = n
	}
	return n
}

// isFunction reports whether a symbol is a function, or nothing in these files and so one perhaps.
func (g *callGraph) isFunction(key string) bool {
	n := g.nodes[key]
	return n == nil || n.function
}

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

func sortedKeys(m map[string]bool) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
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
