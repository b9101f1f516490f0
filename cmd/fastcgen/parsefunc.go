package main

import (
	"fmt"
	"go/ast"
)

// function reads a function declaration.
func (p *fileParser) function(decl *ast.FuncDecl) {
	f := &funcDecl{
		name: decl.Name.Name, at: p.at(decl.Name.Pos()), doc: commentLines(decl.Doc), given: map[string]bool{},
		inouts: map[string]callArg{}, writes: map[string]condition{},
	}
	before := len(p.bad)
	switch {
	case decl.Recv != nil:
		p.refuse(decl.Recv.Pos(), f.name+" is a method", "declare a function, and call it from the method in an ordinary file")
	case decl.Type.TypeParams != nil:
		p.refuse(decl.Type.TypeParams.Pos(), f.name+" has type parameters", "declare a function for each type")
	}
	if decl.Body != nil {
		p.refuse(decl.Body.Pos(), f.name+" has a body", "leave it out")
	}
	p.params(f, decl.Type.Params)
	p.results(f, decl.Type.Results)
	for _, dir := range p.directives(decl.Doc) {
		p.directive(f, dir)
	}
	if !f.given["call"] && len(p.bad) == before {
		p.bad.add(f.at, f.name+" does not say what to call", "write //fastc:call NAME(ARGUMENTS) above it")
	}
	if len(p.bad) == before {
		p.consistent(f)
	}
	p.d.funcs = append(p.d.funcs, f)
}

func (p *fileParser) params(f *funcDecl, list *ast.FieldList) {
	for _, field := range list.List {
		t, at, what, do := parseType(field.Type)
		if e, ok := field.Type.(*ast.Ellipsis); ok {
			at, what, do = e.Pos(), f.name+" has variadic parameters", "declare a slice"
		}
		if what != "" {
			p.refuse(at, what, do)
			t = &goType{} // so that //fastc:call knows the names
		}
		if len(field.Names) == 0 {
			p.refuse(field.Pos(), "a parameter without a name", "name it: //fastc:call says where it goes")
		}
		for _, id := range field.Names {
			switch {
			case id.Name == "_":
				p.refuse(id.Pos(), "a blank parameter", "name it: //fastc:call says where it goes")
			case reserved[id.Name]:
				p.refuse(id.Pos(), "the parameter "+id.Name+" hides what the generated code uses by that name", "rename it")
			case f.param(id.Name) != nil:
				p.refuse(id.Pos(), "a second parameter "+id.Name, "rename one")
			}
			f.params = append(f.params, param{id.Name, t, p.at(id.Pos())})
		}
	}
}

func (p *fileParser) results(f *funcDecl, list *ast.FieldList) {
	if list == nil {
		return
	}
	for i, field := range list.List {
		t, at, what, do := parseType(field.Type)
		if what != "" {
			p.refuse(at, what, do)
			continue
		}
		isError := t.kind == goNamed && t.name == "error"
		if isError && (i != len(list.List)-1 || len(field.Names) > 1) {
			p.refuse(field.Pos(), "an error that is not the last result", "move it to the end")
			continue
		}
		if len(field.Names) == 0 {
			if !isError {
				f.results = append(f.results, param{"", t, p.at(field.Pos())})
			}
			f.hasError = f.hasError || isError
			continue
		}
		f.named = true
		for _, id := range field.Names {
			switch {
			case reserved[id.Name] && id.Name != "_":
				p.refuse(id.Pos(), "the result "+id.Name+" hides what the generated code uses by that name", "rename it")
			case id.Name != "_" && f.nameTaken(id.Name):
				p.refuse(id.Pos(), "a second "+id.Name, "rename one")
			}
			if isError {
				f.hasError, f.errName = true, id.Name
			} else {
				f.results = append(f.results, param{id.Name, t, p.at(id.Pos())})
			}
		}
	}
}

// consistent checks what can be said before C is asked.
func (p *fileParser) consistent(f *funcDecl) {
	for _, q := range f.params {
		if !f.passes(q.name) {
			p.bad.add(q.at, "the parameter "+q.name+" is not passed to C", "add it to //fastc:call")
		}
	}
	var direct []param
	for _, r := range f.results {
		if !f.out(r.name) {
			direct = append(direct, r)
		}
	}
	if len(direct) > 1 {
		p.bad.add(direct[1].at, "two results, and a C function returns one", "name the results and pass the others as &NAME in //fastc:call")
	}
	for _, r := range f.results {
		if t := r.typ.base(); f.nameTaken(t) {
			p.bad.add(r.at, t+" is a type here, and the name of a parameter or result", "rename that")
		}
	}
	p.ofResults(f)
	if site := f.siteName(); f.budget != nil && f.nameTaken(site) {
		p.bad.add(f.at, site+" is the name of a parameter or result, and of the variable that holds the budget", "rename the parameter or result")
	}
	if f.fails != nil && !f.hasError {
		p.bad.add(f.fails.at, "//fastc:fails without an error result", "add error as the last result")
	}
	if f.alwaysSlow() && f.budget != nil {
		p.bad.add(f.at, "//fastc:budget on a function that is always slow", "leave //fastc:budget out")
	}
	if f.alwaysSlow() && f.yields != nil {
		p.bad.add(f.at, "//fastc:yield on a function that is always slow, where cgo lets others run", "leave //fastc:yield out")
	}
}

// ofResults checks the directives that name a result, or are about one.
func (p *fileParser) ofResults(f *funcDecl) {
	for _, c := range f.atOf {
		if !f.out(c.result) {
			p.bad.add(c.at, fmt.Sprintf("//fastc:%s %s, which C gets no address of", c.word, c.result),
				"pass &"+c.result+" in //fastc:call")
		}
	}
}
