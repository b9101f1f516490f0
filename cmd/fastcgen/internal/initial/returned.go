package initial

import (
	"go/ast"
	"go/types"
	"slices"

	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// returned is what a function of the package returns: the address of one value, the first element of a slice
// that it gets, or unknown. A nil beside it changes nothing.
func (t *tracer) returned(fun ast.Expr, args []ast.Expr) origin {
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	}
	decl := t.funcs[t.info.Uses[id]]
	if id == nil || decl == nil || decl.Body == nil {
		return origin{}
	}
	inner := &tracer{info: t.info, isC: t.isC, in: decl, funcs: t.funcs, depth: t.depth}
	var all []origin
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			o := origin{}
			if len(n.Results) == 1 {
				o = inner.trace(n.Results[0])
			}
			if o.kind != fromNil {
				all = append(all, o)
			}
		}
		return true
	})
	switch {
	case len(all) == 0:
		return origin{}
	case !slices.ContainsFunc(all, func(o origin) bool { return o.kind != fromAddress && !o.one }):
		if slices.ContainsFunc(append(slices.Clone(args), fun), t.ofMany) {
			return origin{}
		}
		return origin{kind: fromAddress, size: -1, cast: true}
	case slices.ContainsFunc(all, func(o origin) bool { return o.kind != fromSlice || o != all[0] }):
		return origin{}
	}
	return t.argument(all[0], decl, args)
}

// ofMany reports whether what a function gets, or is a method of, may be one of many: list[0].c().
func (t *tracer) ofMany(e ast.Expr) bool {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		e = sel.X
	}
	return indexed(e) || t.trace(e).kind == fromSlice
}

// argument is the first element of a slice that a function gets as one of its arguments.
func (t *tracer) argument(o origin, fn *ast.FuncDecl, args []ast.Expr) origin {
	i := 0
	for _, field := range fn.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == o.key && i < len(args) && !assigns(fn, name.Name) {
				o.key, o.name = decl.ExprText(ast.Unparen(args[i])), ""
				if id, ok := ast.Unparen(args[i]).(*ast.Ident); ok {
					o.name = id.Name
				}
				return o
			}
			i++
		}
	}
	return origin{}
}

// pointsToOne reports whether a type is a pointer to a type of the package. One to more than one value of it
// would be a slice in Go.
func pointsToOne(of types.Type) bool {
	p, ok := of.(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := p.Elem().(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Name() != "C"
}

// assigns reports whether a function assigns to a variable of that name, which may be another one within.
func assigns(decl *ast.FuncDecl, name string) bool {
	found := false
	is := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && id.Name == name {
				found = true
			}
		}
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			is(n.Lhs...)
		case *ast.RangeStmt:
			is(n.Key, n.Value)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				is(id)
			}
		}
		return true
	})
	return found
}
