//go:build cgo && linux

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// signature is that of C.NAME, as cgo makes it. The types are written with C. and the alias of package unsafe.
type signature struct {
	params []string
	result string // empty for void
}

// unsafeName is how adapters import package unsafe, which the file may import too.
const unsafeName = "fromcgoUnsafe"

// readSignatures reads the signatures of C's functions out of what cgo generates.
func readSignatures(text []byte) (map[string]*signature, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "_cgo_gotypes.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := typedefs(file)
	cName := func(e ast.Expr) string {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && names[id.Name] != "" {
				id.Name = names[id.Name]
			}
			return true
		})
		return strings.NewReplacer("_Ctype_", "C.", "unsafe.", unsafeName+".").Replace(types.ExprString(e))
	}
	all := map[string]*signature{}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name, ok := strings.CutPrefix(f.Name.Name, "_Cfunc_")
		if !ok {
			continue
		}
		s := &signature{}
		for _, p := range variables(f.Type.Params) {
			s.params = append(s.params, cName(p.typ))
		}
		if r := variables(f.Type.Results); len(r) > 0 && types.ExprString(r[0].typ) != "_Ctype_void" {
			s.result = cName(r[0].typ)
		}
		all[name] = s
	}
	return all, nil
}

// typedefs returns the names of structs that have none but by typedef.
func typedefs(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, decl := range file.Decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, spec := range g.Specs {
			t := spec.(*ast.TypeSpec)
			if of := types.ExprString(t.Type); t.Assign.IsValid() && strings.HasPrefix(of, "_Ctype_struct___") {
				names[of] = t.Name.Name
			}
		}
	}
	return names
}

// adapter is a Go function with the signature of C.NAME that calls the leaf function. So a call of C.NAME
// changes in its name alone, and how arguments are converted follows from the two signatures:
//
//	what the leaf function takes   what the adapter makes it of
//	a number, a bool               T(p)
//	*T, a mirror or opaque type    (*T)(unsafe.Pointer(p))
//	a mirror                       *(*T)(unsafe.Pointer(&p))
//	[]T or string                  unsafe.Slice((*T)(p), n), n being the argument that is len, or the N of its require
//	begins as (inout)              *p
//
// What it returns for &result is put where the pointer leads, and its first result is converted back.
type adapter struct {
	*function
	sig   *signature
	types map[string]bool
	errno bool // it returns errno too, as in r, err := C.NAME()
	index int  // of its counter

	lines []string
}

// name returns the adapter's name.
func (a *adapter) name() string {
	if a.errno {
		return "fromcgoErrno_" + a.cName
	}
	return "fromcgo_" + a.cName
}

// local is the name of a parameter in the adapter, where nothing else has it.
func local(name string) string { return "v_" + name }

// text writes the adapter. Its error says why there can be none.
func (a *adapter) text() (string, error) {
	if len(a.args) != len(a.sig.params) {
		return "", fmt.Errorf("it takes %d arguments, and cgo says %d", len(a.args), len(a.sig.params))
	}
	if strings.Contains(strings.Join(a.sig.params, " ")+a.sig.result, "C.struct___") {
		return "", fmt.Errorf("a struct in its signature has no name")
	}
	if err := a.arguments(); err != nil {
		return "", err
	}
	outs, direct := a.results, variable{}
	if a.sig.result != "" {
		if len(outs) == 0 {
			return "", fmt.Errorf("nothing takes its result")
		}
		outs, direct = outs[1:], outs[0]
	}
	a.makeCall(len(outs))
	for i, out := range outs {
		at := slices.IndexFunc(a.args, func(e ast.Expr) bool { return types.ExprString(e) == "&"+out.name })
		if at < 0 {
			return "", fmt.Errorf("the result %s is no argument", out.name)
		}
		a.line("if p%d != nil { *(*%s)(%s.Pointer(p%d)) = o%d }", at, types.ExprString(out.typ), unsafeName, at, i)
	}
	return a.whole(direct), nil
}

func (a *adapter) line(format string, args ...any) {
	a.lines = append(a.lines, "\t"+fmt.Sprintf(format, args...))
}

// arguments makes the leaf function's arguments, those first from which the lengths of others follow.
func (a *adapter) arguments() error {
	var later []variable
	for _, p := range a.params {
		if isSlice(p.typ) {
			later = append(later, p)
		} else if err := a.scalar(p); err != nil {
			return err
		}
	}
	slices.SortStableFunc(later, func(p, q variable) int { return a.lengthAt(q.name) - a.lengthAt(p.name) })
	for _, p := range later {
		if err := a.slice(p); err != nil {
			return err
		}
	}
	return nil
}

func isSlice(t ast.Expr) bool {
	array, ok := t.(*ast.ArrayType)
	return ok && array.Len == nil || types.ExprString(t) == "string"
}

