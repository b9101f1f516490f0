package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// withoutLandings leaves out the ways to landings and, where one is sure, to jumps.
func withoutLandings(found []*step) []*step {
	to := func(names []string) func(*step) bool {
		return func(s *step) bool { return slices.Contains(names, libcName(s.key)) }
	}
	lands := slices.ContainsFunc(found, func(s *step) bool { return s.sure && to(landings)(s) })
	return slices.DeleteFunc(found, func(s *step) bool { return to(landings)(s) || lands && to(jumps)(s) })
}

// search is what to look into for calls that a leaf function must not make.
type search struct {
	tc     *toolchain
	pkg    *goPackage
	d      *declaration
	source string // C: the preamble and the shims
	shim   string // the name of a function in it
}

// warnings says which declared functions get to calls that leaf functions must not make: in the preamble and
// in the package's own C files by a graph of calls, in libraries by what they import.
func (s *search) warnings(ctx context.Context) []string {
	d := s.d
	if !slices.ContainsFunc(d.funcs, func(f *funcDecl) bool { return !f.alwaysSlow() }) {
		return nil
	}
	at := fmt.Sprintf("%s:%d", d.path, d.preambleAt.Line)
	var list []string
	graph := &callGraph{}
	look := func(what, stdin string, args ...string) {
		text, err := s.tc.assembly(ctx, stdin, args...)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: warning: cannot look into %s for calls that block: %s", at, what, firstLine(err.Error())))
			return
		}
		graph.add(text)
	}
	look("the preamble", s.source, "-x", "c", "-")
	if graph.nodes != nil && graph.nodes[s.shim] == nil { // Mach-O's assembly has other marks
		return append(list, at+": warning: the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
	}
	for _, name := range s.pkg.cFiles {
		look(name, "", name)
	}
	graph.lead(exports(s.pkg))
	libraries := libraries(ctx, s.tc, s.pkg)
	said := map[string]bool{}
	for _, f := range d.funcs {
		if f.alwaysSlow() || said[f.call.cName] {
			continue
		}
		said[f.call.cName] = true
		found := withoutLandings(graph.reach(root(graph, f), looked))
		if len(found) > 0 {
			list = append(list, fmt.Sprintf("%s: warning: %s", f.call.at, graph.sentence(f.call.cName, found)))
		}
		for _, l := range libraries {
			if what := l.blocking(f.call.cName); what != "" {
				list = append(list, fmt.Sprintf("%s: warning: %s is in %s: whether it gets there cannot be seen; put //fastc:slow above %s unless you know",
					f.call.at, f.call.cName, what, f.name))
			}
		}
	}
	return list
}

// root returns the node of the C function that f calls: a static one of the preamble, which is the first
// file, or a global one.
func root(graph *callGraph, f *funcDecl) string {
	if key := f.call.cName + "#1"; graph.nodes[key] != nil {
		return key
	}
	return f.call.cName
}

// sentence says what the ways lead to, and shows the most telling one of each kind. Those that hang on a
// pointer that may be anything are left out where there is another.
func (g *callGraph) sentence(cName string, found []*step) string {
	if sure := slices.DeleteFunc(slices.Clone(found), func(s *step) bool { return !s.sure }); len(sure) > 0 {
		found = sure
	}
	shown := telling(found)
	what := "which may block: a leaf function must not; put //fastc:slow above it"
	switch {
	case isCallback(shown[0].key):
		what = "which leads into Go: a leaf function that gets there ends the process; use ordinary cgo for it"
	case slices.Contains(jumps, libcName(shown[0].key)):
		what = "and to no setjmp: a jump over the frames of Go ends the process, by cgo too; " +
			"wrap it in a static inline function in the preamble that calls setjmp"
	}
	var names, others, ways []string
	for _, s := range shown {
		names = append(names, libcName(s.key))
		ways = append(ways, "\n\t"+g.path(s))
	}
	for _, s := range found {
		if !slices.Contains(names, libcName(s.key)) {
			others = append(others, libcName(s.key))
		}
	}
	more := ""
	if len(others) > 0 {
		more = " (and to " + some(others) + ")"
	}
	return fmt.Sprintf("%s gets to %s%s, %s%s", cName, strings.Join(names, " and "), more, what, strings.Join(ways, ""))
}

// telling returns the step of each kind that says most, a way into Go first, then a jump.
func telling(found []*step) []*step {
	var list []*step
	for _, ends := range []func(symbol string) bool{isCallback, func(s string) bool { return slices.Contains(jumps, libcName(s)) }} {
		if i := slices.IndexFunc(found, func(s *step) bool { return ends(s.key) }); i >= 0 && len(list) == 0 {
			list = append(list, found[i])
		}
	}
	for _, k := range blockingKinds {
		best := -1
		for i, s := range found {
			if rank(k.calls, s) < len(k.calls) && (best < 0 || rank(k.calls, s) < rank(k.calls, found[best])) {
				best = i
			}
		}
		if best >= 0 {
			list = append(list, found[best])
		}
	}
	return list
}

// rank returns the place of a step's symbol in a list, and the list's length where it is not in it.
func rank(calls []string, s *step) int {
	if i := slices.Index(calls, libcName(s.key)); i >= 0 {
		return i
	}
	return len(calls)
}
