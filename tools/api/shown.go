package main

import "go/types"

// looker finds the internal types in types that users meet.
type looker struct {
	own   *types.Package
	done  map[types.Type]bool
	found []string
}

func (l *looker) at(t types.Type) {
	if t == nil || l.done[t] {
		return
	}
	l.done[t] = true
	switch t := t.(type) {
	case *types.Alias:
		l.name(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == l.own { // of another package: that one is looked at itself
			l.at(t.Rhs())
		}
	case *types.Named:
		l.name(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() == l.own && !t.Obj().Exported() {
			l.unexported(t)
		}
	case *types.Signature:
		l.at(t.Params())
		l.at(t.Results())
		for p := range t.TypeParams().TypeParams() {
			l.at(p.Constraint())
		}
	case *types.Tuple:
		for v := range t.Variables() {
			l.at(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				l.at(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			l.at(m.Signature())
		}
		for e := range t.EmbeddedTypes() {
			l.at(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			l.at(term.Type())
		}
	case *types.Map:
		l.at(t.Key())
		l.at(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		l.at(t.Elem())
	}
}

// name notes a type that users could not name.
func (l *looker) name(obj *types.TypeName, args *types.TypeList) {
	if obj.Pkg() != nil && isInternal(obj.Pkg().Path()) {
		l.found = append(l.found, obj.Pkg().Path()+"."+obj.Name())
	}
	for t := range args.Types() {
		l.at(t)
	}
}

// unexported looks into a type of the package itself that has no entry of its own in the record,
// but that users hold: a function's result, an embedded field.
func (l *looker) unexported(t *types.Named) {
	l.at(t.Underlying())
	for sel := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if sel.Obj().Exported() {
			l.at(sel.Type())
		}
	}
}
