// Package decl reads declaration files, the first stage of fastcgen. A [File] is what its author
// wrote, each thing with its place. A [GoType] is syntax, which package match resolves with C.
package decl

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/token"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// The tags of a declaration file and of the generated file.
const (
	DeclarationTag = "fastcgen"
	GeneratedTag   = "cgo"
)

type File struct {
	Path       string
	Build      constraint.Expr
	Doc        []string
	Pkg        string
	PkgAt      token.Position
	Preamble   string // the comment above import "C", with its #cgo lines
	PreambleAt token.Position
	Types      []*Type
	Consts     []Const
	Funcs      []*Func
}

type Const struct {
	Text  string
	At    token.Position
	names []Name
	Uses  []Name
	Typed []TypedConst
}

// TypedConst is a constant of C that a const declaration gives a type.
type TypedConst struct {
	GoType string
	Name
}

type Name struct {
	Text string
	At   token.Position
}

type Func struct {
	Name     string
	At       token.Position
	Doc      []string
	Params   []Param
	Results  []Param // without the error
	HasError bool
	ErrName  string
	Named    bool // the results have names

	Call     Call
	Requires []Condition
	Slow     *Condition
	Yields   *Condition // as Slow, before the call
	Fails    *Condition
	Budget   *Budget
	Copies   bool
	Inouts   map[string]Arg       // what results begin as
	Writes   map[string]Condition // the most elements that C writes
	atOf     []Clause
	given    map[string]bool
}

type Clause struct {
	word, result string
	at           token.Position
}

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

type Condition struct {
	Text string
	At   token.Position
	Uses []Name
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

type Arg struct {
	Kind ArgKind
	Text string // a name or the literal
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
	values := slices.AppendSeq(slices.Clone(f.Call.Args), maps.Values(f.Inouts))
	return slices.ContainsFunc(values, func(a Arg) bool { return a.Kind != ArgResult && a.Text == name })
}

// Param returns the parameter of that name, or nil.
func (f *Func) Param(name string) *Param {
	for i := range f.Params {
		if f.Params[i].Name == name {
			return &f.Params[i]
		}
	}
	return nil
}

// Result returns the result of that name, or an empty one.
func (f *Func) Result(name string) Param {
	for _, r := range f.Results {
		if r.Name == name {
			return r
		}
	}
	return Param{}
}

func (f *Func) out(name string) bool {
	return name != "" && slices.ContainsFunc(f.Call.Args, func(a Arg) bool {
		return a.Kind == ArgResult && a.Text == name
	})
}

// Conditions returns the directives that are expressions of Go.
func (f *Func) Conditions() []Condition {
	list := slices.Clone(f.Requires)
	for _, c := range []*Condition{f.Slow, f.Yields} {
		if c != nil && c.Text != "" {
			list = append(list, *c)
		}
	}
	return list
}

func (f *Func) AlwaysSlow() bool { return f.Slow != nil && f.Slow.Text == "" }

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

// Declared returns the names that the generated file declares.
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

func (f *Func) SiteName() string { return f.Name + "Site" }

// NameTaken reports whether a parameter or result has that name.
func (f *Func) NameTaken(name string) bool {
	return f.Param(name) != nil || f.ErrName == name ||
		slices.ContainsFunc(f.Results, func(r Param) bool { return r.Name == name })
}

// BuildConstraint returns the //go:build line of a file, or nil.
func BuildConstraint(f *ast.File) (constraint.Expr, token.Pos, error) {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				x, err := constraint.Parse(c.Text)
				return x, c.Pos(), err
			}
		}
	}
	return nil, token.NoPos, nil
}

func IsDeclaration(f *ast.File) bool {
	x, _, err := BuildConstraint(f)
	return err == nil && asks(x)
}

// Terms returns the constraints that && joins in x.
func Terms(x constraint.Expr) []constraint.Expr {
	if and, ok := x.(*constraint.AndExpr); ok {
		return append(Terms(and.X), Terms(and.Y)...)
	}
	if x == nil {
		return nil
	}
	return []constraint.Expr{x}
}

func asks(x constraint.Expr) bool {
	return slices.ContainsFunc(Terms(x), func(t constraint.Expr) bool { return t.String() == DeclarationTag })
}

// TermText writes a term to be joined by &&.
func TermText(x constraint.Expr) string {
	if _, ok := x.(*constraint.OrExpr); ok {
		return "(" + x.String() + ")"
	}
	return x.String()
}

// BuildLine replaces the declaration's tag by the generated file's.
func BuildLine(x constraint.Expr) string {
	var list []string
	for _, t := range Terms(x) {
		text := TermText(t)
		if text == DeclarationTag {
			text = GeneratedTag
		}
		list = append(list, text)
	}
	return strings.Join(list, " && ")
}

// UserTags returns the tags that go build gets with -tags, as in fastcgen && libdeflate.
func UserTags(x constraint.Expr) []string {
	var tags []string
	for _, t := range Terms(x) {
		tag, ok := t.(*constraint.TagExpr)
		if ok && !slices.Contains([]string{"unix", "cgo", "gc", "gccgo"}, tag.Tag) &&
			!strings.HasPrefix(tag.Tag, "go1.") && !NamesPlatform("x_"+tag.Tag+".go") {
			tags = append(tags, tag.Tag)
		}
	}
	return tags
}

// NamesPlatform reports whether the name of a Go file has an operating system or architecture.
func NamesPlatform(base string) bool {
	nowhere := build.Default
	nowhere.GOOS, nowhere.GOARCH = "none", "none"
	nowhere.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}
	match, err := nowhere.MatchFile(".", base)
	return err == nil && !match
}

const outputSuffix = "_fastc.go"

func OutputName(name string) string {
	return strings.TrimSuffix(name, ".go") + outputSuffix
}

// CheckName refuses names that the go command gives a meaning.
func CheckName(base string) error {
	switch {
	case !strings.HasSuffix(base, ".go"):
		return fmt.Errorf("%s: not a Go file: a declaration file's name ends in .go", base)
	case strings.HasSuffix(base, "_test.go"):
		return fmt.Errorf("%s: a test file cannot use cgo: rename it", base)
	case strings.HasSuffix(base, outputSuffix):
		return fmt.Errorf("%s: generated: name the declaration file that it was made from", base)
	case NamesPlatform(base):
		return fmt.Errorf("%s: a platform in the name of the file is lost in that of the generated one: rename it "+
			"and write the platform into its //go:build line", base)
	}
	return nil
}
