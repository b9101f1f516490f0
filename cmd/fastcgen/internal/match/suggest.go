package match

import (
	"debug/dwarf"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

func (r *resolver) suggest(c dwarf.Type) string {
	if text := r.goFor(c); text != "" {
		return "declare " + text
	}
	b, _ := r.facts.Bare(c)
	switch b := b.(type) {
	case *dwarf.StructType:
		if b.Incomplete || r.structName(b) != nil || !r.mirrorable(&decl.Type{}, b) {
			return cc.WrapIt
		}
		if b.Kind == "struct" && b.StructName != "" {
			return "declare type NAME C.struct_" + b.StructName + ", and NAME here"
		}
		if b.Kind == "struct" {
			return "declare type NAME C." + cc.TypeText(cc.Unqualified(c), "") + ", and NAME here"
		}
	case *dwarf.PtrType:
		target, _ := r.facts.Bare(b.Type)
		switch t := target.(type) {
		case *dwarf.FuncType:
			return "pass nil in place of it: a leaf function cannot call back"
		case *dwarf.StructType:
			if strings.HasPrefix(t.StructName, "__") { // va_list, and other inner matters
				return cc.WrapIt
			}
			if t.StructName != "" {
				return "declare type NAME C." + t.Kind + "_" + t.StructName + ", and *NAME here"
			}
			return "declare type NAME C." + cc.TypeText(cc.Unqualified(b.Type), "") + ", and *NAME here"
		}
	}
	return cc.WrapIt
}

func (r *resolver) goFor(c dwarf.Type) string {
	b, _ := r.facts.Bare(c)
	if n, ok := r.facts.Number(c); ok {
		return n.GoName()
	}
	switch b := b.(type) {
	case *dwarf.BoolType:
		return "bool"
	case *dwarf.StructType:
		if g := r.structName(b); g != nil && g.Kind == decl.GoMirror {
			return g.Name
		}
	case *dwarf.PtrType:
		target, _ := r.facts.Bare(b.Type)
		n, isNumber := r.facts.Number(b.Type)
		switch target.(type) {
		case *dwarf.VoidType:
			return "[]byte"
		case *dwarf.StructType:
			if g := r.structName(target); g != nil {
				return "*" + g.Name
			}
			return ""
		}
		switch {
		case isNumber && n.PlainChar:
			return "[]byte"
		case isNumber:
			return "[]" + n.GoName()
		}
	}
	return ""
}

// suggestOut says what to declare for a result whose address C takes.
func (r *resolver) suggestOut(c dwarf.Type) string {
	ptr := r.facts.Pointer(c)
	target, _ := r.facts.Bare(ptr.Type)
	switch t := target.(type) {
	case *dwarf.PtrType:
		return r.suggestHandle(t.Type)
	case *dwarf.StructType:
		if g := r.structName(t); g == nil && r.mirrorable(&decl.Type{}, t) || g != nil && g.Kind == decl.GoMirror {
			return r.suggest(ptr.Type)
		}
	default:
		if text := r.goFor(ptr.Type); text != "" {
			return "declare " + text
		}
	}
	return "pass a parameter, not a result: " + r.suggest(c)
}

func (r *resolver) suggestResult(c dwarf.Type) string {
	ptr := r.facts.Pointer(c)
	if ptr == nil {
		if text := r.suggest(c); text != cc.WrapIt {
			return text + " as the result"
		}
		return cc.WrapIt
	}
	n, isNumber := r.facts.Number(ptr.Type)
	if isNumber && n.PlainChar && cc.IsConst(ptr.Type) {
		return "declare string as the result, under //fastc:copy"
	}
	return r.suggestHandle(ptr.Type)
}

// suggestHandle says what to declare for a pointer that C gives.
func (r *resolver) suggestHandle(c dwarf.Type) string {
	b, _ := r.facts.Bare(c)
	s, ok := b.(*dwarf.StructType)
	if _, isFunc := b.(*dwarf.FuncType); isFunc {
		return "use ordinary cgo for this one: a leaf function cannot call back"
	}
	if r.facts.IsVoid(c) || b == nil {
		return "wrap the function in a static inline one in the preamble that gives struct NAME * in place of void " +
			"*, and declare type NAME C.struct_NAME under //fastc:opaque"
	}
	if !ok {
		return "wrap the function in a static inline one in the preamble that writes what it points to into a slice"
	}
	for _, g := range r.order {
		if g.Kind == decl.GoOpaque && r.cType(g.Decl) == b {
			return "declare *" + g.Name
		}
	}
	name := cc.TypeText(cc.Unqualified(c), "")
	if s.StructName != "" {
		name = s.Kind + "_" + s.StructName
	}
	return "declare type NAME C." + name + " under //fastc:opaque, and *NAME here"
}
