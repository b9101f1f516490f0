package tidy

import (
	"go/ast"
	"go/doc"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

// CheckDocs finds public packages of the root module without a doc.go that says
// "Package NAME ...", or without an Example whose output the test compares; and public packages,
// those of contrib included, that the root's doc.go does not name.
func CheckDocs(t *Tree) []Finding {
	found := checkMap(t)
	for _, pkg := range publicPackages(t) {
		found = append(found, checkDoc(t, pkg)...)
		if pkg.dir != "." && !hasExample(pkg) { // the root package has no API to show
			found = append(found, pkg.files[0].atLine(1, "package "+pkg.name+" has no runnable Example",
				"write one in example_test.go that ends in // Output:"))
		}
	}
	return found
}

// checkMap finds public packages that are not on the map, the root's doc.go.
func checkMap(t *Tree) []Finding {
	root := t.file("doc.go")
	if root == nil || root.Go == nil {
		return nil // checkDoc says so
	}
	var found []Finding
	named := root.Go.Doc.Text()
	importable := func(dir string) bool {
		return public(t, dir) || strings.HasPrefix(dir, "contrib/") && !hasElement(dir, "internal")
	}
	for _, pkg := range packages(t, importable) {
		if path := importPath(pkg.dir); pkg.dir != "." && !strings.Contains(named, "["+path+"]") {
			found = append(found, root.at(root.Go.Package, "doc.go does not name the public package "+path,
				"say in a line what it is for, as ["+path+"]"))
		}
	}
	return found
}

func checkDoc(t *Tree, pkg goPackage) []Finding {
	f := t.file(strings.TrimPrefix(pkg.dir+"/doc.go", "./"))
	if f == nil || f.Go == nil {
		return []Finding{pkg.files[0].atLine(1, "package "+pkg.name+" has no doc.go",
			"write one: what, when, caveats")}
	}
	want := "Package " + pkg.name + " "
	if text := f.Go.Doc.Text(); !strings.HasPrefix(strings.ReplaceAll(text, "\n", " "), want) {
		return []Finding{f.at(f.Go.Package, "the package comment does not start with \""+want+"\"",
			"put a comment that does right above the package clause")}
	}
	return nil
}

func hasExample(pkg goPackage) bool {
	var tests []*ast.File
	for _, f := range pkg.files {
		if f.Test() {
			tests = append(tests, f.Go)
		}
	}
	return slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool {
		return e.Output != "" || e.EmptyOutput
	})
}

// saysDefault matches a comment that names the default of a field.
var saysDefault = regexp.MustCompile(`(?i)\bdefault|\b(zero|nil|empty)\b`)

// CheckOptions finds exported fields of an Options struct, in a public package, whose comment
// does not name their default.
func CheckOptions(t *Tree) []Finding {
	var found []Finding
	for _, pkg := range publicPackages(t) {
		for _, f := range pkg.files {
			if f.Test() {
				continue
			}
			ast.Inspect(f.Go, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || spec.Name.Name != "Options" {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					found = append(found, checkFields(f, s)...)
				}
				return false
			})
		}
	}
	return found
}

func checkFields(f *File, s *ast.StructType) []Finding {
	var found []Finding
	for _, field := range s.Fields.List {
		name := types.ExprString(field.Type) // embedded
		exported := true
		if len(field.Names) > 0 {
			name, exported = field.Names[0].Name, ast.IsExported(field.Names[0].Name)
		}
		if exported && !saysDefault.MatchString(field.Doc.Text()+field.Comment.Text()) {
			found = append(found, f.at(field.Pos(), "Options."+name+" does not name its default",
				`say in its comment what the zero value means ("default 1s", "nil: slog.Default()"), its limit and its unit`))
		}
	}
	return found
}

// A goPackage is one that is no command.
type goPackage struct {
	dir   string
	name  string
	files []*File // with its tests
}

// publicPackages returns the packages of t's root module that others can import, in order.
func publicPackages(t *Tree) []goPackage {
	return packages(t, func(dir string) bool { return public(t, dir) })
}

func public(t *Tree, dir string) bool { return isPublic(importPath(dir)) && !t.nested(dir) }

// packages returns those of t's packages whose directories are wanted, in order.
func packages(t *Tree, wanted func(dir string) bool) []goPackage {
	var pkgs []goPackage
	for _, f := range t.source() {
		dir := f.Dir()
		if f.Test() || f.Go.Name.Name == "main" || !wanted(dir) ||
			slices.ContainsFunc(pkgs, func(p goPackage) bool { return p.dir == dir }) {
			continue
		}
		files := slices.DeleteFunc(t.source(), func(f *File) bool { return f.Dir() != dir })
		pkgs = append(pkgs, goPackage{dir: dir, name: f.Go.Name.Name, files: files})
	}
	return pkgs
}
