package reach

import (
	"slices"
	"strings"
)

// step is a place that was reached, and from where.
type step struct {
	key     string
	from    *step
	pointer bool // by a pointer
	sure    bool // no step before is by a pointer
}

// reach returns the ways from a function to the undefined symbols that it reaches, the nearest
// first.
//
// Calls by name come first, all of them. Pointers are followed where something on the way calls
// through one: then to all functions whose address is taken. A function of the C library that is
// given a pointer (qsort) may call what the functions on the way refer to.
func (g *Graph) reach(from string) (undefined []*step) {
	seen := map[string]bool{}
	var queue []*step
	push := func(key string, s *step, pointer bool) {
		if !seen[key] {
			seen[key] = true
			queue = append(queue, &step{key, s, pointer, !pointer && (s == nil || s.sure)})
		}
	}
	push(g.root(from), nil, false)
	var calling *step     // calls through a pointer
	handing := false      // a pointer goes to a function of the C library that calls it
	var referring []*step // what may refer to functions
	for {
		for ; len(queue) > 0; queue = queue[1:] {
			s := queue[0]
			n := g.nodes[s.key]
			switch {
			case n == nil && strings.Contains(s.key, "#"): // a place within a function, or a variable that begins as 0
				continue
			case n == nil:
				undefined = append(undefined, s)
				handing = handing || slices.Contains(callers, libcName(s.key))
				continue
			}
			for _, key := range sorted(n.calls) {
				push(key, s, false)
			}
			if n.indirect && calling == nil {
				calling = s
			}
			referring = append(referring, s)
		}
		switch {
		case calling != nil:
			for _, key := range sorted(g.taken) {
				push(key, calling, true)
			}
		case handing:
			for _, s := range referring {
				for _, key := range sorted(g.nodes[s.key].refers) {
					push(key, s, true)
				}
			}
		}
		if len(queue) == 0 {
			return undefined
		}
		referring = nil
	}
}

// Names returns what a function gets to, by calls and by what it refers to: C's names of functions
// and variables.
func (g *Graph) Names(function string) []string {
	names, seen := map[string]bool{}, map[string]bool{}
	for queue := []string{g.root(function)}; len(queue) > 0; queue = queue[1:] {
		key := queue[0]
		name, _, _ := strings.Cut(key, "#")
		names[name] = true
		if n := g.nodes[key]; n != nil && !seen[key] { // a variable that begins as 0 has none
			seen[key] = true
			queue = append(append(queue, sorted(n.calls)...), sorted(n.refers)...)
		}
	}
	return sorted(names)
}

// way writes one: -> for a call, ~> for one through a pointer that may go there.
func (g *Graph) way(s *step) string {
	var parts []string
	for ; s != nil; s = s.from {
		name := s.key
		if n := g.nodes[s.key]; n != nil {
			name = n.name
		}
		switch {
		case s.from == nil:
		case s.pointer:
			name = " ~> " + name
		default:
			name = " -> " + name
		}
		parts = append(parts, name)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}
