package main

import (
	"debug/dwarf"
	"strings"
)

// suggest says what to declare in Go for C's c.
func (r *resolver) suggest(c dwarf.Type) string {
	if text := r.goFor(c); text != "" {
		return "declare " + text
	}
	b, _ := r.facts.bare(c)
	switch b := b.(type) {
	case *dwarf.StructType:
		if b.Kind == "struct" && b.StructName != "" {
			return "declare type NAME C.struct_" + b.StructName + ", and NAME here"
		}
		if b.Kind == "struct" {
			return "declare type NAME C." + cText(unqualified(c), "") + ", and NAME here"
		}
	case *dwarf.PtrType:
		target, _ := r.facts.bare(b.Type)
		switch t := target.(type) {
		case *dwarf.FuncType:
			return "a leaf function cannot call back: pass nil, or use ordinary cgo for this one"
		case *dwarf.StructType:
			if strings.HasPrefix(t.StructName, "__") { // va_list, and other inner matters
				return wrapIt
			}
			if t.StructName != "" {
				return "declare type NAME C." + t.Kind + "_" + t.StructName + ", and *NAME here"
			}
			return "declare type NAME C." + cText(unqualified(b.Type), "") + ", and *NAME here"
		}
	}
	return wrapIt
}

// goFor returns the Go type for c, empty when there is none.
func (r *resolver) goFor(c dwarf.Type) string {
	b, _ := r.facts.bare(c)
	if n, ok := r.facts.number(c); ok {
		return n.goName()
	}
	switch b := b.(type) {
	case *dwarf.BoolType:
		return "bool"
	case *dwarf.StructType:
		if g := r.structName(b); g != nil && g.kind == goMirror {
			return g.name
		}
	case *dwarf.PtrType:
		target, _ := r.facts.bare(b.Type)
		n, isNumber := r.facts.number(b.Type)
		switch target.(type) {
		case *dwarf.VoidType:
			return "[]byte"
		case *dwarf.StructType:
			if g := r.structName(target); g != nil {
				return "*" + g.name
			}
			return ""
		}
		switch {
		case isNumber && n.plainChar && isConst(b.Type):
			return "string or []byte"
		case isNumber && n.plainChar:
			return "[]byte"
		case isNumber:
			return "[]" + n.goName() + " or *" + n.goName()
		}
	}
	return ""
}

// suggestOut says what to declare for a result whose address C takes.
func (r *resolver) suggestOut(c dwarf.Type) string {
	b, _ := r.facts.bare(c)
	ptr := b.(*dwarf.PtrType)
	target, _ := r.facts.bare(ptr.Type)
	if _, isPtr := target.(*dwarf.PtrType); isPtr {
		return "declare the result as a pointer to an opaque type"
	}
	if text := r.goFor(ptr.Type); text != "" {
		return "declare " + text + " or an array of it"
	}
	return "pass a parameter, not a result, or " + wrapIt
}
