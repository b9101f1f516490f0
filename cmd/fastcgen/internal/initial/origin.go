package initial

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// originKind says where an argument of a C call comes from.
type originKind int

const (
	fromValue    originKind = iota // anything else
	fromNil                        // nil
	fromConstant                   // a literal or C.NAME
	fromSlice                      // the first element of a slice, array or string
	fromLen                        // len(x)
	fromCap                        // cap(x)
	fromCString                    // C.CString(s)
	fromAddress                    // the address of one variable
	fromCall                       // what a function of C returned
)

// origin is where an argument comes from.
type origin struct {
	kind     originKind
	key      string // what fromSlice points to, what fromLen is of: x, x[i:]
	name     string // for a parameter
	text     string // of a constant
	elements int64  // of the array that fromSlice points to, 0 when it is no array
	size     int64  // of an element, -1 when that is not known
	cast     bool   // it went through unsafe.Pointer, which forgets the type
	str      bool   // of a string
	number   bool   // and through uintptr, or a number of C
	one      bool   // a pointer to a type of the package: to one value
	variable types.Object
}

// tracer finds where arguments come from.
type tracer struct {
	info  *types.Info
	isC   func(name string) bool // whether C.NAME is a function
	in    *ast.FuncDecl
	funcs map[types.Object]*ast.FuncDecl // of the package
	depth int
}

// maxTrace bounds the chain of variables behind an argument.
const maxTrace = 8

// trace follows conversions and variables that are assigned once, or always the same.
//
//	p := (*C.char)(unsafe.Pointer(&b[off]))            b[off:]: fromSlice
//	C.put(p, C.int(len(b)-off))                        len(b) less off: fromLen of b[off:]
//	       └── variable ─ assigned ─ call ─ address
//
// The keys of the two are the same text, so pair knows that C gets a slice and its length.
//
// It must not say more than the code does: a wrong length makes C write beyond Go's memory. So a variable counts only
// where all that is assigned to it has one origin; what is changed in place (n += 4, n++, range) or indexed twice is a
// plain value, and a person has to say what it is.
func (t *tracer) trace(e ast.Expr) origin {
	t.depth++
	defer func() { t.depth-- }()
	if t.depth > maxTrace {
		return origin{}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return t.trace(e.X)
	case *ast.BasicLit:
		return origin{kind: fromConstant, text: e.Value}
	case *ast.Ident:
		return t.variable(e)
	case *ast.SelectorExpr:
		if name, ok := cc.PlainC(e); ok {
			return origin{kind: fromConstant, text: "C." + name}
		}
		return origin{kind: fromValue, name: e.Sel.Name, one: pointsToOne(t.typeOf(e))}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return t.address(ast.Unparen(e.X))
		}
	case *ast.BinaryExpr:
		if of := t.trace(e.X); e.Op == token.SUB && (of.kind == fromLen || of.kind == fromCap) { // len(x)-i, beside &x[i]
			of.key += "[" + decl.ExprText(ast.Unparen(e.Y)) + ":]"
			return of
		}
	case *ast.CallExpr:
		return t.call(e)
	}
	return origin{}
}

// call follows conversions, and knows the functions that give addresses and lengths.
func (t *tracer) call(e *ast.CallExpr) origin {
	if name, ok := cc.PlainC(e.Fun); ok {
		switch {
		case name == "CString":
			return origin{kind: fromCString}
		case cgoOwn[name] || t.isC(name) || len(e.Args) != 1:
			return origin{kind: fromCall}
		}
		return asNumber(t.trace(e.Args[0]))
	}
	if len(e.Args) != 1 {
		return t.returned(ast.Unparen(e.Fun), e.Args)
	}
	switch fun := ast.Unparen(e.Fun).(type) {
	case *ast.StarExpr: // (*C.char)(p)
		return t.trace(e.Args[0])
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		if !ok || x.Name != "unsafe" {
			return t.returned(fun, e.Args)
		}
		switch fun.Sel.Name {
		case "Pointer":
			o := t.trace(e.Args[0])
			if o.kind == fromConstant && o.text == "0" { // unsafe.Pointer(uintptr(0))
				return origin{kind: fromNil}
			}
			o.cast = true
			return o
		case "SliceData", "StringData":
			return t.first(e.Args[0], "")
		case "Sizeof":
			return origin{kind: fromConstant, text: decl.ExprText(e)}
		}
	case *ast.Ident:
		switch _, isNumber := decl.Numbers[fun.Name]; {
		case fun.Name == "len":
			return origin{kind: fromLen, key: decl.ExprText(ast.Unparen(e.Args[0]))}
		case fun.Name == "cap":
			return origin{kind: fromCap, key: decl.ExprText(ast.Unparen(e.Args[0]))}
		case fun.Name == "new":
			return origin{kind: fromAddress, size: -1}
		case isNumber:
			return asNumber(t.trace(e.Args[0]))
		}
		return t.returned(fun, e.Args)
	}
	return origin{}
}

