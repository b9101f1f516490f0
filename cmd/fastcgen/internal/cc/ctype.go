package cc

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

// Facts is what the C compiler said about a declaration file.
type Facts struct {
	Funcs  map[string]dwarf.Type
	Types  map[string]dwarf.Type
	Consts map[string]dwarf.Type
	Odd    map[dwarf.Type]Oddity
}

// Oddity is what debug/dwarf's types do not carry.
type Oddity struct {
	Vector bool
	Align  int64 // asked for in the source; 0: natural
}

const (
	attrAlignment dwarf.Attr = 0x88
	attrGNUVector dwarf.Attr = 0x2107
)

func (facts *Facts) note(data *dwarf.Data, e *dwarf.Entry) {
	var o Oddity
	o.Vector, _ = e.Val(attrGNUVector).(bool)
	o.Align, _ = e.Val(attrAlignment).(int64)
	switch e.Tag {
	case dwarf.TagArrayType, dwarf.TagTypedef, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagBaseType:
	default:
		return
	}
	if o == (Oddity{}) {
		return
	}
	if t, err := data.Type(e.Offset); err == nil {
		facts.Odd[t] = o
	}
}

// layers yields t, and then what is below each of its typedefs and qualifiers.
func layers(t dwarf.Type) iter.Seq[dwarf.Type] {
	return func(yield func(dwarf.Type) bool) {
		for yield(t) {
			switch u := t.(type) {
			case *dwarf.TypedefType:
				t = u.Type
			case *dwarf.QualType:
				t = u.Type
			default:
				return
			}
		}
	}
}

// Bare strips typedefs and qualifiers.
func Bare(t dwarf.Type) (bare dwarf.Type) {
	for u := range layers(t) {
		bare = u
	}
	return bare
}

// Alignment returns the strictest alignment that t asks for. __attribute__((aligned)) may be part of
// a typedef.
func (facts *Facts) Alignment(t dwarf.Type) (aligned int64) {
	for u := range layers(t) {
		aligned = max(aligned, facts.Odd[u].Align)
	}
	return aligned
}

// Element returns what the elements of an array of any depth are, or t if it is no array.
func Element(t dwarf.Type) dwarf.Type {
	for {
		a, ok := Bare(t).(*dwarf.ArrayType)
		if !ok {
			return t
		}
		t = a.Type
	}
}

// Pointer returns t as a pointer, nil if it is not one.
func Pointer(t dwarf.Type) *dwarf.PtrType {
	ptr, _ := Bare(t).(*dwarf.PtrType)
	return ptr
}

// Struct returns t as a struct or a union, nil if it is neither.
func Struct(t dwarf.Type) *dwarf.StructType {
	s, _ := Bare(t).(*dwarf.StructType)
	return s
}

func IsVoid(t dwarf.Type) bool {
	_, is := Bare(t).(*dwarf.VoidType)
	return is
}

func IsBool(t dwarf.Type) bool {
	_, is := Bare(t).(*dwarf.BoolType)
	return is
}

func IsConst(t dwarf.Type) bool {
	for u := range layers(t) {
		if q, ok := u.(*dwarf.QualType); ok && q.Qual == "const" {
			return true
		}
	}
	return false
}

func Unqualified(t dwarf.Type) dwarf.Type {
	for {
		q, ok := t.(*dwarf.QualType)
		if !ok {
			return t
		}
		t = q.Type
	}
}

type Number struct {
	declfile.Number
	PlainChar bool // char: its sign depends on the platform
	Enum      *dwarf.EnumType
}

// Number reports whether t is a number that Go has too.
func (facts *Facts) Number(t dwarf.Type) (Number, bool) {
	b := Bare(t)
	if b == nil {
		return Number{}, false
	}
	n := Number{Number: declfile.Number{Size: b.Size()}}
	switch b := b.(type) {
	case *dwarf.IntType:
		n.Class = declfile.Signed
	case *dwarf.UintType:
		n.Class = declfile.Unsigned
	case *dwarf.CharType:
		n.Class, n.PlainChar = declfile.Signed, b.Name == "char"
	case *dwarf.UcharType:
		n.Class, n.PlainChar = declfile.Unsigned, b.Name == "char"
	case *dwarf.FloatType:
		n.Class = declfile.Float
	case *dwarf.EnumType:
		n.Class, n.Enum = declfile.Unsigned, b
		for _, v := range b.Val {
			if v.Val < 0 {
				n.Class = declfile.Signed
			}
		}
	default:
		return n, false
	}
	fits := n.Size == 1 || n.Size == 2 || n.Size == 4 || n.Size == 8
	if n.Class == declfile.Float {
		fits = n.Size == 4 || n.Size == 8
	}
	return n, fits && facts.Alignment(t) <= n.Size
}

// GoName returns the Go type to write for a number.
func (n Number) GoName() string {
	if n.PlainChar {
		return "uint8"
	}
	return n.Number.GoName()
}

// Is reports whether a Go number has the representation of a C one.
func (n Number) Is(g declfile.Number) bool {
	switch {
	case n.PlainChar:
		return g.Size == 1 && g.Class != declfile.Float
	case n.Enum != nil:
		return g.Size == n.Size && g.Class != declfile.Float
	}
	return g == n.Number
}

