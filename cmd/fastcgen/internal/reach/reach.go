// Package reach says which declared functions reach calls that a leaf function must not make.
//
// It reads the assembly that the C compiler writes for the preamble and the package's .c files, and
// lists the undefined symbols that each function reaches:
//
//   - a way back into Go (a function under //export), or a longjmp without a setjmp;
//   - a call of the C library that may block;
//   - any other function outside these files, such as one of a linked library.
//
// A call through a pointer may go to any function whose address some of this code takes, and to any
// function that Go exports. A library function may call anything at all. So no warning is no proof.
package reach

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// Kind is what a function reaches.
type Kind int

// The kinds, the gravest first.
const (
	IntoGo  Kind = iota // a function of Go
	Jumps               // a longjmp, and no setjmp
	Blocks              // a call that may block
	Library             // a function outside the package and the C library
)

// Finding is what a declared function reaches, of one kind.
type Finding struct {
	Func    *decl.Func
	Kind    Kind
	Sure    bool     // by calls of functions by their names; otherwise a pointer may lead there
	Symbols []string // the most telling one first
	Way     string   // to the first of them
}

// Report is what a search found.
type Report struct {
	Findings []Finding
	Unseen   []string // what could not be looked into, with places
	at       string
}

// Search looks into source, which holds the preamble and the shims, and into the package's C files.
// shim is the name of a function in source.
func Search(
	ctx context.Context, tc *cc.Toolchain, pkg *cc.Package, d *decl.File, source, shim string,
) *Report {
	r := &Report{at: fmt.Sprintf("%s:%d", d.Path, d.PreambleAt.Line)}
	unseen := func(format string, args ...any) {
		r.Unseen = append(r.Unseen, r.at+": warning: "+fmt.Sprintf(format, args...))
	}
	o := &outside{exports: exports(pkg), known: cLibrary(ctx, tc), weak: map[string]bool{}}
	g := &graph{nodes: map[string]*node{}, taken: maps.Clone(o.exports), weak: o.weak, found: o.kind}
	look := func(what, stdin string, args ...string) {
		text, err := tc.Assembly(ctx, stdin, args...)
		if err != nil {
			unseen("cannot look into %s for calls that block: %s", what, cc.FirstLine(err.Error()))
			return
		}
		g.add(text)
	}
	look("the preamble", source, "-x", "c", "-")
	if g.units > 0 && g.nodes[shim] == nil { // Mach-O's assembly has other marks
		unseen("the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
		return r
	}
	for _, name := range pkg.CFiles {
		look(name, "", name)
	}
	for _, f := range d.Funcs {
		r.Findings = append(r.Findings, g.findings(f, o)...)
	}
	return r
}

// outside is what the graph does not have.
type outside struct {
	exports map[string]bool // functions of Go, by their names in C
	known   map[string]bool // functions of the C library
	weak    map[string]bool // functions that code does without
}

// kind returns what a function outside is. ok is false if a leaf may call it.
func (o *outside) kind(symbol string) (k Kind, ok bool) {
	name := libcName(symbol)
	switch {
	case isCallback(symbol) || o.exports[symbol]:
		return IntoGo, true
	case slices.Contains(jumps, name):
		return Jumps, true
	case slices.Contains(blockingCalls, name):
		return Blocks, true
	}
	ofCompiler := symbol[0] == '_'
	return Library, len(o.known) > 0 && !o.known[symbol] && !o.weak[symbol] && !ofCompiler
}

// findings says what a function reaches, one finding for each kind. Ways through a pointer are left
// out if there is another way of that kind.
func (g *graph) findings(f *decl.Func, o *outside) []Finding {
	found := [Library + 1][]*step{}
	lands := false
	for _, s := range g.reach(f.Call.CName) {
		if k, ok := o.kind(s.key); ok {
			found[k] = append(found[k], s)
		}
		lands = lands || s.sure && slices.Contains(landings, libcName(s.key))
	}
	if lands {
		found[Jumps] = nil
	}
	var list []Finding
	for k, steps := range found {
		one := Finding{Func: f, Kind: Kind(k), Sure: slices.ContainsFunc(steps, func(s *step) bool { return s.sure })}
		steps = slices.DeleteFunc(steps, func(s *step) bool { return s.sure != one.Sure })
		if len(steps) == 0 {
			continue
		}
		slices.SortStableFunc(steps, func(a, b *step) int { return cmp.Compare(telling(a), telling(b)) })
		one.Way = g.way(steps[0])
		for _, s := range steps {
			if name := libcName(s.key); !slices.Contains(one.Symbols, name) {
				one.Symbols = append(one.Symbols, name)
			}
		}
		list = append(list, one)
	}
	return list
}

// telling ranks a step by what its symbol tells a reader, the most telling first.
func telling(s *step) int { return slices.Index(blockingCalls, libcName(s.key)) }

// String says what the function reaches, without a place or advice.
func (f Finding) String() string {
	name, symbols := f.Func.Call.CName, Some(f.Symbols)
	may, by := " gets to ", ""
	if !f.Sure {
		may, by = " may get to ", " by a pointer"
	}
	switch f.Kind {
	case IntoGo:
		return name + may + "the Go function " + symbols + by
	case Jumps:
		return name + may + symbols + by + ", and to no setjmp"
	case Blocks:
		return name + may + symbols + by + ", which may block"
	}
	return name + may + symbols + by + ", which is outside this package"
}

// Warnings writes a report for standard error: a warning for each function and kind, and one for
// all functions outside the package.
func (r *Report) Warnings() []string {
	list := slices.Clone(r.Unseen)
	var callers, called []string // of libraries
	for _, f := range r.Findings {
		slow, do := f.Func.AlwaysSlow(), "put //fastc:slow above it"
		switch {
		case slow && (f.Kind >= Blocks || !f.Sure):
			continue
		case f.Kind == Library:
			callers, called = append(callers, f.Func.Name), append(called, f.Symbols...)
			continue
		case f.Kind == Jumps:
			do = "a jump over the frames of Go ends the process, by cgo too; " +
				"wrap it in a static inline function in the preamble that calls setjmp"
		case slow:
			list = append(list, fmt.Sprintf("%s: note: %s, by ordinary cgo", f.Func.Call.At, f))
			continue
		case f.Kind == IntoGo:
			do = "a leaf function that calls Go ends the process; " + do
		}
		if f.Kind != Jumps && f.Func.Slow != nil {
			do += ", without a condition"
		}
		if !f.Sure {
			do += ", unless you know that it does not"
		}
		list = append(list, fmt.Sprintf("%s: warning: %s; %s\n\t%s", f.Func.Call.At, f, do, f.Way))
	}
	if len(called) > 0 {
		slices.Sort(called)
		list = append(list, fmt.Sprintf("%s: warning: fastcgen cannot look into %s, outside this package, reached by "+
			"%s; put //fastc:slow above what may wait, take long or call back into Go",
			r.at, Some(slices.Compact(called)), Some(callers)))
	}
	return list
}
