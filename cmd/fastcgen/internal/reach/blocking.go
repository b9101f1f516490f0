package reach

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// withoutLandings leaves out the ways to landings and, where one is sure, to jumps.
func withoutLandings(found []*step) []*step {
	to := func(names []string) func(*step) bool {
		return func(s *step) bool { return slices.Contains(names, libcName(s.key)) }
	}
	lands := slices.ContainsFunc(found, func(s *step) bool { return s.sure && to(landings)(s) })
	return slices.DeleteFunc(found, func(s *step) bool { return to(landings)(s) || lands && to(jumps)(s) })
}

// Search is what to look into for calls that a leaf function must not make.
type Search struct {
	Toolchain *cc.Toolchain
	Package   *cc.Package
	Decl      *decl.File
	Source    string // C: the preamble and the shims
	Shim      string // the name of a function in it
}

// Warnings says which declared functions get to calls that leaf functions must not make: in the preamble and
// in the package's own C files by a graph of calls, in libraries by what they import.
func (s *Search) Warnings(ctx context.Context) []string {
	d := s.Decl
	if !slices.ContainsFunc(d.Funcs, func(f *decl.Func) bool { return !f.AlwaysSlow() }) {
		return nil
	}
	at := fmt.Sprintf("%s:%d", d.Path, d.PreambleAt.Line)
	var list []string
	graph := &callGraph{}
	look := func(what, stdin string, args ...string) {
		text, err := s.Toolchain.Assembly(ctx, stdin, args...)
		if err != nil {
			list = append(list, fmt.Sprintf("%s: warning: cannot look into %s for calls that block: %s", at, what, cc.FirstLine(err.Error())))
			return
		}
		graph.add(text)
	}
	look("the preamble", s.Source, "-x", "c", "-")
	if graph.nodes != nil && graph.nodes[s.Shim] == nil { // Mach-O's assembly has other marks
		return append(list, at+": warning: the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
	}
	for _, name := range s.Package.CFiles {
		look(name, "", name)
	}
	graph.lead(exports(s.Package))
	libraries := libraries(ctx, s.Toolchain, s.Package)
	said := map[string]bool{}
	for _, f := range d.Funcs {
		if f.AlwaysSlow() || said[f.Call.CName] {
			continue
		}
		said[f.Call.CName] = true
		found := withoutLandings(graph.reach(root(graph, f), looked))
		if len(found) > 0 {
			list = append(list, fmt.Sprintf("%s: warning: %s", f.Call.At, graph.sentence(f.Call.CName, found)))
		}
		for _, l := range libraries {
			if what := l.blocking(f.Call.CName); what != "" {
				list = append(list, fmt.Sprintf("%s: warning: %s is in %s: whether it gets there cannot be seen; put //fastc:slow above %s unless you know",
					f.Call.At, f.Call.CName, what, f.Name))
			}
		}
	}
	return list
}

// root returns the node of the C function that f calls: a static one of the preamble, which is the first
// file, or a global one.
func root(graph *callGraph, f *decl.Func) string {
	if key := f.Call.CName + "#1"; graph.nodes[key] != nil {
		return key
	}
	return f.Call.CName
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
	case IsCallback(shown[0].key):
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
		more = " (and to " + Some(others) + ")"
	}
	return fmt.Sprintf("%s gets to %s%s, %s%s", cName, strings.Join(names, " and "), more, what, strings.Join(ways, ""))
}

// telling returns the step of each kind that says most, a way into Go first, then a jump.
func telling(found []*step) []*step {
	var list []*step
	for _, ends := range []func(symbol string) bool{IsCallback, func(s string) bool { return slices.Contains(jumps, libcName(s)) }} {
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
