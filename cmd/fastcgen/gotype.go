package main

import (
	"go/ast"
	"go/token"
	"strconv"
)

// goKind is the form of a Go type that can be passed.
type goKind int

const (
	goNamed   goKind = iota // not resolved yet: an identifier
	goNumber                // intN, uintN, floatN, int, uint, uintptr
	goBool                  //
	goString                //
	goError                 //
	goSlice                 //
	goPointer               //
	goArray                 //
	goMirror                // a struct made from C's
	goOpaque                // a C type of which only pointers exist
)

// goType is a Go type as the declaration file writes it.
type goType struct {
	kind goKind
	name string  // of what has one: int32, Mode, Vec
	num  number  // goNumber
	elem *goType // goSlice, goPointer, goArray
	n    int64   // goArray
	decl *typeDecl
}

// class is what the bits of a number mean.
type class int

const (
	signed class = iota
	unsigned
	float
)

// number is the representation of a number.
type number struct {
	class class
	size  int64 // bytes
}

// numbers are Go's, on the 64-bit platforms that generated code is for.
var numbers = map[string]number{
	"int8": {signed, 1}, "int16": {signed, 2}, "int32": {signed, 4}, "int64": {signed, 8},
	"uint8": {unsigned, 1}, "uint16": {unsigned, 2}, "uint32": {unsigned, 4}, "uint64": {unsigned, 8},
	"int": {signed, 8}, "uint": {unsigned, 8}, "uintptr": {unsigned, 8},
	"byte": {unsigned, 1}, "rune": {signed, 4},
	"float32": {float, 4}, "float64": {float, 8},
}

// String returns the type as Go writes it.
func (t *goType) String() string {
	if t.name != "" {
		return t.name
	}
	switch t.kind {
	case goSlice:
		return "[]" + t.elem.String()
	case goPointer:
		return "*" + t.elem.String()
	case goArray:
		return "[" + strconv.FormatInt(t.n, 10) + "]" + t.elem.String()
	}
	return t.name
}

// base returns the name of the type within slices, pointers and arrays.
func (t *goType) base() string {
	for t.elem != nil {
		t = t.elem
	}
	return t.name
}

// words names the type for a reader: C's int is another than Go's.
func (t *goType) words() string {
	if t.name == "int" || t.name == "uint" || t.name == "uintptr" {
		return t.name + " (64 bits in Go)"
	}
	return t.String()
}

// goName returns the Go type of a number.
func (n number) goName() string {
	bits := strconv.FormatInt(n.size*8, 10)
	switch n.class {
	case signed:
		return "int" + bits
	case unsigned:
		return "uint" + bits
	}
	return "float" + bits
}

// cName returns the C type of a number in a frame.
func (n number) cName() string {
	switch {
	case n.class == float && n.size == 4:
		return "float"
	case n.class == float:
		return "double"
	}
	return n.goName() + "_t"
}

// words describes a number for a reader.
func (n number) words() string {
	bits := strconv.FormatInt(n.size*8, 10)
	return map[class]string{signed: "a signed", unsigned: "an unsigned", float: "a floating-point"}[n.class] +
		map[bool]string{true: " number of ", false: " integer of "}[n.class == float] + bits + " bits"
}

// maxArray bounds an array's length; its size has to fit a frame on the stack.
const maxArray = 1 << 13

// parseType reads a type from a declaration; what and do say what is wrong with it.
func parseType(e ast.Expr) (t *goType, at token.Pos, what, do string) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return parseType(e.X)
	case *ast.Ident:
		return &goType{kind: goNamed, name: e.Name}, 0, "", ""
	case *ast.StarExpr:
		return parseElem(&goType{kind: goPointer}, e.X)
	case *ast.ArrayType:
		if e.Len == nil {
			return parseElem(&goType{kind: goSlice}, e.Elt)
		}
		lit, ok := e.Len.(*ast.BasicLit)
		if !ok || lit.Kind != token.INT {
			return nil, e.Len.Pos(), "the length of an array is not a number", "write it as a literal, as in [16]byte"
		}
		n, err := strconv.ParseInt(lit.Value, 0, 64)
		switch {
		case err == nil && n < 1:
			return nil, e.Len.Pos(), "an array of " + lit.Value + " elements", "write 1 or more"
		case err != nil || n > maxArray:
			return nil, e.Len.Pos(), "an array of " + lit.Value + " elements", "pass a slice: an array of more than " + strconv.Itoa(maxArray) + " elements is too large for a frame"
		}
		return parseElem(&goType{kind: goArray, n: n}, e.Elt)
	case *ast.MapType:
		return nil, e.Pos(), "a map cannot be passed to C", "pass slices of its keys and values"
	case *ast.ChanType:
		return nil, e.Pos(), "a channel cannot be passed to C", "leave it out: a leaf function neither sends nor receives"
	case *ast.InterfaceType:
		return nil, e.Pos(), "an interface cannot be passed to C", "write the type of the value"
	case *ast.FuncType:
		return nil, e.Pos(), "a function cannot be passed to C", "a leaf function cannot call back: use ordinary cgo for this one"
	case *ast.StructType:
		return nil, e.Pos(), "a struct without a name", "declare type NAME C.struct_NAME and use that"
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "C" {
			return nil, e.Pos(), "a type of C", "declare type NAME C." + e.Sel.Name + " and use that"
		}
		return nil, e.Pos(), "a type of another package", "write the number, string or slice that it is"
	}
	return nil, e.Pos(), "this type cannot be passed to C", "write a number, bool, string, slice, array, pointer or declared type"
}

func parseElem(t *goType, e ast.Expr) (*goType, token.Pos, string, string) {
	elem, at, what, do := parseType(e)
	if what != "" {
		return nil, at, what, do
	}
	t.elem = elem
	return t, 0, "", ""
}

// typeDecl is: type Point C.struct_v_point.
type typeDecl struct {
	name   string
	cName  string // struct_v_point
	doc    []string
	opaque bool // by //fastc:opaque
	at     token.Position
}