// argument returns the place of an argument of C, -1 where there is none.
func (a *adapter) argument(text string) int {
	return slices.IndexFunc(a.args, func(e ast.Expr) bool { return types.ExprString(e) == text })
}

// lengthAt returns the place of the argument that is the length of a slice, -1 where there is none.
func (a *adapter) lengthAt(name string) int {
	return slices.IndexFunc(a.args, func(e ast.Expr) bool {
		of, ok := lengthOf(e)
		return ok && of == name
	})
}

// scalar makes an argument that is one value.
func (a *adapter) scalar(p variable) error {
	typ, at := types.ExprString(p.typ), a.argument(p.name)
	if at < 0 {
		for result, value := range a.inout {
			if out := a.argument("&" + result); types.ExprString(value) == p.name && out >= 0 {
				a.line("%s := *(*%s)(%s.Pointer(p%d))", local(p.name), typ, unsafeName, out)
				return nil
			}
		}
		return fmt.Errorf("no argument of C is %s", p.name)
	}
	switch _, pointer := p.typ.(*ast.StarExpr); {
	case pointer:
		a.line("%s := (%s)(%s.Pointer(p%d))", local(p.name), typ, unsafeName, at)
	case a.types[typ]:
		a.line("%s := *(*%s)(%s.Pointer(&p%d))", local(p.name), typ, unsafeName, at)
	default:
		a.line("%s := %s(p%d)", local(p.name), typ, at)
	}
	return nil
}

// slice makes an argument of a pointer and a length.
func (a *adapter) slice(p variable) error {
	at, length := a.argument(p.name), ""
	if j := a.lengthAt(p.name); j >= 0 {
		length = fmt.Sprintf("p%d", j)
	}
	for result, value := range a.inout { // C reads it there, and writes another
		if of, ok := lengthOf(value); ok && of == p.name {
			length = fmt.Sprintf("*p%d", a.argument("&"+result))
		}
	}
	if n := a.atLeast[p.name]; length == "" && n != nil {
		length = a.renamed(n)
	}
	switch {
	case at < 0:
		return fmt.Errorf("no argument of C is %s", p.name)
	case length == "":
		return fmt.Errorf("no argument is the length of %s", p.name)
	}
	of, elem := "Slice", "byte"
	if array, ok := p.typ.(*ast.ArrayType); ok {
		elem = types.ExprString(array.Elt)
	} else {
		of = "String"
	}
	a.line("%s := %s.%s((*%s)(%s.Pointer(p%d)), %s)", local(p.name), unsafeName, of, elem, unsafeName, at, length)
	return nil
}

// renamed writes an expression over the parameters.
func (a *adapter) renamed(e ast.Expr) string {
	e, _ = parser.ParseExpr(types.ExprString(e)) // a copy
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && slices.ContainsFunc(a.params, func(p variable) bool { return p.name == id.Name }) {
			id.Name = local(id.Name)
		}
		return true
	})
	return types.ExprString(e)
}

// makeCall calls the leaf function.
func (a *adapter) makeCall(outs int) {
	var takes, gives []string
	if a.sig.result != "" {
		takes = append(takes, "r")
	}
	for i := range outs {
		takes = append(takes, fmt.Sprintf("o%d", i))
	}
	switch {
	case a.errno:
		takes = append(takes, "err")
	case a.hasError:
		takes = append(takes, "_")
	}
	for _, p := range a.params {
		gives = append(gives, local(p.name))
	}
	assign := " := "
	switch {
	case len(takes) == 0:
		assign = ""
	case len(takes) == 1 && takes[0] == "_":
		assign = " = "
	}
	a.line("%s%s%s(%s)", strings.Join(takes, ", "), assign, a.goName, strings.Join(gives, ", "))
}

// whole writes the whole function, with the conversion of C's own result.
func (a *adapter) whole(direct variable) string {
	var params []string
	for i, t := range a.sig.params {
		params = append(params, fmt.Sprintf("p%d %s", i, t))
	}
	result, value := a.sig.result, ""
	if result != "" {
		_, pointer := direct.typ.(*ast.StarExpr)
		switch typ := types.ExprString(direct.typ); {
		case typ == "string":
			result, value = "string", "r"
		case pointer:
			value = fmt.Sprintf("(%s)(%s.Pointer(r))", result, unsafeName)
		case a.types[typ]:
			value = fmt.Sprintf("*(*%s)(%s.Pointer(&r))", result, unsafeName)
		default:
			value = fmt.Sprintf("%s(r)", result)
		}
	}
	if a.errno {
		if result == "" {
			result, value = "[0]byte", "[0]byte{}"
		}
		result, value = "("+result+", error)", value+", err"
	}
	if value != "" {
		a.line("return %s", value)
	}
	return fmt.Sprintf("\nfunc %s(%s) %s {\n\tfromcgoCount(%d)\n%s\n}\n", a.name(), strings.Join(params, ", "), result, a.index, strings.Join(a.lines, "\n"))
}
