package initial

import (
	"debug/dwarf"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

type cgoFile struct {
	path      string
	file      *ast.File
	build     constraint.Expr
	preambles []cgoPreamble
}

// cgoPreamble is the comment above one import "C", without #cgo lines.
type cgoPreamble struct {
	text string
	at   token.Position
}

type cgoCall struct {
	name  string
	at    token.Position
	args  []ast.Expr
	errno bool // the call is r, err := C.f()
}

// cgoOwn are names that cgo adds to those of C.
var cgoOwn = map[string]bool{
	"CString": true, "CBytes": true, "GoString": true, "GoStringN": true, "GoBytes": true, "malloc": true, "free": true,
}

func readCgo(path string, fset *token.FileSet, f *ast.File) *cgoFile {
	c := &cgoFile{path: path, file: f}
	c.build, _, _ = declfile.BuildConstraint(f)
	for s, doc := range declfile.Imports(f) {
		if s.Path.Value == `"C"` && doc != nil {
			text, at := declfile.ReadPreamble(fset, doc)
			c.preambles = append(c.preambles, cgoPreamble{declfile.WithoutCgoLines(text), at})
		}
	}
	return c
}

// preamblesOf joins preambles, each text once. cgo includes stddef.h in each.
func preamblesOf(files []*cgoFile) (forC, forGo string) {
	forC = "#include <stddef.h>\n"
	seen := map[string]bool{}
	for _, f := range files {
		for _, p := range f.preambles {
			body := strings.Trim(p.text, "\n")
			if seen[body] {
				continue
			}
			seen[body] = true
			forC += fmt.Sprintf("#line %d %s\n%s\n", p.at.Line, strconv.Quote(filepath.Base(f.path)), p.text)
			forGo += strings.TrimRight(body, " \t\n") + "\n"
		}
	}
	return forC, strings.TrimLeft(forGo, "\n")
}

func platformTags(base string) []string {
	var tags []string
	parts := strings.Split(strings.TrimSuffix(base, ".go"), "_")
	for i := len(parts) - 1; i > 0 && len(tags) < 2 && declfile.NamesPlatform("x_"+parts[i]+".go"); i-- {
		tags = append(tags, parts[i])
	}
	slices.Reverse(tags)
	return tags
}

// calls returns the expressions C.f(...), conversions to types of C among them.
func (in *initializer) calls() []*cgoCall {
	var list []*cgoCall
	for _, f := range in.files {
		errno := map[ast.Expr]bool{}
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if len(n.Lhs) == 2 && len(n.Rhs) == 1 {
					errno[ast.Unparen(n.Rhs[0])] = true
				}
			case *ast.CallExpr:
				if name, ok := declfile.PlainC(ast.Unparen(n.Fun)); ok && !cgoOwn[name] {
					at := in.pkg.Fset.PositionFor(n.Pos(), false)
					list = append(list, &cgoCall{name, at, n.Args, errno[n]})
				}
			}
			return true
		})
	}
	return list
}

// bare returns e without its conversions. cast: one was unsafe.Pointer, which forgets the type.
func (g *guesser) bare(e ast.Expr) (bare ast.Expr, cast bool) {
	for {
		e = ast.Unparen(e)
		call, ok := e.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return e, cast
		}
		fun := ast.Unparen(call.Fun)
		text := declfile.ExprText(fun)
		name, isC := declfile.PlainC(fun)
		_, isPointer := fun.(*ast.StarExpr)
		_, isNumber := declfile.Numbers[text]
		if isC && (cgoOwn[name] || g.functions[name]) || !isC && !isPointer && !isNumber && text != "unsafe.Pointer" {
			return e, cast
		}
		e, cast = call.Args[0], cast || text == "unsafe.Pointer"
	}
}

// first returns x if e is the address of its first element, as in &x[0] or unsafe.SliceData(x).
func (g *guesser) first(e ast.Expr) (x ast.Expr, cast bool) {
	e, cast = g.bare(e)
	switch e := e.(type) {
	case *ast.UnaryExpr:
		i, ok := ast.Unparen(e.X).(*ast.IndexExpr)
		if ok && e.Op == token.AND && declfile.ExprText(i.Index) == "0" {
			return i.X, cast
		}
	case *ast.CallExpr:
		if declfile.ExprText(e.Fun) == "unsafe.SliceData" && len(e.Args) == 1 {
			return e.Args[0], cast
		}
	}
	return nil, cast
}

func (g *guesser) isLength(n, x ast.Expr) bool {
	n, _ = g.bare(n)
	return declfile.ExprText(n) == "len("+declfile.ExprText(x)+")"
}

func (u *guess) isNil(i int) bool {
	return !slices.ContainsFunc(u.calls, func(c *cgoCall) bool { return declfile.ExprText(c.args[i]) != "nil" })
}

// length returns which argument is the length of argument i. With a wrong length C writes beyond
// Go's memory, so each call has to pass x and len(x), and no variable is followed.
func (g *guesser) length(u *guess, i int, ptr *dwarf.PtrType) (j int, ok bool) {
	if u.isNil(i) {
		return 0, false
	}
	for j := range u.params {
		other := func(c *cgoCall) bool {
			x, cast := g.first(c.args[i])
			return declfile.ExprText(c.args[i]) != "nil" &&
				(x == nil || cast && !g.sameSize(x, ptr) || !g.isLength(c.args[j], x))
		}
		if g.canCount(u.params[j]) && !slices.ContainsFunc(u.calls, other) {
			return j, true
		}
	}
	return 0, false
}

func (g *guesser) canCount(c dwarf.Type) bool {
	n, ok := g.facts.Number(c)
	return ok && n.Class != declfile.Float && n.Enum == nil && n.Size >= 4
}

// sameSize reports whether the elements of x are numbers of the size of what ptr points to.
func (g *guesser) sameSize(x ast.Expr, ptr *dwarf.PtrType) bool {
	want := int64(1)
	if !cc.IsVoid(ptr.Type) {
		want = cc.Bare(ptr.Type).Size()
	}
	of := under(g.info.TypeOf(x))
	if p, ok := of.(*types.Pointer); ok {
		of = under(p.Elem())
	}
	var elem types.Type
	switch of := of.(type) {
	case *types.Slice:
		elem = of.Elem()
	case *types.Array:
		elem = of.Elem()
	}
	b, ok := under(elem).(*types.Basic)
	return ok && b.Info()&(types.IsNumeric|types.IsBoolean) != 0 && types.SizesFor("gc", "amd64").Sizeof(b) == want
}

func under(of types.Type) types.Type {
	if of == nil {
		return nil
	}
	return of.Underlying()
}

// nameOf returns the name of the variable in an argument.
func (g *guesser) nameOf(e ast.Expr) string {
	if x, _ := g.first(e); x != nil {
		e = x
	}
	e, _ = g.bare(e)
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		e = ast.Unparen(u.X)
	}
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if _, ok := declfile.PlainC(e); !ok {
			return e.Sel.Name
		}
	}
	return ""
}
