package reach

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// Search is what to look into for calls that a leaf function must not make.
type Search struct {
	Toolchain *cc.Toolchain
	Package   *cc.Package
	Decl      *decl.File
	Source    string // C: the preamble and the shims
	Shim      string // the name of a function in it
}

// Kind is what a function gets to.
type Kind int

// The kinds, the gravest first.
const (
	IntoGo  Kind = iota // a function of Go
	Jumps               // a longjmp, and no setjmp
	Blocks              // a call that may block
	Library             // a function of a linked library
)

// Finding is what a declared function gets to.
type Finding struct {
	Func    *decl.Func
	Kind    Kind
	Sure    bool     // by calls of functions by their names; else a pointer may lead there
	Symbols []string // the most telling ones first
	Ways    []string // to the first of them
	Library string   // for that kind, its file
}

// Report is what a search found.
type Report struct {
	Findings []Finding
	Unseen   []string // what could not be looked into, with places
	at       string
}

// Run looks into the preamble, the package's own C and assembly files, and the symbols of the
// libraries that it links.
func (s *Search) Run(ctx context.Context) *Report {
	r := &Report{at: fmt.Sprintf("%s:%d", s.Decl.Path, s.Decl.PreambleAt.Line)}
	unseen := func(format string, args ...any) {
		r.Unseen = append(r.Unseen, r.at+": warning: "+fmt.Sprintf(format, args...))
	}
	o := &outside{
		exports: exports(s.Package), libraries: libraries(ctx, s.Toolchain, s.Package),
		known: cLibrary(ctx, s.Toolchain), weak: map[string]bool{},
	}
	graph := &Graph{noteworthy: o.noteworthy, taken: maps.Clone(o.exports), weak: o.weak}
	look := func(what, stdin string, args ...string) {
		text, err := s.Toolchain.Assembly(ctx, stdin, args...)
		if err != nil {
			unseen("cannot look into %s for calls that block: %s", what, cc.FirstLine(err.Error()))
			return
		}
		graph.Add(text)
	}
	look("the preamble", s.Source, "-x", "c", "-")
	if graph.nodes != nil && graph.nodes[s.Shim] == nil { // Mach-O's assembly has other marks
		unseen("the C compiler writes assembly that is not for ELF: run fastcgen on Linux to see what may block")
		return r
	}
	for _, name := range s.Package.CFiles {
		look(name, "", name)
	}
	for _, name := range s.Package.SFiles {
		look(name, "", "-E", "-x", "assembler-with-cpp", name)
	}
	for _, f := range s.Decl.Funcs {
		r.Findings = append(r.Findings, graph.findings(f, o)...)
	}
	return r
}

// outside is what the graph does not have.
type outside struct {
	exports   map[string]bool // functions of Go, by their names in C
	libraries []library
	known     map[string]bool // functions of the C library; nil: not to be read here
	weak      map[string]bool // functions that code does without
}

// unread stands for the library of a function that is in none of those that were read.
const unread = "the code outside of this package and its libraries"

// library returns the file that has a function, and nothing for one of C's own.
func (o *outside) library(symbol string) string {
	for _, l := range o.libraries {
		if l.exports[symbol] {
			return l.name
		}
	}
	if o.known == nil || o.known[symbol] || o.weak[symbol] || symbol[0] == '_' { // the compiler's own begin so
		return ""
	}
	return unread
}

// kind returns what a function outside is; ok is false for one that a leaf may call.
func (o *outside) kind(symbol string) (k Kind, ok bool) {
	name, library := libcName(symbol), o.library(symbol)
	switch {
	case isCallback(symbol) || o.exports[symbol]:
		return IntoGo, true
	case library != "" && library != unread:
		return Library, true
	case slices.Contains(jumps, name):
		return Jumps, true
	case slices.Contains(blockingCalls, name):
		return Blocks, true
	}
	return Library, library != ""
}

// noteworthy reports whether the address of a function outside is worth following.
func (o *outside) noteworthy(symbol string) bool {
	k, ok := o.kind(symbol)
	return ok && (k != Library || o.library(symbol) != unread) // a name may be a register's too
}

// findings says what a function gets to, one finding a kind, and one a library. Ways that hang on a
// pointer are left out where there is another one of that kind.
func (g *Graph) findings(f *decl.Func, o *outside) []Finding {
	type which struct {
		Kind
		library string
	}
	found := map[which][]*step{}
	lands := false
	for _, s := range g.reach(f.Call.CName) {
		lands = lands || s.sure && slices.Contains(landings, libcName(s.key))
		if k, ok := o.kind(s.key); ok {
			w := which{Kind: k}
			if k == Library {
				w.library = o.library(s.key)
			}
			found[w] = append(found[w], s)
		}
	}
	var list []Finding
	for w, steps := range found {
		if w.Kind == Jumps && lands {
			continue
		}
		one := Finding{Func: f, Kind: w.Kind, Library: w.library}
		if sure := slices.DeleteFunc(slices.Clone(steps), func(s *step) bool { return !s.sure }); len(sure) > 0 {
			steps, one.Sure = sure, true
		}
		shown := steps[:1]
		if w.Kind == Blocks {
			shown = telling(steps)
		}
		for _, s := range shown {
			one.Ways = append(one.Ways, g.way(s))
		}
		for _, s := range append(slices.Clone(shown), steps...) {
			if name := libcName(s.key); !slices.Contains(one.Symbols, name) {
				one.Symbols = append(one.Symbols, name)
			}
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Library, b.Library))
	})
	return list
}

// telling returns the step of each kind of blocking calls that says most.
func telling(found []*step) []*step {
	var list []*step
	for _, k := range blockingKinds {
		best := -1
		for i, s := range found {
			if r := rank(k.calls, s); r >= 0 && (best < 0 || r < rank(k.calls, found[best])) {
				best = i
			}
		}
		if best >= 0 {
			list = append(list, found[best])
		}
	}
	return list
}

// rank returns the place of a step's symbol in a list, negative where it is not in it.
func rank(calls []string, s *step) int { return slices.Index(calls, libcName(s.key)) }

// String says what the function gets to, without a place or advice.
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
	return name + may + symbols + by + ", of " + f.Library
}

// Warnings writes a report for standard error: a warning for each function and kind, and one for
// each library.
func (r *Report) Warnings() []string {
	list := slices.Clone(r.Unseen)
	callers, called := map[string][]string{}, map[string][]string{} // by libraries
	for _, f := range r.Findings {
		slow, do := f.Func.AlwaysSlow(), "put //fastc:slow above it"
		switch {
		case slow && (f.Kind >= Blocks || !f.Sure):
			continue
		case f.Kind == Library:
			callers[f.Library] = append(callers[f.Library], f.Func.Name)
			called[f.Library] = append(called[f.Library], f.Symbols...)
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
		list = append(list, fmt.Sprintf("%s: warning: %s; %s\n\t%s", f.Func.Call.At, f, do,
			strings.Join(f.Ways, "\n\t")))
	}
	for _, l := range slices.Sorted(maps.Keys(callers)) {
		slices.Sort(called[l])
		list = append(list, fmt.Sprintf("%s: warning: fastcgen cannot look into %s of %s, reached by %s; "+
			"put //fastc:slow above what may wait, take long or call back into Go",
			r.at, Some(slices.Compact(called[l])), l, Some(callers[l])))
	}
	return list
}
