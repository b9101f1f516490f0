//go:build cgo && linux

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
)

// function is a leaf function as a declaration file declares it.
type function struct {
	cName, goName string
	params        []variable
	results       []variable // without the error
	hasError      bool
	args          []ast.Expr          // of //fastc:call
	atLeast       map[string]ast.Expr // by slices: N of //fastc:require len(slice) >= N
	inout         map[string]ast.Expr // by results: what they hold before the call
	site          string              // the fastc.Site under //fastc:budget
	slow          bool                // it goes by ordinary cgo anyway
}

// variable is a parameter or a result.
type variable struct {
	name string
	typ  ast.Expr
}

// declarations are what a declaration file declares.
type declarations struct {
	functions []*function
	types     map[string]bool // the mirrors and opaque types
}

// readDeclarations reads a declaration file.
func readDeclarations(name string, text []byte) (*declarations, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	d := &declarations{types: map[string]bool{}}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					d.types[t.Name.Name] = true
				}
			}
		case *ast.FuncDecl:
			f, err := readFunction(decl)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, decl.Name.Name, err)
			}
			d.functions = append(d.functions, f)
		}
	}
	return d, nil
}

// readFunction reads a function and the directives above it.
func readFunction(decl *ast.FuncDecl) (*function, error) {
	f := &function{goName: decl.Name.Name, atLeast: map[string]ast.Expr{}, inout: map[string]ast.Expr{}}
	f.params, f.results = variables(decl.Type.Params), variables(decl.Type.Results)
	if last := len(f.results) - 1; last >= 0 && types.ExprString(f.results[last].typ) == "error" {
		f.results, f.hasError = f.results[:last], true
	}
	for _, c := range decl.Doc.List {
		word, rest, _ := strings.Cut(c.Text, " ")
		var err error
		switch word {
		case "//fastc:call":
			err = f.call(rest)
		case "//fastc:require":
			err = f.require(rest)
		case "//fastc:inout":
			result, value, _ := strings.Cut(rest, " = ")
			f.inout[result], err = parser.ParseExpr(value)
		case "//fastc:budget":
			f.site = f.goName + "Site"
		case "//fastc:slow":
			f.slow = rest == ""
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Text, err)
		}
	}
	return f, nil
}

func variables(list *ast.FieldList) (all []variable) {
	if list == nil {
		return nil
	}
	for _, field := range list.List {
		if len(field.Names) == 0 {
			all = append(all, variable{"", field.Type})
		}
		for _, name := range field.Names {
			all = append(all, variable{name.Name, field.Type})
		}
	}
	return all
}

// call reads NAME(ARGS).
func (f *function) call(text string) error {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return err
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return fmt.Errorf("%s is no call", text)
	}
	f.cName, f.args = types.ExprString(call.Fun), call.Args
	return nil
}

// require notes what a condition says about the length of a slice.
func (f *function) require(text string) error {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return err
	}
	if c, ok := e.(*ast.BinaryExpr); ok && c.Op == token.GEQ {
		if of, ok := lengthOf(c.X); ok && f.atLeast[of] == nil {
			f.atLeast[of] = c.Y
		}
	}
	return nil
}

// lengthOf returns x of len(x) and of cap(x).
func lengthOf(e ast.Expr) (of string, ok bool) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", false
	}
	switch types.ExprString(call.Fun) {
	case "len", "cap":
		return types.ExprString(call.Args[0]), true
	}
	return "", false
}
