// Package decl reads declaration files, the first stage of fastcgen.
//
// A [File] is what its author wrote, each thing with its place. Nothing here knows C. A [GoType] is
// syntax, which package match resolves.
package decl

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
	DeclarationTag = "fastcgen"
	GeneratedTag   = "cgo"
)

// File is a parsed declaration file.
type File struct {
	Path       string // as it was named
	Build      constraint.Expr
	Doc        []string // lines of the package comment, with their //
	Pkg        string
	PkgAt      token.Position
	Preamble   string // the comment above import "C", without its marks, #cgo lines included
	PreambleAt token.Position
	Types      []*Type
	Consts     []Const
	Funcs      []*Func
}

// Const is a const declaration, copied.
type Const struct {
	Text  string         // from its comment to its end
	At    token.Position // of text
	names []Name
	Uses  []Name // constants of C
	Typed []TypedConst
}

// TypedConst is a constant of C that a const declaration gives a type.
type TypedConst struct {
	GoType string
	Name
}

// Name is an identifier and its place.
type Name struct {
	Text string
	At   token.Position
}

// Func is a function with its directives.
type Func struct {
	Name     string
	At       token.Position
	Doc      []string
	Params   []Param
	Results  []Param // without the error; unnamed ones have no name
	HasError bool
	ErrName  string
	Named    bool // the results have names

	Call     Call
	Requires []Condition
	Slow     *Condition // nil: never; empty text: always
	Yields   *Condition // the same, before the call
	Fails    *Condition // an expression of C
	Budget   *Budget
	Copies   bool                 // C's string result is copied
	Inouts   map[string]Arg       // what results begin as, by their names
	Writes   map[string]Condition // how many elements C writes to a result at most, constants of C
	atOf     []Clause             // where both stand
	given    map[string]bool      // directives seen
}

// Clause is a directive about one result.
type Clause struct {
	word, result string
	at           token.Position
}

// Param is a parameter or a result.
type Param struct {
	Name string
	Typ  *GoType
	At   token.Position
}

// Call is: //fastc:call v_dot(a, b, len(a)).
type Call struct {
	CName string
	Args  []Arg
	At    token.Position
}

// Condition is an expression in a directive.
type Condition struct {
	Text string
	At   token.Position
	Uses []Name // constants of C
}

// Budget is: //fastc:budget 300us.
type Budget struct {
	Limit time.Duration // 0: the default
}

// ArgKind says what an argument of the C call is.
type ArgKind int

const (
	ArgParam  ArgKind = iota // a
	ArgLen                   // len(a)
	ArgCap                   // cap(a)
	ArgResult                // &q
	ArgInt                   // 16, -1
	ArgFloat                 // 0.5
	ArgBool                  // true
	ArgNil                   // nil
	ArgC                     // C.V_FAST
)

// Arg is an argument of the C call.
type Arg struct {
	Kind ArgKind
	Text string // the name of the parameter, result or constant, or the literal
	At   token.Position
}

func (a Arg) String() string {
	switch a.Kind {
	case ArgLen:
		return "len(" + a.Text + ")"
	case ArgCap:
		return "cap(" + a.Text + ")"
	case ArgResult:
		return "&" + a.Text
	case ArgC:
		return "C." + a.Text
	}
	return a.Text
}

func (f *Func) passes(name string) bool {
	for _, a := range f.Call.Args {
		if a.Kind != ArgResult && a.Text == name {
			return true
		}
	}
	for _, a := range f.Inouts {
		if a.Text == name {
			return true
		}
	}
	return false
}

// Param returns the parameter of that name, nil when there is none.
func (f *Func) Param(name string) *Param {
	for i := range f.Params {
		if f.Params[i].Name == name {
			return &f.Params[i]
		}
	}
	return nil
}

// Result returns the result of that name; it is nothing when there is none.
func (f *Func) Result(name string) Param {
	for _, r := range f.Results {
		if r.Name == name {
			return r
		}
	}
	return Param{}
}

func (f *Func) out(name string) bool {
	for _, a := range f.Call.Args {
		if a.Kind == ArgResult && a.Text == name && name != "" {
			return true
		}
	}
	return false
}

// Conditions returns what is said of the function as expressions of Go.
func (f *Func) Conditions() []Condition {
	list := slices.Clone(f.Requires)
	for _, c := range []*Condition{f.Slow, f.Yields} {
		if c != nil && c.Text != "" {
			list = append(list, *c)
		}
	}
	return list
}

// AlwaysSlow reports whether the function never takes the fast way.
func (f *Func) AlwaysSlow() bool { return f.Slow != nil && f.Slow.Text == "" }

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

// Declared returns the names that the generated file will declare.
func (d *File) Declared() []Name {
	var names []Name
	for _, t := range d.Types {
		names = append(names, Name{t.Name, t.At})
	}
	for _, c := range d.Consts {
		for _, n := range c.names {
			if n.Text != "_" {
				names = append(names, n)
			}
		}
	}
	for _, f := range d.Funcs {
		names = append(names, Name{f.Name, f.At})
		if f.Budget != nil {
			names = append(names, Name{f.SiteName(), f.At})
		}
	}
	return names
}

// SiteName returns the name of the variable that holds the function's fastc.Site.
func (f *Func) SiteName() string { return f.Name + "Site" }

// NameTaken reports whether a parameter or result has that name.
func (f *Func) NameTaken(name string) bool {
	for _, r := range f.Results {
		if r.Name == name {
			return true
		}
	}
	return f.Param(name) != nil || f.ErrName == name
}
