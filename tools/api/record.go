package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"
)

// features returns what a package offers, a line each as in the record but without the package, and the
// internal types that each one shows, by their full names.
func features(p *apiPackage) map[string][]string {
	w := &walker{pkg: p, seen: map[string][]string{}}
	for _, name := range p.Scope().Names() {
		if ast.IsExported(name) {
			w.object(p.Scope().Lookup(name))
		}
	}
	return w.seen
}

// walker collects the features of one package.
type walker struct {
	pkg  *apiPackage
	seen map[string][]string // several ways may lead to a promoted field
}

// add keeps a feature, with the internal types among those that it shows.
func (w *walker) add(shown []types.Type, format string, args ...any) {
	look := looker{own: w.pkg.Package, done: map[types.Type]bool{}}
	for _, t := range shown {
		look.at(t)
	}
	slices.Sort(look.found)
	w.seen[fmt.Sprintf(format, args...)] = slices.Compact(look.found)
}

func (w *walker) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		w.add([]types.Type{obj.Type()}, "const %s %s", obj.Name(), w.text(obj.Type()))
		w.add(nil, "const %s = %s", obj.Name(), obj.Val().ExactString())
	case *types.Var:
		w.add([]types.Type{obj.Type()}, "var %s %s", obj.Name(), w.text(obj.Type()))
	case *types.Func:
		sig := obj.Signature()
		w.add([]types.Type{sig}, "func %s%s%s", obj.Name(), w.params(sig.TypeParams()), w.signature(sig))
	case *types.TypeName:
		w.typeName(obj)
	}
}

func (w *walker) typeName(obj *types.TypeName) {
	name := obj.Name()
	if obj.IsAlias() {
		to := types.Unalias(obj.Type())
		if a, ok := obj.Type().(*types.Alias); ok {
			to = a.Rhs()
		}
		w.add([]types.Type{to}, "type %s = %s", name, w.text(to))
		return
	}
	named := obj.Type().(*types.Named)
	head := name + w.params(named.TypeParams())
	right := w.pkg.defined[name] // an internal type may stand there, whatever is under it
	switch under := named.Underlying().(type) {
	case *types.Struct:
		w.add(declared(right), "type %s struct", head)
		w.fields(head, under)
	case *types.Interface:
		w.methodsOf(head, under)
		return // its method set is what was just written
	default:
		w.add([]types.Type{right}, "type %s %s", head, w.text(under))
	}
	values := types.NewMethodSet(named)
	for sel := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		if !sel.Obj().Exported() {
			continue
		}
		recv := "*" + name
		if values.Lookup(sel.Obj().Pkg(), sel.Obj().Name()) != nil {
			recv = name
		}
		sig := sel.Type().(*types.Signature)
		w.add([]types.Type{sig}, "method (%s%s) %s%s", recv, names(named.TypeParams()), sel.Obj().Name(), w.signature(sig))
	}
}

// declared returns the type after a declared name, unless it is written out there: then its parts
// are features of their own.
func declared(right types.Type) []types.Type {
	switch right.(type) {
	case *types.Struct, *types.Interface:
		return nil
	}
	return []types.Type{right}
}

// fields adds the exported fields of a struct, the embedded ones, and those that come with an
// embedded type that users cannot name.
func (w *walker) fields(head string, s *types.Struct) {
	for f := range s.Fields() {
		t := []types.Type{f.Type()}
		switch {
		case f.Embedded() && f.Exported():
			w.add(t, "type %s struct, embedded %s", head, w.text(f.Type()))
		case f.Exported():
			w.add(t, "type %s struct, %s %s", head, f.Name(), w.text(f.Type()))
		}
		if f.Embedded() && hidden(f.Type(), w.pkg.Package) {
			if inner, ok := deref(f.Type()).Underlying().(*types.Struct); ok {
				w.fields(head, inner)
			}
		}
	}
}

// methodsOf adds an interface and its methods.
func (w *walker) methodsOf(head string, t *types.Interface) {
	var list []string
	closed := false
	for m := range t.Methods() {
		if !m.Exported() {
			closed = true
			continue
		}
		list = append(list, m.Name())
		w.add([]types.Type{m.Signature()}, "type %s interface, %s%s", head, m.Name(), w.signature(m.Signature()))
	}
	if closed {
		list = append(list, "unexported methods")
	}
	slices.Sort(list)
	body := "{ " + strings.Join(list, ", ") + " }"
	if len(list) == 0 {
		body = "{}"
	}
	if !t.IsMethodSet() { // a constraint: its types are what it is
		body = strings.TrimPrefix(w.text(t), "interface")
	}
	w.add(declared(w.pkg.defined[strings.SplitN(head, "[", 2)[0]]), "type %s interface %s", head, body)
}

// text writes a type without the names of parameters, which are no API.
func (w *walker) text(t types.Type) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg.Package {
			return ""
		}
		return p.Name()
	})
	x, err := parser.ParseExpr(text)
	if err != nil {
		return text
	}
	ast.Inspect(x, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncType); ok {
			for _, list := range []*ast.FieldList{f.Params, f.Results} {
				for i := range list.NumFields() {
					list.List[i].Names = nil // types.TypeString gives each one a field
				}
			}
		}
		return true
	})
	return types.ExprString(x)
}

func (w *walker) signature(s *types.Signature) string {
	return strings.TrimPrefix(w.text(types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())), "func")
}

// params writes type parameters with their constraints.
func (w *walker) params(list *types.TypeParamList) string {
	return inBrackets(list, func(p *types.TypeParam) string { return p.Obj().Name() + " " + w.text(p.Constraint()) })
}

// names writes the names of type parameters, as a receiver has them.
func names(list *types.TypeParamList) string {
	return inBrackets(list, func(p *types.TypeParam) string { return p.Obj().Name() })
}

func inBrackets(list *types.TypeParamList, write func(*types.TypeParam) string) string {
	var all []string
	for p := range list.TypeParams() {
		all = append(all, write(p))
	}
	if all == nil {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func deref(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// hidden reports whether users cannot name a type, so that what is in it has to be written where
// they meet it: an unexported one of the package, or one of an internal package.
func hidden(t types.Type, own *types.Package) bool {
	n, ok := types.Unalias(deref(t)).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	return isInternal(n.Obj().Pkg().Path()) || n.Obj().Pkg() == own && !n.Obj().Exported()
}

// record returns the lines of the record, sorted: what all systems offer once,
// and the rest with the systems that offer it.
func record(loaded map[system][]*apiPackage) (lines []string) {
	type feature struct{ path, text string }
	has := map[feature][]system{}
	for sys, pkgs := range loaded {
		for _, p := range pkgs {
			for text := range features(p) {
				f := feature{p.Path(), text}
				has[f] = append(has[f], sys)
			}
		}
	}
	for f, on := range has {
		if len(on) == len(loaded) {
			lines = append(lines, fmt.Sprintf("pkg %s, %s", f.path, f.text))
			continue
		}
		for _, sys := range on {
			lines = append(lines, fmt.Sprintf("pkg %s (%s), %s", f.path, sys, f.text))
		}
	}
	slices.Sort(lines)
	return lines
}