// asNumber notes that an address became a number.
func asNumber(o origin) origin {
	if o.cast || o.kind == fromSlice || o.kind == fromAddress || o.kind == fromCString {
		o.number = true
	}
	return o
}

// address is what &x points to.
func (t *tracer) address(x ast.Expr) origin {
	switch x := x.(type) {
	case *ast.IndexExpr:
		if _, nested := ast.Unparen(x.X).(*ast.IndexExpr); nested { // &m[0][0] may stand for more than m[0]
			return origin{}
		}
		return t.first(x.X, decl.ExprText(x.Index))
	case *ast.CompositeLit:
		return origin{kind: fromAddress, size: -1}
	case *ast.Ident:
		if _, ok := t.under(x).(*types.Array); ok {
			return t.first(x, "")
		}
		return origin{kind: fromAddress, name: x.Name, size: sizeOf(t.typeOf(x)), variable: t.info.ObjectOf(x)}
	case *ast.SelectorExpr:
		if indexed(x) { // &x[0].y may stand for more than one element
			return origin{}
		}
		if _, ok := t.under(x).(*types.Array); ok {
			return t.first(x, "")
		}
		return origin{kind: fromAddress, name: x.Sel.Name, size: sizeOf(t.typeOf(x))}
	}
	return origin{}
}

// indexed reports whether an expression has an index.
func indexed(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, is := n.(*ast.IndexExpr)
		found = found || is
		return true
	})
	return found
}

// first is the address of element i of x.
func (t *tracer) first(x ast.Expr, i string) origin {
	x = ast.Unparen(x)
	o := origin{kind: fromSlice, key: decl.ExprText(x), size: -1}
	if i != "" && i != "0" {
		o.key += "[" + i + ":]"
	}
	under := t.under(x)
	if p, ok := under.(*types.Pointer); ok { // to an array
		under = p.Elem().Underlying()
	}
	switch u := under.(type) {
	case *types.Slice:
		o.size = sizeOf(u.Elem())
	case *types.Basic:
		o.size, o.str = 1, u.Kind() == types.String
	case *types.Array:
		o.size = sizeOf(u.Elem())
		if i == "" || i == "0" {
			o.elements = u.Len()
		}
	}
	switch x := x.(type) {
	case *ast.Ident:
		o.name = x.Name
		if o.elements == 0 && (i == "" || i == "0") {
			o.elements = t.made(x)
		}
	case *ast.SelectorExpr:
		o.name = x.Sel.Name
	}
	return o
}

// made returns the constant n of a slice that is made once, as make([]T, n), 0 for others.
func (t *tracer) made(x *ast.Ident) int64 {
	values, known := t.assigned(t.info.ObjectOf(x))
	if !known || len(values) != 1 {
		return 0
	}
	call, ok := values[0].(*ast.CallExpr)
	if !ok || decl.ExprText(call.Fun) != "make" || len(call.Args) < 2 {
		return 0
	}
	o := t.trace(call.Args[1])
	n, err := strconv.ParseInt(o.text, 0, 64)
	if o.kind != fromConstant || err != nil {
		return 0
	}
	return n
}

func (t *tracer) typeOf(e ast.Expr) types.Type {
	if id, ok := e.(*ast.Ident); ok {
		if obj := t.info.ObjectOf(id); obj != nil {
			return obj.Type()
		}
	}
	return t.info.TypeOf(e)
}

func (t *tracer) under(e ast.Expr) types.Type {
	if of := t.typeOf(e); of != nil {
		return of.Underlying()
	}
	return nil
}

