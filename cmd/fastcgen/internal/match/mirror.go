package match

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

// Mirror is a Go struct laid out as a C one.
type Mirror struct {
	Decl    *declfile.Type
	Size    int64
	Align   int64
	Lines   []string
	Offsets []Field
	Numbers []cc.Fact
}

// Field is a field's place, as Go and C write its name.
type Field struct {
	GoName, CName string
	Offset        int64
	CType         string // empty for an anonymous enum
}

const opaque = "put //fastc:opaque above the type to pass pointers to it only"

func (r *resolver) mirror(t *declfile.Type) *Mirror {
	s := r.cType(t).(*dwarf.StructType)
	mr := &Mirror{Decl: t, Size: s.ByteSize}
	before := len(r.bad)
	mr.Lines, mr.Align = r.fields(t, mr, s)
	if o := r.facts.Odd[r.facts.Types[t.CText()]]; len(r.bad) == before &&
		(o.Align > mr.Align || r.facts.Odd[s].Align > mr.Align) {
		r.bad.Add(t.At, t.CText()+" asks for an alignment that Go does not give",
			"put //fastc:opaque above it to pass pointers to it only")
	}
	return mr
}

// fields makes the lines for the fields of s, and returns its alignment in Go.
// A blank field of bytes fills each gap that C leaves and Go would not:
//
//	struct { char kind; __attribute__((aligned(8))) int n; }      Kind byte     offset 0
//	                                                              _ [7]byte     1: n belongs at 8
//	                                                              N int32       8
//	                                                              _ [4]byte     12: C rounds the size up to 16
//
// Invariant: no field begins before end, and each begins at a multiple of its alignment in Go. A
// packed struct, a union or one with bit-fields has no mirror.
func (r *resolver) fields(t *declfile.Type, mr *Mirror, s *dwarf.StructType) (lines []string, align int64) {
	align = 1
	end := int64(0)
	names := map[string]bool{}
	refuse := func(f *dwarf.StructField, what, do string) {
		r.bad.Add(t.At, t.CText()+": "+cmp.Or(f.Name, "a field without a name")+" "+what, do)
	}
	if len(s.Field) == 0 {
		r.bad.Add(t.At, t.CText()+" has no fields", opaque)
	}
	for _, f := range s.Field {
		name := fieldName(f.Name)
		switch {
		case f.BitSize != 0:
			refuse(f, "is a bit-field, which Go does not have", opaque)
			continue
		case name == "":
			refuse(f, "cannot be named in Go", opaque)
			continue
		case names[name]:
			refuse(f, "would be a second "+name+" in Go", opaque)
			continue
		}
		names[name] = true
		text, size, fieldAlign, what, do := r.fieldType(t, mr, f.Type)
		if what != "" {
			refuse(f, what, do)
			continue
		}
		if f.ByteOffset%fieldAlign != 0 {
			refuse(f, fmt.Sprintf("is at offset %d, where Go puts nothing of its size (a packed struct)", f.ByteOffset),
				opaque)
			continue
		}
		if gap := f.ByteOffset - end; gap > 0 {
			lines = append(lines, fmt.Sprintf("_ [%d]byte", gap))
		}
		lines = append(lines, name+" "+text)
		place := Field{name, f.Name, f.ByteOffset, cc.TypeText(f.Type, "")}
		if cc.Anonymous(f.Type) {
			place.CType = ""
		}
		mr.Offsets = append(mr.Offsets, place)
		end, align = f.ByteOffset+size, max(align, fieldAlign)
	}
	if gap := s.ByteSize - end; gap > 0 && len(s.Field) > 0 {
		lines = append(lines, fmt.Sprintf("_ [%d]byte", gap))
	}
	if s.ByteSize%align != 0 {
		r.bad.Add(t.At, fmt.Sprintf("%s has %d bytes, which Go would round up (a packed struct)", t.CText(),
			s.ByteSize), opaque)
	}
	return lines, align
}

