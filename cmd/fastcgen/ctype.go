package main

import (
	"debug/dwarf"
	"fmt"
	"strconv"
)

// cFacts is what the C compiler said about a declaration file.
type cFacts struct {
	funcs  map[string]dwarf.Type // by C name
	types  map[string]dwarf.Type // by the text in C
	consts map[string]dwarf.Type // by C name
	odd    map[dwarf.Type]oddity
}

// oddity is what debug/dwarf's types do not carry.
type oddity struct {
	vector bool
	align  int64 // asked for in the source, 0: natural
}

// Attributes that debug/dwarf has no names for.
const (
	attrAlignment dwarf.Attr = 0x88
	attrGNUVector dwarf.Attr = 0x2107
)

// note keeps the oddities of the type at e.
func (facts *cFacts) note(data *dwarf.Data, e *dwarf.Entry) {
	var o oddity
	o.vector, _ = e.Val(attrGNUVector).(bool)
	o.align, _ = e.Val(attrAlignment).(int64)
	switch e.Tag {
	case dwarf.TagArrayType, dwarf.TagTypedef, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagBaseType:
	default:
		return
	}
	if o == (oddity{}) {
		return
	}
	if t, err := data.Type(e.Offset); err == nil { // what cannot be read is said where it is used
		facts.odd[t] = o
	}
}

// bare strips typedefs and qualifiers. aligned is the strictest alignment that they ask for.
func (facts *cFacts) bare(t dwarf.Type) (b dwarf.Type, aligned int64) {
	for {
		aligned = max(aligned, facts.odd[t].align)
		switch u := t.(type) {
		case *dwarf.TypedefType:
			t = u.Type
		case *dwarf.QualType:
			t = u.Type
		default:
			return t, aligned
		}
	}
}

// unqualified strips const and the like.
func unqualified(t dwarf.Type) dwarf.Type {
	for {
		q, ok := t.(*dwarf.QualType)
		if !ok {
			return t
		}
		t = q.Type
	}
}

// isConst reports whether t is qualified with const.
func isConst(t dwarf.Type) bool {
	for {
		switch u := t.(type) {
		case *dwarf.TypedefType:
			t = u.Type
		case *dwarf.QualType:
			if u.Qual == "const" {
				return true
			}
			t = u.Type
		default:
			return false
		}
	}
}

// cNumber is a number of C.
type cNumber struct {
	number
	plainChar bool // signed on one platform, not on another
	enum      *dwarf.EnumType
}

// number reports whether t is a number that Go has too.
func (facts *cFacts) number(t dwarf.Type) (cNumber, bool) {
	b, aligned := facts.bare(t)
	if b == nil {
		return cNumber{}, false
	}
	n := cNumber{number: number{size: b.Size()}}
	switch b := b.(type) {
	case *dwarf.IntType:
		n.class = signed
	case *dwarf.UintType:
		n.class = unsigned
	case *dwarf.CharType:
		n.class, n.plainChar = signed, b.Name == "char"
	case *dwarf.UcharType:
		n.class, n.plainChar = unsigned, b.Name == "char"
	case *dwarf.FloatType:
		n.class = float
	case *dwarf.EnumType:
		n.class, n.enum = unsigned, b
		for _, v := range b.Val {
			if v.Val < 0 {
				n.class = signed
			}
		}
	default:
		return n, false
	}
	fits := n.size == 1 || n.size == 2 || n.size == 4 || n.size == 8
	if n.class == float {
		fits = n.size == 4 || n.size == 8
	}
	return n, fits && aligned <= n.size
}

// goName returns the Go type to write for a number.
func (n cNumber) goName() string {
	if n.plainChar {
		return "uint8"
	}
	return n.number.goName()
}

// is reports whether a Go number has the representation of a C one.
func (n cNumber) is(g number) bool {
	switch {
	case n.plainChar:
		return g.size == 1 && g.class != float
	case n.enum != nil:
		return g.size == n.size && g.class != float
	}
	return g == n.number
}

