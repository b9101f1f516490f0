package declfile

import (
	"go/ast"
	"go/token"
	"strconv"
)

// GoKind is the form of a Go type that can be passed.
type GoKind int

const (
	GoNamed   GoKind = iota // an identifier, not resolved yet
	GoNumber                // intN, uintN, floatN, int, uint, uintptr
	GoBool                  //
	GoString                //
	GoSlice                 //
	GoPointer               //
	GoArray                 //
	GoMirror                // a struct made from C's
	GoOpaque                // a C type of which only pointers exist
)

// GoType is a Go type as the declaration file writes it.
type GoType struct {
	Kind GoKind
	Name string
	Num  Number
	Elem *GoType
	Len  int64
	Decl *Type
}

// Class is what the bits of a number mean.
type Class int

const (
	Signed Class = iota
	Unsigned
	Float
)

type Number struct {
	Class Class
	Size  int64 // bytes
}

// Numbers are Go's on 64-bit platforms.
var Numbers = map[string]Number{
	"int8": {Signed, 1}, "int16": {Signed, 2}, "int32": {Signed, 4}, "int64": {Signed, 8},
	"uint8": {Unsigned, 1}, "uint16": {Unsigned, 2}, "uint32": {Unsigned, 4}, "uint64": {Unsigned, 8},
	"int": {Signed, 8}, "uint": {Unsigned, 8}, "uintptr": {Unsigned, 8},
	"byte": {Unsigned, 1}, "rune": {Signed, 4},
	"float32": {Float, 4}, "float64": {Float, 8},
}

func (t *GoType) String() string {
	if t.Name != "" {
		return t.Name
	}
	switch t.Kind {
	case GoSlice:
		return "[]" + t.Elem.String()
	case GoPointer:
		return "*" + t.Elem.String()
	case GoArray:
		return "[" + strconv.FormatInt(t.Len, 10) + "]" + t.Elem.String()
	}
	return t.Name
}

// Base returns the name of the type within slices, pointers and arrays.
func (t *GoType) Base() string {
	for t.Elem != nil {
		t = t.Elem
	}
	return t.Name
}

// Words names the type for a reader, because C's int is not Go's.
func (t *GoType) Words() string {
	if t.Name == "int" || t.Name == "uint" || t.Name == "uintptr" {
		return t.Name + " (64 bits in Go)"
	}
	return t.String()
}

func (n Number) GoName() string {
	bits := strconv.FormatInt(n.Size*8, 10)
	switch n.Class {
	case Signed:
		return "int" + bits
	case Unsigned:
		return "uint" + bits
	}
	return "float" + bits
}

// CName returns the C type of a number in a frame.
func (n Number) CName() string {
	switch {
	case n.Class == Float && n.Size == 4:
		return "float"
	case n.Class == Float:
		return "double"
	}
	return n.GoName() + "_t"
}

func (n Number) Words() string {
	bits := strconv.FormatInt(n.Size*8, 10)
	return map[Class]string{Signed: "a signed", Unsigned: "an unsigned", Float: "a floating-point"}[n.Class] +
		map[bool]string{true: " number of ", false: " integer of "}[n.Class == Float] + bits + " bits"
}

// maxArray bounds an array's length, so that it fits a frame on the stack.
const maxArray = 1 << 13

// ParseType reads a type. what and do say what is wrong with it.
func ParseType(e ast.Expr) (t *GoType, at token.Pos, what, do string) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return ParseType(e.X)
	case *ast.Ident:
		return &GoType{Kind: GoNamed, Name: e.Name}, 0, "", ""
	case *ast.StarExpr:
		return parseElem(&GoType{Kind: GoPointer}, e.X)
	case *ast.ArrayType:
		if e.Len == nil {
			return parseElem(&GoType{Kind: GoSlice}, e.Elt)
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
			return nil, e.Len.Pos(), "an array of " + lit.Value + " elements",
				"pass a slice: an array of more than " + strconv.Itoa(maxArray) + " elements is too large for a frame"
		}
		return parseElem(&GoType{Kind: GoArray, Len: n}, e.Elt)
	case *ast.SelectorExpr:
		if name, ok := PlainC(e); ok {
			return nil, e.Pos(), "a type of C", "declare type NAME C." + name + " and use that"
		}
	}
	return nil, e.Pos(), "this type cannot be passed to C",
		"write a number, bool, string, slice, array, pointer or declared type"
}

func parseElem(t *GoType, e ast.Expr) (*GoType, token.Pos, string, string) {
	elem, at, what, do := ParseType(e)
	if what != "" {
		return nil, at, what, do
	}
	t.Elem = elem
	return t, 0, "", ""
}

// Type is: type Point C.struct_v_point.
type Type struct {
	Name   string
	CName  string // struct_v_point
	Doc    []string
	Opaque bool // by //fastc:opaque
	At     token.Position
}
