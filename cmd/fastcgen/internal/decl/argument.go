package decl

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
)

// Reserved are the names that generated code uses; a parameter or a declaration of that name
// would hide them.
var Reserved = map[string]bool{
	"C": true, "unsafe": true, "fastc": true, "runtime": true, "errors": true, "syscall": true, "time": true,
	"cgo": true,
	"len": true, "cap": true, "panic": true, "nil": true, "true": true, "false": true, "error": true, "string": true,
	"bool": true, "byte": true, "rune": true, "int": true, "uint": true, "uintptr": true, "int8": true, "int16": true,
	"int32": true,
	"int64": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true, "float32": true, "float64": true,
	"init": true, "_": true,
}

// parseArg reads an argument in //fastc:call. It is an expression of Go, so Go's parser has read
// it; of those few forms are taken:
//
//	ident        a parameter, true, false, nil        a.kind ArgParam, ArgBool, ArgNil
//	len(x)       and cap(x), of a parameter           ArgLen, ArgCap
//	&q           a result that C writes               ArgResult
//	16, -1, 0.5  a literal                            ArgInt, ArgFloat
//	C.NAME       a constant of C                      ArgC
func (p *fileParser) parseArg(f *Func, e ast.Expr, at token.Position) (Arg, bool) {
	const do = "write a parameter, len(x), cap(x), &result, a literal or C.NAME"
	refuse := func(what, do string) (Arg, bool) {
		p.bad.Add(at, what, do)
		return Arg{}, false
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.parseArg(f, e.X, at)
	case *ast.Ident:
		switch {
		case f.Param(e.Name) != nil:
			return Arg{ArgParam, e.Name, at}, true
		case e.Name == "true" || e.Name == "false":
			return Arg{ArgBool, e.Name, at}, true
		case e.Name == "nil":
			return Arg{ArgNil, e.Name, at}, true
		}
		return refuse(f.Name+" has no parameter "+e.Name, do)
	case *ast.CallExpr:
		fun, ok := e.Fun.(*ast.Ident)
		if !ok || fun.Name != "len" && fun.Name != "cap" || len(e.Args) != 1 {
			return refuse("a call of "+ExprText(e.Fun)+" as an argument", do)
		}
		x, ok := e.Args[0].(*ast.Ident)
		if !ok || f.Param(x.Name) == nil {
			return refuse(fun.Name+" of what is no parameter of "+f.Name, "write "+fun.Name+"(PARAMETER)")
		}
		kind := ArgLen
		if fun.Name == "cap" {
			kind = ArgCap
		}
		return Arg{kind, x.Name, at}, true
	case *ast.UnaryExpr:
		return p.parseUnary(f, e, at)
	case *ast.BasicLit:
		switch e.Kind {
		case token.INT:
			return intLiteral(e.Value, at), true
		case token.FLOAT:
			return Arg{ArgFloat, e.Value, at}, true
		}
		return refuse(e.Value+" as an argument", do)
	case *ast.SelectorExpr:
		if name, ok := PlainC(e); ok {
			return Arg{ArgC, name, at}, true
		}
	}
	return refuse(ExprText(e)+" as an argument", do)
}

// intLiteral writes an integer the same way for Go and C.
func intLiteral(text string, at token.Position) Arg {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		text = strconv.FormatUint(n, 10)
	}
	return Arg{ArgInt, text, at}
}

func (p *fileParser) parseUnary(f *Func, e *ast.UnaryExpr, at token.Position) (Arg, bool) {
	if id, ok := e.X.(*ast.Ident); ok && e.Op == token.AND {
		for _, r := range f.Results {
			if r.Name == id.Name && id.Name != "_" {
				return Arg{ArgResult, id.Name, at}, true
			}
		}
		p.bad.Add(at, f.Name+" has no result "+id.Name,
			"name the result, as in ("+id.Name+" int32); a parameter is passed without &")
		return Arg{}, false
	}
	if lit, ok := e.X.(*ast.BasicLit); ok && e.Op == token.SUB {
		switch lit.Kind {
		case token.INT:
			a := intLiteral(lit.Value, at)
			a.Text = "-" + a.Text
			return a, true
		case token.FLOAT:
			return Arg{ArgFloat, "-" + lit.Value, at}, true
		}
	}
	p.bad.Add(at, ExprText(e)+" as an argument", "write a parameter, len(x), cap(x), &result, a literal or C.NAME")
	return Arg{}, false
}

// ExprText prints an expression on one line.
func ExprText(e ast.Expr) string { return types.ExprString(e) }

// PlainC returns NAME for C.NAME.
func PlainC(n ast.Node) (name string, ok bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	return sel.Sel.Name, ok && x.Name == "C"
}

// CIdentifier matches a name in C.
var CIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func constantsOfC(e ast.Expr, at func(token.Pos) token.Position) []Name {
	var uses []Name
	ast.Inspect(e, func(n ast.Node) bool {
		if name, ok := PlainC(n); ok {
			uses = append(uses, Name{name, at(n.Pos())})
		}
		return true
	})
	return uses
}
