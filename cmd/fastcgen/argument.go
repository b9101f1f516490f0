package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
)

// reserved are the names that generated code uses; a parameter or a declaration of that name
// would hide them.
var reserved = map[string]bool{
	"C": true, "unsafe": true, "fastc": true, "runtime": true, "errors": true, "syscall": true, "time": true, "cgo": true,
	"len": true, "cap": true, "panic": true, "nil": true, "true": true, "false": true, "error": true, "string": true,
	"bool": true, "byte": true, "rune": true, "int": true, "uint": true, "uintptr": true, "int8": true, "int16": true, "int32": true,
	"int64": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true, "float32": true, "float64": true,
	"init": true, "_": true,
}

// parseArg reads an argument in //fastc:call.
func (p *fileParser) parseArg(f *funcDecl, e ast.Expr, at token.Position) (callArg, bool) {
	const do = "write a parameter, len(x), cap(x), &result, a literal or C.NAME"
	refuse := func(what, do string) (callArg, bool) {
		p.bad.add(at, what, do)
		return callArg{}, false
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.parseArg(f, e.X, at)
	case *ast.Ident:
		switch {
		case f.param(e.Name) != nil:
			return callArg{argParam, e.Name, at}, true
		case e.Name == "true" || e.Name == "false":
			return callArg{argBool, e.Name, at}, true
		case e.Name == "nil":
			return callArg{argNil, e.Name, at}, true
		}
		return refuse(f.name+" has no parameter "+e.Name, do)
	case *ast.CallExpr:
		fun, ok := e.Fun.(*ast.Ident)
		if !ok || fun.Name != "len" && fun.Name != "cap" || len(e.Args) != 1 {
			return refuse("a call of "+exprText(e.Fun)+" as an argument", do)
		}
		x, ok := e.Args[0].(*ast.Ident)
		if !ok || f.param(x.Name) == nil {
			return refuse(fun.Name+" of what is no parameter of "+f.name, "write "+fun.Name+"(PARAMETER)")
		}
		kind := argLen
		if fun.Name == "cap" {
			kind = argCap
		}
		return callArg{kind, x.Name, at}, true
	case *ast.UnaryExpr:
		return p.parseUnary(f, e, at)
	case *ast.BasicLit:
		switch e.Kind {
		case token.INT:
			return intLiteral(e.Value, at), true
		case token.FLOAT:
			return callArg{argFloat, e.Value, at}, true
		}
		return refuse(e.Value+" as an argument", do)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "C" {
			return callArg{argC, e.Sel.Name, at}, true
		}
	}
	return refuse(exprText(e)+" as an argument", do)
}

// intLiteral writes an integer the same way for Go and C.
func intLiteral(text string, at token.Position) callArg {
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		text = strconv.FormatUint(n, 10)
	}
	return callArg{argInt, text, at}
}

func (p *fileParser) parseUnary(f *funcDecl, e *ast.UnaryExpr, at token.Position) (callArg, bool) {
	if id, ok := e.X.(*ast.Ident); ok && e.Op == token.AND {
		for _, r := range f.results {
			if r.name == id.Name && id.Name != "_" {
				return callArg{argResult, id.Name, at}, true
			}
		}
		p.bad.add(at, f.name+" has no result "+id.Name, "name the result, as in ("+id.Name+" int32); a parameter is passed without &")
		return callArg{}, false
	}
	if lit, ok := e.X.(*ast.BasicLit); ok && e.Op == token.SUB {
		switch lit.Kind {
		case token.INT:
			a := intLiteral(lit.Value, at)
			a.text = "-" + a.text
			return a, true
		case token.FLOAT:
			return callArg{argFloat, "-" + lit.Value, at}, true
		}
	}
	p.bad.add(at, exprText(e)+" as an argument", "write a parameter, len(x), cap(x), &result, a literal or C.NAME")
	return callArg{}, false
}

// exprText prints an expression on one line.
func exprText(e ast.Expr) string { return types.ExprString(e) }

var cIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// constantsOfC returns the C.NAMEs in an expression.
func constantsOfC(e ast.Expr, at func(token.Pos) token.Position) []name {
	var uses []name
	ast.Inspect(e, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "C" {
				uses = append(uses, name{sel.Sel.Name, at(sel.Pos())})
			}
		}
		return true
	})
	return uses
}
