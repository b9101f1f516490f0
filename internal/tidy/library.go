package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CheckLibraries finds libraries that print, exit, log past Options.Logger, or read the
// environment as they are initialised. A library is a package that is neither
// main nor internal, in any module.
func CheckLibraries(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.source() {
		if f.Test() || f.Go.Name.Name == "main" || hasElement(f.Dir(), "internal") {
			continue
		}
		found = append(found, checkUses(f)...)
		found = append(found, checkInit(f)...)
	}
	return found
}

// checkUses finds what a library may use nowhere.
func checkUses(f *File) []Finding {
	var found []Finding
	names := localNames(f.Go)
	ast.Inspect(f.Go, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name = qualified(names, n)
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				name = id.Name
			}
		}
		switch {
		case name == "os.Exit":
			found = append(found, f.at(n.Pos(), "a library calls os.Exit", "return an error"))
		case strings.HasPrefix(name, "fmt.Print"), name == "print", name == "println":
			found = append(found, f.at(n.Pos(), "a library prints with "+name,
				"return the text, or write it to an io.Writer that the caller gives"))
		case strings.HasPrefix(name, "log."):
			found = append(found, f.at(n.Pos(), "a library uses "+name, "use Options.Logger, a *slog.Logger"))
		}
		return true
	})
	return found
}

// checkInit finds reads of the environment in init and in the initialisers of package variables.
func checkInit(f *File) []Finding {
	var found []Finding
	names := localNames(f.Go)
	environment := []string{
		"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "syscall.Getenv", "syscall.Environ",
	}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // runs later, unless it is called on the spot
			return false
		case *ast.CallExpr:
			if lit, ok := n.Fun.(*ast.FuncLit); ok {
				ast.Inspect(lit.Body, visit)
			}
		case *ast.SelectorExpr:
			if name := qualified(names, n); slices.Contains(environment, name) {
				found = append(found, f.at(n.Pos(), "a library reads the environment with "+name+" as it is initialised",
					"read it in main and pass it in Options"))
			}
		}
		return true
	}
	for _, decl := range f.Go.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			ast.Inspect(decl, visit)
		case *ast.FuncDecl:
			if decl.Name.Name == "init" && decl.Recv == nil && decl.Body != nil {
				ast.Inspect(decl.Body, visit)
			}
		}
	}
	return found
}

// localNames returns the import path behind each package name in f.
func localNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil {
			names[spec.Name.Name] = name
		} else {
			names[path.Base(name)] = name
		}
	}
	return names
}

// qualified returns "path.Name" for a selector on a package of names, else "".
func qualified(names map[string]string, sel *ast.SelectorExpr) string {
	if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] != "" {
		return names[id.Name] + "." + sel.Sel.Name
	}
	return ""
}