// sizeOf returns the size of a number or bool of Go, -1 for others and for what is C's.
func sizeOf(of types.Type) int64 {
	if of == nil {
		return -1
	}
	if b, ok := of.Underlying().(*types.Basic); ok && b.Info()&(types.IsNumeric|types.IsBoolean) != 0 && b.Info()&types.IsUntyped == 0 {
		return types.SizesFor("gc", "amd64").Sizeof(b)
	}
	return -1
}

// variable follows a variable that is assigned once, or always the same.
func (t *tracer) variable(id *ast.Ident) origin {
	if id.Name == "nil" {
		return origin{kind: fromNil}
	}
	obj := t.info.ObjectOf(id)
	if c, ok := obj.(*types.Const); ok && c.Val().Kind() != constant.Unknown {
		return origin{kind: fromConstant, text: c.Val().ExactString()}
	}
	plain := origin{kind: fromValue, name: id.Name, one: pointsToOne(t.typeOf(id))}
	values, known := t.assigned(obj)
	if !known {
		return plain
	}
	var all []origin
	for _, e := range values {
		if o := t.trace(e); o.kind != fromNil {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return plain
	}
	for _, o := range all[1:] {
		if o != all[0] {
			return plain
		}
	}
	switch o := all[0]; o.kind {
	case fromConstant, fromValue, fromCall:
		return plain
	case fromCString:
		o.name, o.variable = id.Name, obj
		return o
	default:
		if o.name == "" {
			o.name = id.Name
		}
		return o
	}
}

// assigned returns what a function assigns to its variable obj. known is false for parameters, and for
// what is assigned otherwise.
func (t *tracer) assigned(obj types.Object) (values []ast.Expr, known bool) {
	if obj == nil || t.in == nil || t.in.Body == nil {
		return nil, false
	}
	known = true
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && t.info.ObjectOf(id) == obj
	}
	found := false
	ast.Inspect(t.in.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, e := range n.Lhs {
				if !is(e) {
					continue
				}
				found = true
				if len(n.Lhs) != len(n.Rhs) || n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
					known = false
					continue
				}
				values = append(values, n.Rhs[i])
			}
		case *ast.ValueSpec:
			for i, e := range n.Names {
				if is(e) {
					found = true
					if len(n.Values) == len(n.Names) {
						values = append(values, n.Values[i])
					} else if len(n.Values) > 0 {
						known = false
					}
				}
			}
		case *ast.IncDecStmt:
			known = known && !is(n.X)
		case *ast.RangeStmt:
			known = known && !(n.Key != nil && is(n.Key)) && !(n.Value != nil && is(n.Value))
		}
		return true
	})
	return values, known && found
}

// freedWithin reports whether the string that C.CString made for one call is freed in the same function,
// which calls nothing else in C: then C has no time to use it after the call.
func (t *tracer) freedWithin(o origin) bool {
	if o.variable == nil || t.in == nil {
		return false
	}
	freed, others := false, 0
	ast.Inspect(t.in.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := cc.PlainC(call.Fun)
		switch {
		case ok && name == "free" && len(call.Args) == 1:
			freed = freed || t.mentions(call.Args[0], o.variable)
		case ok && !cgoOwn[name] && t.isC(name):
			others++
		}
		return true
	})
	return freed && others == 1
}

// freed reports whether a function frees a variable.
func (t *tracer) freed(obj types.Object) bool {
	return t.given(obj, func(name string) bool { return strings.Contains(strings.ToLower(name), "free") })
}

// becomesText reports whether C.GoString gets a variable.
func (t *tracer) becomesText(obj types.Object) bool {
	return t.given(obj, func(name string) bool { return name == "GoString" })
}

// given reports whether a function of C, by its name, gets a variable.
func (t *tracer) given(obj types.Object, to func(name string) bool) bool {
	found := false
	if t.in == nil || obj == nil {
		return false
	}
	ast.Inspect(t.in, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := cc.PlainC(call.Fun); ok && to(name) {
			for _, a := range call.Args {
				found = found || t.mentions(a, obj)
			}
		}
		return true
	})
	return found
}

// mentions reports whether a variable occurs in an expression.
func (t *tracer) mentions(e ast.Expr, obj types.Object) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && t.info.ObjectOf(id) == obj {
			found = true
		}
		return true
	})
	return found
}
