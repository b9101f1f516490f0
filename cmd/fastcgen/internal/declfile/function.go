package declfile

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (p *fileParser) function(decl *ast.FuncDecl) {
	f := &Func{
		Name: decl.Name.Name, At: p.at(decl.Name.Pos()), Doc: commentLines(decl.Doc), given: map[string]bool{},
		Inouts: map[string]Arg{}, Writes: map[string]Condition{},
	}
	before := len(p.bad)
	switch {
	case decl.Recv != nil:
		p.refuse(decl.Recv.Pos(), f.Name+" is a method",
			"declare a function, and call it from the method in an ordinary file")
		p.directives(decl.Doc)
		return
	case decl.Type.TypeParams != nil:
		p.refuse(decl.Type.TypeParams.Pos(), f.Name+" has type parameters", "declare a function for each type")
	}
	if decl.Body != nil {
		p.refuse(decl.Body.Pos(), f.Name+" has a body", "leave it out")
	}
	p.params(f, decl.Type.Params)
	p.results(f, decl.Type.Results)
	for _, dir := range p.directives(decl.Doc) {
		p.directive(f, dir)
	}
	if !f.given["call"] && len(p.bad) == before {
		p.bad.Add(f.At, f.Name+" does not say what to call", "write //fastc:call NAME(ARGUMENTS) above it")
	}
	if len(p.bad) == before {
		p.consistent(f)
	}
	p.d.Funcs = append(p.d.Funcs, f)
}

func (p *fileParser) params(f *Func, list *ast.FieldList) {
	for _, field := range list.List {
		t, at, what, do := ParseType(field.Type)
		if e, ok := field.Type.(*ast.Ellipsis); ok {
			at, what, do = e.Pos(), f.Name+" has variadic parameters", "declare a slice"
		}
		if what != "" {
			p.refuse(at, what, do)
			t = &GoType{}
		}
		if len(field.Names) == 0 {
			p.refuse(field.Pos(), "a parameter without a name", "name it: //fastc:call says where it goes")
		}
		for _, id := range field.Names {
			if id.Name == "_" {
				p.refuse(id.Pos(), "a blank parameter", "name it: //fastc:call says where it goes")
			}
			p.newName(f, id, "parameter ")
			f.Params = append(f.Params, Param{id.Name, t, p.at(id.Pos())})
		}
	}
}

// newName refuses a name that f or the generated code has already.
func (p *fileParser) newName(f *Func, id *ast.Ident, what string) {
	switch {
	case id.Name == "_":
	case Reserved(id.Name):
		p.refuse(id.Pos(), "the "+what+id.Name+" hides what the generated code uses by that name", "rename it")
	case f.NameTaken(id.Name):
		p.refuse(id.Pos(), "a second "+id.Name, "rename one")
	}
}

func (p *fileParser) results(f *Func, list *ast.FieldList) {
	if list == nil {
		return
	}
	for i, field := range list.List {
		t, at, what, do := ParseType(field.Type)
		if what != "" {
			p.refuse(at, what, do)
			continue
		}
		isError := t.Kind == GoNamed && t.Name == "error"
		if isError && (i != len(list.List)-1 || len(field.Names) > 1) {
			p.refuse(field.Pos(), "an error that is not the last result", "move it to the end")
			continue
		}
		if len(field.Names) == 0 {
			if !isError {
				f.Results = append(f.Results, Param{"", t, p.at(field.Pos())})
			}
			f.HasError = f.HasError || isError
			continue
		}
		f.Named = true
		for _, id := range field.Names {
			p.newName(f, id, "result ")
			if isError {
				f.HasError, f.ErrName = true, id.Name
			} else {
				f.Results = append(f.Results, Param{id.Name, t, p.at(id.Pos())})
			}
		}
	}
}

// consistent checks what needs no C:
//
//	each parameter of Go       gets to C: itself, its length, or as what a result begins as
//	each result of Go          is C's own, which at most one can be, or one whose address C gets
//	an error                   is last, and there if //fastc:fails is
func (p *fileParser) consistent(f *Func) {
	for _, q := range f.Params {
		if !f.passes(q.Name) {
			p.bad.Add(q.At, "the parameter "+q.Name+" is not passed to C", "add it to //fastc:call")
		}
	}
	var direct []Param
	for _, r := range f.Results {
		if !f.out(r.Name) {
			direct = append(direct, r)
		}
	}
	if len(direct) > 1 {
		p.bad.Add(direct[1].At, "two results, and a C function returns one",
			"name the results and pass the others as &NAME in //fastc:call")
	}
	for _, r := range f.Results {
		if t := r.Typ.Base(); f.NameTaken(t) {
			p.bad.Add(r.At, t+" is a type here, and the name of a parameter or result", "rename that")
		}
	}
	for name, a := range f.Inouts {
		if !f.out(name) {
			p.bad.Add(a.At, "//fastc:inout "+name+", which C gets no address of", "pass &"+name+" in //fastc:call")
		}
	}
	for name, c := range f.Writes {
		if !f.out(name) {
			p.bad.Add(c.At, "//fastc:writes "+name+", which C gets no address of", "pass &"+name+" in //fastc:call")
		}
	}
	if site := f.SiteName(); f.Budget != nil && f.NameTaken(site) {
		p.bad.Add(f.At, site+" is the name of a parameter or result, and of the variable that holds the budget",
			"rename the parameter or result")
	}
	if f.Fails != nil && !f.HasError {
		p.bad.Add(f.Fails.At, "//fastc:fails without an error result", "add error as the last result")
	}
}

