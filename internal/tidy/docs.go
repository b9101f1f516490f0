package tidy

import (
	"go/ast"
	"go/doc"
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
	named, seen := root.Go.Doc.Text(), map[string]bool{".": true}
	for _, f := range t.source() {
		dir := f.Dir()
		public := isPublic(importPath(dir)) && !t.nested(dir) || strings.HasPrefix(dir, "contrib/") && !hasElement(dir, "internal")
		if !public || f.Test() || f.Go.Name.Name == "main" || seen[dir] {
			continue
		}
		seen[dir] = true
		if !strings.Contains(named, "["+importPath(dir)+"]") {
			found = append(found, root.at(root.Go.Package, "doc.go does not name the public package "+importPath(dir),
				"say in a line what it is for, as ["+importPath(dir)+"]"))
		}
	}
	return found
}

func checkDoc(t *Tree, pkg publicPackage) []Finding {
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

func hasExample(pkg publicPackage) bool {
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

// publicPackage is a package of the root module that others can import.
type publicPackage struct {
	dir   string
	name  string
	files []*File // with its tests
}

// publicPackages returns the public packages of t's root module in order.
func publicPackages(t *Tree) []publicPackage {
	var pkgs []publicPackage
	for _, f := range t.source() {
		dir := f.Dir()
		if f.Test() || f.Go.Name.Name == "main" || !isPublic(importPath(dir)) || t.nested(dir) ||
			slices.ContainsFunc(pkgs, func(p publicPackage) bool { return p.dir == dir }) {
			continue
		}
		pkgs = append(pkgs, publicPackage{dir: dir, name: f.Go.Name.Name, files: sourceIn(t, dir)})
	}
	return pkgs
}

func sourceIn(t *Tree, dir string) []*File {
	return slices.DeleteFunc(t.source(), func(f *File) bool { return f.Dir() != dir })
}