// cText returns a declaration of what as t, in C. The typedefs stay: they hold on the platforms
// where what is behind them differs.
func cText(t dwarf.Type, what string) string {
	join := func(s string) string {
		if what == "" {
			return s
		}
		return s + " " + what
	}
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return join(t.Name)
	case *dwarf.QualType:
		if _, ok := t.Type.(*dwarf.PtrType); ok {
			return cText(t.Type, join2(t.Qual, what))
		}
		return t.Qual + " " + cText(t.Type, what)
	case *dwarf.PtrType:
		switch t.Type.(type) {
		case *dwarf.FuncType, *dwarf.ArrayType:
			return cText(t.Type, "(*"+what+")")
		}
		return cText(t.Type, "*"+what)
	case *dwarf.ArrayType:
		return cText(t.Type, fmt.Sprintf("%s[%d]", what, t.Count))
	case *dwarf.FuncType:
		return cText(t.ReturnType, what+"("+cParams(t)+")")
	case *dwarf.StructType:
		return join(t.Kind + " " + t.StructName)
	case *dwarf.EnumType:
		return join("enum " + t.EnumName)
	case *dwarf.VoidType:
		return join("void")
	}
	if t == nil {
		return join("void")
	}
	base := t.Common().Name
	if short, ok := shortNames[base]; ok {
		base = short
	}
	return join(base)
}

// shortNames are clang's names for what gcc calls otherwise, so that both make the same file.
var shortNames = map[string]string{
	"short int": "short", "short unsigned int": "unsigned short", "long int": "long", "long unsigned int": "unsigned long",
	"long long int": "long long", "long long unsigned int": "unsigned long long",
}

// anonymous reports whether C has no name to write for t.
func anonymous(t dwarf.Type) bool {
	for {
		switch u := t.(type) {
		case *dwarf.QualType:
			t = u.Type
		case *dwarf.ArrayType:
			t = u.Type
		case *dwarf.StructType:
			return u.StructName == ""
		case *dwarf.EnumType:
			return u.EnumName == ""
		default:
			return false
		}
	}
}

func join2(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}

func cParams(t *dwarf.FuncType) string {
	s := ""
	for i, p := range t.ParamType {
		if i > 0 {
			s += ", "
		}
		if _, ok := p.(*dwarf.DotDotDotType); ok {
			s += "..."
			continue
		}
		s += cText(unqualified(p), "") // C compares no qualifiers there
	}
	if s == "" {
		return "void"
	}
	return s
}

// describe names a C type for a reader.
func (facts *cFacts) describe(t dwarf.Type) string {
	text := cText(t, "")
	b, _ := facts.bare(t)
	if n, ok := facts.number(t); ok {
		switch {
		case n.plainChar:
			return text + ", a character"
		case n.enum != nil:
			return text + ", an enum of " + strconv.Itoa(int(n.size*8)) + " bits"
		}
		return text + ", " + n.words()
	}
	if what := facts.unwritable(t); what != "" {
		return what
	}
	if s, ok := b.(*dwarf.StructType); ok && text != s.Kind+" "+s.StructName {
		return text + ", a " + s.Kind
	}
	return text
}

// wrapIt is what to do about a C type that Go has nothing for.
const wrapIt = "wrap the function in a static inline one in the preamble whose types Go has too"

// unwritable says what in t has no name in C, empty when all has.
func (facts *cFacts) unwritable(t dwarf.Type) string {
	within := func(what string, t dwarf.Type) string {
		if s := facts.unwritable(t); s != "" {
			return what + s
		}
		return ""
	}
	switch t := t.(type) {
	case *dwarf.QualType:
		return facts.unwritable(t.Type)
	case *dwarf.PtrType:
		return within("a pointer to ", t.Type)
	case *dwarf.ArrayType:
		return within("an array of ", t.Type)
	case *dwarf.FuncType:
		for _, p := range t.ParamType {
			if s := within("a function of ", p); s != "" {
				return s
			}
		}
		return within("a function that returns ", t.ReturnType)
	case *dwarf.StructType:
		if t.StructName == "" {
			return "a " + t.Kind + " without a name"
		}
	case *dwarf.EnumType:
		if t.EnumName == "" {
			return "an enum without a name"
		}
	case *dwarf.UnsupportedType:
		return unknownType
	}
	return ""
}

const unknownType = "a type that fastcgen does not know (atomic, perhaps)"

// constMembers reports whether C does not assign to t, since it is const or has a member that is.
func (facts *cFacts) constMembers(t dwarf.Type) bool {
	if isConst(t) {
		return true
	}
	switch b, _ := facts.bare(t); b := b.(type) {
	case *dwarf.ArrayType:
		return facts.constMembers(b.Type)
	case *dwarf.StructType:
		for _, f := range b.Field {
			if facts.constMembers(f.Type) {
				return true
			}
		}
	}
	return false
}
