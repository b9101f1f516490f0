package main

import (
	"debug/dwarf"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mirror is a Go struct laid out as a C one.
type mirror struct {
	decl    *typeDecl
	size    int64
	align   int64
	lines   []string      // of the struct
	offsets []mirrorField // for the assertions
	numbers []cTypeFact
}

// mirrorField is a field's place, as Go and C write its name.
type mirrorField struct {
	goPath, cPath string
	offset        int64
	cType         string // for the assertion, empty for an anonymous struct
}

// mirror makes the Go struct for a declared C one.
func (r *resolver) mirror(t *typeDecl) *mirror {
	s := r.cType(t).(*dwarf.StructType)
	mr := &mirror{decl: t, size: s.ByteSize}
	before := len(r.bad)
	mr.lines, mr.align = r.fields(t, mr, s, "", "", 0, "\t")
	if o := r.facts.odd[r.facts.types[t.cText()]]; len(r.bad) == before && (o.align > mr.align || r.facts.odd[s].align > mr.align) {
		r.bad.add(t.at, t.cText()+" asks for an alignment that Go does not give", "put //fastc:opaque above it to pass pointers to it only")
	}
	return mr
}

// fields makes the lines for the fields of s, which stands at offset base in t, and says how Go aligns s.
func (r *resolver) fields(t *typeDecl, mr *mirror, s *dwarf.StructType, goPath, cPath string, base int64, indent string) (lines []string, align int64) {
	align = 1
	end := int64(0)
	names := map[string]bool{}
	refuse := func(f *dwarf.StructField, what, do string) {
		field := cPath + f.Name
		if f.Name == "" {
			field = cPath + "a field without a name"
		}
		r.bad.add(t.at, t.cText()+": "+field+" "+what, do)
	}
	const opaque = "put //fastc:opaque above the type to pass pointers to it only"
	if len(s.Field) == 0 {
		r.bad.add(t.at, t.cText()+" has no fields", opaque)
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
		text, size, fieldAlign, what, do := r.fieldType(t, mr, f.Type, goPath+name+".", cPath+f.Name+".", base+f.ByteOffset, indent)
		if what != "" {
			refuse(f, what, do)
			continue
		}
		if f.ByteOffset%fieldAlign != 0 {
			refuse(f, fmt.Sprintf("is at offset %d, where Go puts nothing of its size (a packed struct)", f.ByteOffset), opaque)
			continue
		}
		if gap := f.ByteOffset - end; gap > 0 {
			lines = append(lines, fmt.Sprintf("%s_ [%d]byte", indent, gap))
		}
		lines = append(lines, indent+name+" "+text)
		place := mirrorField{goPath + name, cPath + f.Name, base + f.ByteOffset, cText(f.Type, "")}
		if anonymous(f.Type) {
			place.cType = ""
		}
		mr.offsets = append(mr.offsets, place)
		end, align = f.ByteOffset+size, max(align, fieldAlign)
	}
	if gap := s.ByteSize - end; gap > 0 && len(s.Field) > 0 {
		lines = append(lines, fmt.Sprintf("%s_ [%d]byte", indent, gap))
	}
	if s.ByteSize%align != 0 {
		r.bad.add(t.at, fmt.Sprintf("%s has %d bytes, which Go would round up (a packed struct)", t.cText(), s.ByteSize), opaque)
	}
	return lines, align
}

// fieldType returns the Go type of a field with its size and alignment, or what is wrong with it.
func (r *resolver) fieldType(t *typeDecl, mr *mirror, c dwarf.Type, goPath, cPath string, base int64, indent string) (text string, size, align int64, what, do string) {
	const opaque = "put //fastc:opaque above the type to pass pointers to it only"
	b, aligned := r.facts.bare(c)
	if n, ok := r.facts.number(c); ok {
		mr.numbers = append(mr.numbers, r.facts.factsOf(c)...)
		name := n.number.goName()
		if n.plainChar {
			name = "byte"
		}
		for _, g := range r.order {
			if g.kind == goNumber && n.enum != nil && r.cType(g.decl) == b {
				name = g.name
				break
			}
		}
		return name, n.size, n.size, "", ""
	}
	if aligned > 1 {
		return "", 0, 0, "asks for an alignment that Go does not give", opaque
	}
	switch b := b.(type) {
	case *dwarf.BoolType:
		mr.numbers = append(mr.numbers, r.facts.factsOf(c)...)
		return "bool", 1, 1, "", ""
	case *dwarf.ArrayType:
		switch {
		case r.facts.odd[b].vector:
			return "", 0, 0, "is a vector, which Go does not have", opaque
		case b.Count <= 0:
			return "", 0, 0, "is an array without a length", opaque
		}
		text, size, align, what, do = r.fieldType(t, mr, b.Type, goPath, cPath, base, indent)
		if strings.HasPrefix(text, "struct {") {
			return "", 0, 0, "is an array of structs without a name", opaque
		}
		return fmt.Sprintf("[%d]%s", b.Count, text), size * b.Count, align, what, do
	case *dwarf.StructType:
		return r.structField(t, mr, b, c, goPath, cPath, base, indent)
	case *dwarf.PtrType:
		if target, _ := r.facts.bare(b.Type); target != nil {
			if _, ok := target.(*dwarf.FuncType); ok {
				return "", 0, 0, "is a pointer to a function, and a leaf function cannot call back", opaque
			}
		}
		return "", 0, 0, "is a pointer: Go's collector does not look into C's structs", opaque
	}
	return "", 0, 0, "is " + r.facts.describe(c) + ", which Go does not have", opaque
}

// structField returns the Go type of a struct within a struct.
func (r *resolver) structField(t *typeDecl, mr *mirror, b *dwarf.StructType, c dwarf.Type, goPath, cPath string, base int64, indent string) (text string, size, align int64, what, do string) {
	if b.Kind == "union" {
		return "", 0, 0, "is a union, which Go does not have", "put //fastc:opaque above the type to pass pointers to it only"
	}
	const opaque = "put //fastc:opaque above the type to pass pointers to it only"
	if !r.mirrorable(t, b) { // or the advice would lead to that struct, and from there back
		return "", 0, 0, "is " + cText(c, "") + ", of which Go can have no mirror", opaque
	}
	if g := r.structName(b); g != nil {
		if g.kind == goOpaque {
			return "", 0, 0, "is a value of " + g.name + ", which C keeps to itself", opaque
		}
		inner := r.layoutOf(g)
		return g.name, inner.size, inner.align, "", ""
	}
	if !anonymous(c) {
		name := "struct_" + b.StructName
		if b.StructName == "" {
			name = cText(unqualified(c), "")
		}
		return "", 0, 0, "is " + cText(c, ""), "declare type NAME C." + name + " too"
	}
	lines, align := r.fields(t, mr, b, goPath, cPath, base, indent+"\t")
	return "struct {\n" + strings.Join(lines, "\n") + "\n" + indent + "}", b.ByteSize, align, "", ""
}

// mirrorable reports whether a Go struct can be laid out as s, a field of t, once the structs within it
// are declared. It is tried on a resolver of its own, in which they are.
func (r *resolver) mirrorable(t *typeDecl, s *dwarf.StructType) bool {
	if s.Incomplete {
		return false
	}
	try := &resolver{facts: r.facts, declared: r.declared, order: slices.Clone(r.order), stands: maps.Clone(r.stands)}
	if try.stands == nil {
		try.stands = map[string]dwarf.Type{}
	}
	try.stand(s)
	try.fields(t, &mirror{decl: t}, s, "", "", 0, "")
	return len(try.bad) == 0
}

// canMirror reports whether a Go struct can be laid out as s, once the structs within it are declared.
func canMirror(facts *cFacts, s *dwarf.StructType) bool {
	return (&resolver{facts: facts}).mirrorable(&typeDecl{}, s)
}

// stand declares the structs within s that have no declaration.
func (r *resolver) stand(s *dwarf.StructType) {
	for _, f := range s.Field {
		c := f.Type
		b, _ := r.facts.bare(c)
		for {
			a, ok := b.(*dwarf.ArrayType)
			if !ok {
				break
			}
			c = a.Type
			b, _ = r.facts.bare(c)
		}
		inner, ok := b.(*dwarf.StructType)
		if !ok || inner.Kind != "struct" || r.structName(inner) != nil {
			continue
		}
		if !anonymous(c) {
			t := &typeDecl{name: "_", cName: "struct_" + inner.StructName}
			if inner.StructName == "" {
				t.cName = cText(unqualified(c), "")
			}
			r.stands[t.cText()] = inner
			r.order = append(r.order, &goType{kind: goMirror, name: "_", decl: t})
		}
		r.stand(inner)
	}
}

// layoutOf returns size and alignment of a mirror that another one holds. What is wrong with it is
// said where it is declared.
func (r *resolver) layoutOf(g *goType) *mirror {
	try := *r
	try.bad = nil
	return try.mirror(g.decl)
}

// fieldName makes an exported Go name of a C field's: in_use is InUse, user_id is UserID.
func fieldName(c string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(c, "_") {
		switch upper := strings.ToUpper(part); {
		case initialisms[upper]:
			b.WriteString(upper)
		case part != "":
			b.WriteString(upper[:1] + part[1:])
		}
	}
	name := b.String()
	switch {
	case !cIdentifier.MatchString(name) && (name == "" || name[0] > '9'):
		return "" // letters that C has by extension
	case name[0] < 'A':
		return "X" + name
	}
	return name
}

// initialisms are written in capitals, as linters ask.
var initialisms = map[string]bool{
	"API": true, "CPU": true, "DNS": true, "EOF": true, "GID": true, "HTTP": true, "ID": true, "IP": true, "JSON": true, "PID": true,
	"RAM": true, "RPC": true, "SQL": true, "TCP": true, "TLS": true, "TTL": true, "UDP": true, "UID": true, "URI": true, "URL": true, "XML": true,
}
