package main

import (
	"container/heap"
	"regexp"
	"slices"
	"strings"
)

// callGraph is what functions and data refer to, in the assembly that the C compiler writes.
type callGraph struct {
	nodes map[string]*graphNode
	taken map[string]bool // functions whose address is in data, or that code hands on
	units int
}

// graphNode is a function or a variable.
type graphNode struct {
	name     string // for a reader: C's
	function bool
	indirect bool // it calls through a pointer
	calls    map[string]bool
	refers   map[string]bool
}

// What a step on a path costs: the cheapest path says most to a reader. A call through a pointer may go
// to every function whose address is taken, and one outside of what is looked at is the least likely.
const (
	direct   = 1
	through  = 10
	throughX = 1000
)

var (
	asmFunction = regexp.MustCompile(`^\s*\.type\s+([\w.$]+),\s*[@%]function`)
	asmLabel    = regexp.MustCompile(`^"?([\w.$]+)"?:`)
	asmLocal    = regexp.MustCompile(`^\s*\.local\s+([\w.$]+)`)
	asmAlias    = regexp.MustCompile(`^\s*\.set\s+([\w.$]+),\s*([A-Za-z_][\w.$]*)\s*$`)
	asmOperand  = regexp.MustCompile(`[A-Za-z_.$][\w.$]*`)
	asmData     = regexp.MustCompile(`^\s*\.(quad|xword|8byte|dword|long|word)\s+(.*)`)
	asmIndirect = regexp.MustCompile(`^\s*(notrack\s+)?(call|jmp)q?\s+\*|^\s*(blr|br)\s|^\s*bctrl?\b|^\s*jalr\s`)
	asmCall     = regexp.MustCompile(`^\s*(callq?|jmpq?|bl|b|tail|j[a-z]+)\s+(.*)`)
	asmCode     = regexp.MustCompile(`^\s*[a-z][\w.]*\s+(.*)`)
)

// add reads the assembly of one compiled file.
func (g *callGraph) add(text string) {
	if g.nodes == nil {
		g.nodes, g.taken = map[string]*graphNode{}, map[string]bool{}
	}
	g.units++
	functions, local := map[string]bool{}, map[string]bool{}
	for l := range strings.SplitSeq(text, "\n") {
		if m := asmFunction.FindStringSubmatch(l); m != nil {
			functions[m[1]] = true
		}
	}
	global := map[string]bool{}
	for l := range strings.SplitSeq(text, "\n") {
		if f := strings.Fields(l); len(f) >= 2 && (f[0] == ".globl" || f[0] == ".global" || f[0] == ".weak") {
			global[f[1]] = true
		} else if m := asmLabel.FindStringSubmatch(l); m != nil {
			local[m[1]] = true
		} else if m := asmLocal.FindStringSubmatch(l); m != nil {
			local[m[1]] = true
		}
	}
	key := func(name string) string { // what is static in one file is another thing in the next
		if local[name] && !global[name] {
			return name + "#" + itoa(g.units)
		}
		return name
	}
	var at *graphNode
	for l := range strings.SplitSeq(text, "\n") {
		if m := asmAlias.FindStringSubmatch(l); m != nil {
			alias := g.node(key(m[1]), m[1])
			alias.function, alias.calls[key(m[2])] = true, true
			continue
		}
		if m := asmLabel.FindStringSubmatch(l); m != nil {
			if at == nil || !at.function || !strings.HasPrefix(m[1], ".L") {
				at = g.node(key(m[1]), m[1])
				at.function = functions[m[1]]
			}
			continue
		}
		if f := strings.Fields(l); len(f) > 0 && (f[0] == ".section" || f[0] == ".data" || f[0] == ".text") {
			at = nil
		}
		if at != nil {
			g.line(at, l, key, local)
		}
	}
}

func (g *callGraph) node(key, name string) *graphNode {
	n := g.nodes[key]
	if n == nil {
		n = &graphNode{name: name, calls: map[string]bool{}, refers: map[string]bool{}}
		g.nodes[key] = n
	}
	return n
}

// line notes what one line of assembly refers to.
func (g *callGraph) line(at *graphNode, l string, key func(string) string, local map[string]bool) {
	names := func(operands string) []string {
		var list []string
		for _, s := range asmOperand.FindAllString(operands, -1) {
			if !strings.HasPrefix(s, ".L") || local[s] {
				list = append(list, key(s))
			}
		}
		return list
	}
	if !at.function {
		if m := asmData.FindStringSubmatch(l); m != nil {
			for _, s := range names(m[2]) {
				at.refers[s], g.taken[s] = true, true
			}
		}
		return
	}
	if asmIndirect.MatchString(l) {
		at.indirect = true
	}
	if m := asmCall.FindStringSubmatch(l); m != nil && !strings.Contains(m[2], "*") {
		target, _, _ := strings.Cut(m[2], "@")
		for _, s := range names(target) {
			at.calls[s] = true
		}
		return
	}
	if m := asmCode.FindStringSubmatch(l); m != nil {
		operands, _, _ := strings.Cut(m[1], "#")
		for _, s := range names(operands) {
			at.refers[s], g.taken[s] = true, true
		}
	}
}

// step is a place that was reached, and from where.
type step struct {
	key  string
	cost int
	from *step
	ptr  bool // by a call through a pointer
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
	var found []*step
	seen := map[string]bool{}
	anywhere := slices.Sorted(func(yield func(string) bool) {
		for s := range g.taken {
			if n := g.nodes[s]; n != nil && n.function || n == nil && wanted(s) {
				if !yield(s) {
					return
				}
			}
		}
	})
	queue := &steps{{key: from}}
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
		push := func(key string, cost int, ptr bool) {
			if !seen[key] {
				heap.Push(queue, &step{key, s.cost + cost, s, ptr})
			}
		}
		for _, key := range sortedKeys(n.calls) {
			push(key, direct, false)
		}
		for _, key := range sortedKeys(n.refers) { // what its tables hold, and what it hands on
			push(key, direct, g.nodes[key] == nil || g.nodes[key].function)
		}
		if !n.indirect {
			continue
		}
		for _, key := range anywhere {
			if g.nodes[key] != nil {
				push(key, through, true)
			} else {
				push(key, throughX, true)
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

// path writes a way, -> for a call and => for one through a pointer. Variables on it are left out.
func (g *callGraph) path(s *step) string {
	var parts []string
	for ; s != nil; s = s.from {
		n := g.nodes[s.key]
		if n != nil && !n.function {
			continue
		}
		name := s.key
		if n != nil {
			name = n.name
		}
		arrow := ""
		switch {
		case s.from == nil:
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