func GoParams(f *Func) string { return strings.Join(goList(f.Params), ", ") }

// goList writes each parameter or result. One without a type has that of the next.
func goList(params []Param) []string {
	var list []string
	for i, p := range params {
		text := strings.TrimSpace(p.Name + " " + p.Typ.String())
		if p.Name != "" && i+1 < len(params) && params[i+1].Typ.String() == p.Typ.String() {
			text = p.Name
		}
		list = append(list, text)
	}
	return list
}

func GoResults(f *Func) string {
	list := goList(f.Results)
	if f.HasError {
		list = append(list, strings.TrimSpace(f.ErrName+" error"))
	}
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1 && !f.Named:
		return " " + list[0]
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// Reserved reports whether generated code uses a name.
func Reserved(name string) bool {
	return slices.Contains(reserved, name) || strings.HasPrefix(name, "fastc_")
}

var reserved = strings.Fields(`C unsafe fastc runtime errors syscall cgo new len cap panic nil true false error string
	bool byte rune int uint uintptr int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 init _`)

// parseArg reads an argument in //fastc:call: an expression of Go in one of ArgKind's forms.
func (p *fileParser) parseArg(f *Func, e ast.Expr, at token.Position) (Arg, bool) {
	const do = "write a parameter, len(x), &result, a literal or C.NAME"
	if kind, text, ok := literal(e); ok {
		return Arg{kind, text, at}, true
	}
	refuse := func(what, do string) (Arg, bool) {
		p.bad.Add(at, what, do)
		return Arg{}, false
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.parseArg(f, e.X, at)
	case *ast.Ident:
		switch {
		case f.Param(e.Name) != nil:
			return Arg{ArgParam, e.Name, at}, true
		case e.Name == "true" || e.Name == "false":
			return Arg{ArgBool, e.Name, at}, true
		case e.Name == "nil":
			return Arg{ArgNil, e.Name, at}, true
		}
		return refuse(f.Name+" has no parameter "+e.Name, do)
	case *ast.CallExpr:
		fun, ok := e.Fun.(*ast.Ident)
		if !ok || fun.Name != "len" || len(e.Args) != 1 {
			return refuse("a call of "+ExprText(e.Fun)+" as an argument", do)
		}
		x, ok := e.Args[0].(*ast.Ident)
		if !ok || f.Param(x.Name) == nil {
			return refuse("len of what is no parameter of "+f.Name, "write len(PARAMETER)")
		}
		return Arg{ArgLen, x.Name, at}, true
	case *ast.UnaryExpr:
		id, ok := e.X.(*ast.Ident)
		switch {
		case !ok || e.Op != token.AND:
		case f.Result(id.Name) != nil && id.Name != "_":
			return Arg{ArgResult, id.Name, at}, true
		default:
			return refuse(f.Name+" has no result "+id.Name,
				"name the result, as in ("+id.Name+" int32); a parameter is passed without &")
		}
	case *ast.SelectorExpr:
		if name, ok := PlainC(e); ok {
			return Arg{ArgC, name, at}, true
		}
	}
	return refuse(ExprText(e)+" as an argument", do)
}

// literal returns a number as C reads it.
func literal(e ast.Expr) (kind ArgKind, text string, ok bool) {
	minus := ""
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.SUB {
		minus, e = "-", u.X
	}
	lit, ok := e.(*ast.BasicLit)
	switch {
	case ok && lit.Kind == token.INT:
		text = lit.Value
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			text = strconv.FormatUint(n, 10)
		}
		return ArgInt, minus + text, true
	case ok && lit.Kind == token.FLOAT:
		return ArgFloat, minus + lit.Value, true
	}
	return 0, "", false
}

func ExprText(e ast.Expr) string { return types.ExprString(e) }

func PlainC(n ast.Node) (name string, ok bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := sel.X.(*ast.Ident)
	return sel.Sel.Name, ok && x.Name == "C"
}

var CIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func constantsOfC(e ast.Expr, at func(token.Pos) token.Position) []Name {
	var uses []Name
	ast.Inspect(e, func(n ast.Node) bool {
		if name, ok := PlainC(n); ok {
			uses = append(uses, Name{name, at(n.Pos())})
		}
		return true
	})
	return uses
}
