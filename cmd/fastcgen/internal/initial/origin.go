package initial

import (
	"go/ast"
	"go/token"
	"go/types"

	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

type originKind int

const (
	isValue originKind = iota // anything else
	isNil
	isSlice
	isLength
	isAddress
)

// origin is an argument of a C call without its conversions.
type origin struct {
	kind originKind
	of   string
	fn   string
	name string
	size int64 // of what it points to; -1: unknown
	cast bool  // it went through unsafe.Pointer, which forgets the type
	str  bool
}

// tracer reads arguments. It follows no variable and no function, because with a wrong length C
// writes beyond Go's memory.
type tracer struct {
	info *types.Info
	isC  func(name string) bool
}

// trace reads one argument:
//
//	(*C.char)(unsafe.Pointer(&b[off]))    the first element of b[off:]
//	C.int(len(b))                         the length of b
//	&n                                    the address of n
func (t *tracer) trace(e ast.Expr) origin {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if e.Name == "nil" {
			return origin{kind: isNil}
		}
		return origin{name: e.Name}
	case *ast.SelectorExpr:
		if _, ok := decl.PlainC(e); !ok {
			return origin{name: e.Sel.Name}
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return t.address(ast.Unparen(e.X))
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return t.call(ast.Unparen(e.Fun), e.Args[0])
		}
	}
	return origin{}
}

func (t *tracer) call(fun, arg ast.Expr) origin {
	if name, ok := decl.PlainC(fun); ok {
		if cgoOwn[name] || t.isC(name) {
			return origin{}
		}
		return t.trace(arg)
	}
	switch text := decl.ExprText(fun); {
	case text == "unsafe.Pointer":
		o := t.trace(arg)
		o.cast = true
		return o
	case text == "unsafe.SliceData", text == "unsafe.StringData":
		return t.first(ast.Unparen(arg), "0")
	case text == "len", text == "cap":
		return origin{kind: isLength, of: decl.ExprText(ast.Unparen(arg)), fn: text}
	}
	_, isPointer := fun.(*ast.StarExpr)
	_, isNumber := decl.Numbers[decl.ExprText(fun)]
	if isPointer || isNumber {
		return t.trace(arg)
	}
	return origin{}
}

func (t *tracer) address(x ast.Expr) origin {
	name := ""
	switch x := x.(type) {
	case *ast.IndexExpr:
		if _, nested := ast.Unparen(x.X).(*ast.IndexExpr); nested { // &m[0][0] may stand for more than m[0]
			return origin{}
		}
		return t.first(ast.Unparen(x.X), decl.ExprText(x.Index))
	case *ast.CompositeLit:
		return origin{kind: isAddress, size: -1}
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		if _, plain := x.X.(*ast.Ident); !plain { // &x[0].y may stand for more than one element
			return origin{}
		}
		name = x.Sel.Name
	default:
		return origin{}
	}
	if _, isArray := under(t.typeOf(x)).(*types.Array); isArray {
		return origin{kind: isSlice, of: decl.ExprText(x), name: name, size: -1}
	}
	return origin{kind: isAddress, name: name, size: sizeOf(t.typeOf(x))}
}

func (t *tracer) first(x ast.Expr, i string) origin {
	o := origin{kind: isSlice, of: decl.ExprText(x), size: -1}
	if i != "0" {
		o.of += "[" + i + ":]"
	}
	of := under(t.typeOf(x))
	if p, ok := of.(*types.Pointer); ok {
		of = under(p.Elem())
	}
	switch of := of.(type) {
	case *types.Slice:
		o.size = sizeOf(of.Elem())
	case *types.Basic:
		o.size, o.str = 1, of.Kind() == types.String
	case *types.Array:
		o.size = sizeOf(of.Elem())
	}
	switch x := x.(type) {
	case *ast.Ident:
		o.name = x.Name
	case *ast.SelectorExpr:
		o.name = x.Sel.Name
	}
	return o
}

func (t *tracer) typeOf(e ast.Expr) types.Type {
	if id, ok := e.(*ast.Ident); ok {
		if obj := t.info.ObjectOf(id); obj != nil {
			return obj.Type()
		}
	}
	return t.info.TypeOf(e)
}

func under(of types.Type) types.Type {
	if of == nil {
		return nil
	}
	return of.Underlying()
}

func sizeOf(of types.Type) int64 {
	b, ok := under(of).(*types.Basic)
	if ok && b.Info()&(types.IsNumeric|types.IsBoolean) != 0 && b.Info()&types.IsUntyped == 0 {
		return types.SizesFor("gc", "amd64").Sizeof(b)
	}
	return -1
}