// TypeText returns a declaration of what as t, in C. It keeps typedefs, which hold on each
// platform.
//
// C declares a name by its use, from the name outwards. So the text grows around what, while the
// type is followed inwards. For f, a function that returns a pointer to an array of 4 ints:
//
//	function          f                  ->  f(void)
//	of pointer        f(void)            ->  (*f(void))       brackets: [4] and () bind tighter than *
//	to array          (*f(void))         ->  (*f(void))[4]
//	of int            (*f(void))[4]      ->  int (*f(void))[4]
func TypeText(t dwarf.Type, what string) string {
	join := func(s string) string { return strings.TrimSpace(s + " " + what) }
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return join(t.Name)
	case *dwarf.QualType:
		if _, ok := t.Type.(*dwarf.PtrType); ok {
			return TypeText(t.Type, join(t.Qual))
		}
		return t.Qual + " " + TypeText(t.Type, what)
	case *dwarf.PtrType:
		switch t.Type.(type) {
		case *dwarf.FuncType, *dwarf.ArrayType:
			return TypeText(t.Type, "(*"+what+")")
		}
		return TypeText(t.Type, "*"+what)
	case *dwarf.ArrayType:
		if t.Count < 0 {
			return TypeText(t.Type, what+"[]")
		}
		return TypeText(t.Type, fmt.Sprintf("%s[%d]", what, t.Count))
	case *dwarf.FuncType:
		return TypeText(t.ReturnType, what+"("+cParams(t)+")")
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

// shortNames are clang's names for gcc's, so that both make the same file.
var shortNames = map[string]string{
	"short int": "short", "short unsigned int": "unsigned short", "long int": "long",
	"long unsigned int": "unsigned long",
	"long long int":     "long long", "long long unsigned int": "unsigned long long",
}

// Anonymous reports whether C has no name to write for t.
func Anonymous(t dwarf.Type) bool { return Unwritable(t) != "" }

func cParams(t *dwarf.FuncType) string {
	var list []string
	for _, p := range t.ParamType {
		text := "..."
		if _, ok := p.(*dwarf.DotDotDotType); !ok {
			text = TypeText(Unqualified(p), "")
		}
		list = append(list, text)
	}
	return cmp.Or(strings.Join(list, ", "), "void")
}

func (facts *Facts) Describe(t dwarf.Type) string {
	text := TypeText(t, "")
	if n, ok := facts.Number(t); ok {
		switch {
		case n.PlainChar:
			return text + ", a character"
		case n.Enum != nil:
			return text + ", an enum of " + strconv.Itoa(int(n.Size*8)) + " bits"
		}
		return text + ", " + n.Words()
	}
	if what := Unwritable(t); what != "" {
		return what
	}
	if s := Struct(t); s != nil && text != s.Kind+" "+s.StructName {
		return text + ", a " + s.Kind
	}
	return text
}

// WrapIt is what to do about a C type that Go has nothing for.
const WrapIt = "wrap the function in a static inline one in the preamble whose types Go has too"

// Unwritable says what in t has no name in C. It is empty if everything has one.
func Unwritable(t dwarf.Type) string {
	within := func(what string, t dwarf.Type) string {
		if s := Unwritable(t); s != "" {
			return what + s
		}
		return ""
	}
	switch t := t.(type) {
	case *dwarf.QualType:
		return Unwritable(t.Type)
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

// Fact is what generated code relies on about a number or bool type of C.
type Fact struct {
	Text       string
	base       string // without typedefs; equals text when only the size is in doubt
	size       int64
	class      declfile.Class
	eitherSign bool // its sign depends on the platform
	boolean    bool
}

// FactsOf returns what to assert about the number, bool or array in c.
func (facts *Facts) FactsOf(c dwarf.Type) []Fact {
	c = Element(c)
	if Anonymous(c) {
		return nil
	}
	bare := Bare(c)
	f := Fact{Text: TypeText(Unqualified(c), ""), base: TypeText(bare, "")}
	if n, ok := facts.Number(c); ok {
		f.size, f.class, f.eitherSign = n.Size, n.Class, n.PlainChar
		return []Fact{f}
	}
	if IsBool(c) {
		f.size, f.boolean = bare.Size(), true
		return []Fact{f}
	}
	return nil
}

// Condition is what f asserts, an integer constant expression of C. A cast tells the type: 0.5
// becomes 0 in an integer type, -1 stays negative in a signed one, and 2 becomes 1 in _Bool.
func (f Fact) Condition() string {
	size := fmt.Sprintf("sizeof(%s) == %d", f.Text, f.size)
	switch {
	case f.Text == f.base && !strings.HasPrefix(f.Text, "enum "):
		return size
	case f.boolean:
		return size + " && (" + f.Text + ")2 == 1"
	case f.eitherSign:
		return size + " && (" + f.Text + ")0.5 == 0"
	case f.class == declfile.Float:
		return fmt.Sprintf("%s && __builtin_types_compatible_p(%s, %s)", size, f.Text, f.base)
	case f.class == declfile.Unsigned:
		return fmt.Sprintf("%s && (%s)0.5 == 0 && (%s)-1 > 0", size, f.Text, f.Text)
	}
	return fmt.Sprintf("%s && (%s)0.5 == 0 && (%s)-1 < 0", size, f.Text, f.Text)
}
