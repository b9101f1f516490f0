package main

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"slices"
	"strings"
	"time"
)

// The tag that keeps a declaration file from being compiled, and the one that the generated
// file carries in its place.
const (
	declarationTag = "fastcgen"
	generatedTag   = "cgo"
)

// declaration is a parsed declaration file.
type declaration struct {
	path       string // as it was named
	build      constraint.Expr
	doc        []string // lines of the package comment, with their //
	pkg        string
	pkgAt      token.Position
	preamble   string // the comment above import "C", without its marks, #cgo lines included
	preambleAt token.Position
	types      []*typeDecl
	consts     []constDecl
	funcs      []*funcDecl
}

// constDecl is a const declaration, copied.
type constDecl struct {
	text  string         // from its comment to its end
	at    token.Position // of text
	names []name
	uses  []name // constants of C
	typed []typedConst
}

// typedConst is a constant of C that a const declaration gives a type.
type typedConst struct {
	goType string
	name
}

// name is an identifier and its place.
type name struct {
	text string
	at   token.Position
}

// funcDecl is a function with its directives.
type funcDecl struct {
	name     string
	at       token.Position
	doc      []string
	params   []param
	results  []param // without the error; unnamed ones have no name
	hasError bool
	errName  string
	named    bool // the results have names

	call     callDirective
	requires []condition
	slow     *condition // nil: never; empty text: always
	yields   *condition // the same, before the call
	fails    *condition // an expression of C
	budget   *budget
	copies   bool                 // C's string result is copied
	inouts   map[string]callArg   // what results begin as, by their names
	writes   map[string]condition // how many elements C writes to a result at most, constants of C
	atOf     []resultClause       // where both stand
	given    map[string]bool      // directives seen
}

// resultClause is a directive about one result.
type resultClause struct {
	word, result string
	at           token.Position
}

type param struct {
	name string
	typ  *goType
	at   token.Position
}

// callDirective is: //fastc:call v_dot(a, b, len(a)).
type callDirective struct {
	cName string
	args  []callArg
	at    token.Position
}

// condition is an expression in a directive.
type condition struct {
	text string
	at   token.Position
	uses []name // constants of C
}

// budget is: //fastc:budget 300us.
type budget struct {
	limit time.Duration // 0: the default
}

// argKind says what an argument of the C call is.
type argKind int

const (
	argParam  argKind = iota // a
	argLen                   // len(a)
	argCap                   // cap(a)
	argResult                // &q
	argInt                   // 16, -1
	argFloat                 // 0.5
	argBool                  // true
	argNil                   // nil
	argC                     // C.V_FAST
)

// callArg is an argument of the C call.
type callArg struct {
	kind argKind
	text string // the name of the parameter, result or constant, or the literal
	at   token.Position
}

func (a callArg) String() string {
	switch a.kind {
	case argLen:
		return "len(" + a.text + ")"
	case argCap:
		return "cap(" + a.text + ")"
	case argResult:
		return "&" + a.text
	case argC:
		return "C." + a.text
	}
	return a.text
}

// passes reports whether C gets the parameter of that name.
func (f *funcDecl) passes(name string) bool {
	for _, a := range f.call.args {
		if a.kind != argResult && a.text == name {
			return true
		}
	}
	for _, a := range f.inouts {
		if a.text == name {
			return true
		}
	}
	return false
}

// param returns the parameter of that name, nil when there is none.
func (f *funcDecl) param(name string) *param {
	for i := range f.params {
		if f.params[i].name == name {
			return &f.params[i]
		}
	}
	return nil
}

// result returns the result of that name; it is nothing when there is none.
func (f *funcDecl) result(name string) param {
	for _, r := range f.results {
		if r.name == name {
			return r
		}
	}
	return param{}
}

// out reports whether the result of that name is an out parameter of the C call.
func (f *funcDecl) out(name string) bool {
	for _, a := range f.call.args {
		if a.kind == argResult && a.text == name && name != "" {
			return true
		}
	}
	return false
}

// conditions returns what is said of the function as expressions of Go.
func (f *funcDecl) conditions() []condition {
	list := slices.Clone(f.requires)
	for _, c := range []*condition{f.slow, f.yields} {
		if c != nil && c.text != "" {
			list = append(list, *c)
		}
	}
	return list
}

// alwaysSlow reports whether the function never takes the fast way.
func (f *funcDecl) alwaysSlow() bool { return f.slow != nil && f.slow.text == "" }

// commentLines returns the lines of a doc comment without directives.
func commentLines(g *ast.CommentGroup) []string {
	if g == nil {
		return nil
	}
	text := strings.TrimRight(g.Text(), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("// "+strings.ReplaceAll(l, "\r", ""), " \t")
	}
	return lines
}

// declared returns the names that the generated file will declare.
func (d *declaration) declared() []name {
	var names []name
	for _, t := range d.types {
		names = append(names, name{t.name, t.at})
	}
	for _, c := range d.consts {
		for _, n := range c.names {
			if n.text != "_" {
				names = append(names, n)
			}
		}
	}
	for _, f := range d.funcs {
		names = append(names, name{f.name, f.at})
		if f.budget != nil {
			names = append(names, name{f.siteName(), f.at})
		}
	}
	return names
}

// siteName returns the name of the variable that holds the function's fastc.Site.
func (f *funcDecl) siteName() string { return f.name + "Site" }

// nameTaken reports whether a parameter or result has that name.
func (f *funcDecl) nameTaken(name string) bool {
	for _, r := range f.results {
		if r.name == name {
			return true
		}
	}
	return f.param(name) != nil || f.errName == name
}