// fieldType returns a field's Go type, size and alignment, or what is wrong with it.
func (r *resolver) fieldType(
	t *declfile.Type, mr *Mirror, c dwarf.Type,
) (text string, size, align int64, what, do string) {
	b := cc.Bare(c)
	if n, ok := r.facts.Number(c); ok {
		mr.Numbers = append(mr.Numbers, r.facts.FactsOf(c)...)
		name := n.Number.GoName()
		if n.PlainChar {
			name = "byte"
		}
		for _, g := range r.order {
			if g.Kind == declfile.GoNumber && n.Enum != nil && r.cType(g.Decl) == b {
				name = g.Name
				break
			}
		}
		return name, n.Size, n.Size, "", ""
	}
	if r.facts.Alignment(c) > 1 {
		return "", 0, 0, "asks for an alignment that Go does not give", opaque
	}
	switch b := b.(type) {
	case *dwarf.BoolType:
		mr.Numbers = append(mr.Numbers, r.facts.FactsOf(c)...)
		return "bool", 1, 1, "", ""
	case *dwarf.ArrayType:
		switch {
		case r.facts.Odd[b].Vector:
			return "", 0, 0, "is a vector, which Go does not have", opaque
		case b.Count <= 0:
			return "", 0, 0, "is an array without a length", opaque
		}
		text, size, align, what, do = r.fieldType(t, mr, b.Type)
		return fmt.Sprintf("[%d]%s", b.Count, text), size * b.Count, align, what, do
	case *dwarf.StructType:
		return r.structField(t, mr, b, c)
	case *dwarf.PtrType:
		if _, ok := cc.Bare(b.Type).(*dwarf.FuncType); ok {
			return "", 0, 0, "is a pointer to a function, and a leaf function cannot call back", opaque
		}
		return "", 0, 0, "is a pointer: Go's collector does not look into C's structs", opaque
	}
	return "", 0, 0, "is " + r.facts.Describe(c) + ", which Go does not have", opaque
}

func (r *resolver) structField(
	t *declfile.Type, mr *Mirror, b *dwarf.StructType, c dwarf.Type,
) (text string, size, align int64, what, do string) {
	if b.Kind == "union" {
		return "", 0, 0, "is a union, which Go does not have", opaque
	}
	if cc.Anonymous(c) {
		return "", 0, 0, "is a struct without a name", opaque
	}
	if !r.trying && !r.mirrorable(t, b) { // otherwise the advice would go round in a circle
		return "", 0, 0, "is " + cc.TypeText(c, "") + ", of which Go can have no mirror", opaque
	}
	if g := r.structName(b); g != nil {
		if g.Kind == declfile.GoOpaque {
			return "", 0, 0, "is a value of " + g.Name + ", which C keeps to itself", opaque
		}
		inner := r.layoutOf(g)
		return g.Name, inner.Size, inner.Align, "", ""
	}
	if !r.trying {
		return "", 0, 0, "is " + cc.TypeText(c, ""), "declare type NAME C." + cgoName(c, b) + " too"
	}
	_, align = r.fields(t, mr, b)
	return cgoName(c, b), b.ByteSize, align, "", ""
}

// mirrorable reports whether a Go struct can be laid out as s, once the structs within are declared.
func (r *resolver) mirrorable(t *declfile.Type, s *dwarf.StructType) bool {
	if s.Incomplete {
		return false
	}
	try := *r
	try.trying, try.bad = true, nil
	try.fields(t, &Mirror{Decl: t}, s)
	return len(try.bad) == 0
}

// CanMirror is mirrorable without declarations.
func CanMirror(facts *cc.Facts, s *dwarf.StructType) bool {
	return (&resolver{facts: facts}).mirrorable(&declfile.Type{}, s)
}

// cgoName returns what stands behind C. for a struct. It is the typedef's name if s has none.
func cgoName(c dwarf.Type, s *dwarf.StructType) string {
	if s.StructName == "" {
		return cc.TypeText(cc.Unqualified(c), "")
	}
	return s.Kind + "_" + s.StructName
}

func (r *resolver) layoutOf(g *declfile.GoType) *Mirror {
	try := *r
	try.bad = nil
	return try.mirror(g.Decl)
}

func fieldName(c string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(c, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	name := b.String()
	switch {
	case !declfile.CIdentifier.MatchString(name) && (name == "" || name[0] > '9'):
		return ""
	case name[0] < 'A':
		return "X" + name
	}
	return name
}
