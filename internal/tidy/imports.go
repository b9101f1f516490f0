package tidy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CheckArrows finds imports that the table of arrows does not draw, and packages without a row.
func CheckArrows(t *Tree) []Finding {
	var found []Finding
	unlisted := map[string]bool{}
	for _, f := range t.source() {
		dir := f.Dir()
		row := rowOf(dir)
		if row < 0 {
			if !unlisted[dir] {
				found = append(found, f.at(f.Go.Name.Pos(), "package "+importPath(dir)+" is in no row of the import arrows",
					"add it to the table in internal/tidy/arrows.go and to the arrows in ARCHITECTURE.md"))
			}
			unlisted[dir] = true
			continue
		}
		for _, spec := range f.Go.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if isStd(name) || mayImport(arrows[row], name) != "" || f.Test() && testMayImport(dir, name) != "" {
				continue
			}
			found = append(found, f.at(spec.Pos(), fmt.Sprintf("%s may not import %s", importPath(dir), name), advice(f, name)))
		}
	}
	return found
}

// advice returns what to do about an import of name in f that no arrow allows.
func advice(f *File, name string) string {
	switch {
	case covers(onlyInSys, name):
		return "call it through internal/sys, its only importer"
	case covers(importPath("internal/..."), name):
		return "use a public package; inside the root module, draw the arrow in internal/tidy/arrows.go and ARCHITECTURE.md"
	case !f.Test() && slices.ContainsFunc(testArrows, func(a string) bool { return covers(a, name) }):
		return "move it to a _test.go file"
	}
	return "remove the import, or draw the arrow in internal/tidy/arrows.go and ARCHITECTURE.md"
}

// rowOf returns the row of the table that decides for the package at dir, or -1.
func rowOf(dir string) int {
	return slices.IndexFunc(arrows, func(a arrow) bool { return covers(a.dir, dir) })
}

// mayImport returns what of the row allows the import of name, or "".
func mayImport(a arrow, name string) string {
	for _, may := range a.may {
		allowed := false
		switch {
		case may == anyPublic:
			allowed = isPublic(name)
		case may == anyThird:
			allowed = !isStd(name) && !covers(module+"/...", name) && !covers(onlyInSys, name)
		case isStd(may):
			allowed = covers(importPath(may), name)
		default:
			allowed = covers(may, name)
		}
		if allowed {
			return may
		}
	}
	return ""
}

// testMayImport returns what allows a test in dir the import of name besides its row, or "".
func testMayImport(dir, name string) string {
	own := importPath(dir)
	if name == own || covers(own+"/testdata/...", name) {
		return own
	}
	for _, may := range testArrows {
		if covers(may, name) {
			return may
		}
	}
	return ""
}

// isPublic reports whether name is a package of the root module that other modules can import.
func isPublic(name string) bool {
	if name == module {
		return true
	}
	dir, ok := strings.CutPrefix(name, module+"/")
	first, _, _ := strings.Cut(dir, "/")
	return ok && !hasElement(dir, "internal") &&
		!slices.Contains([]string{"cmd", "contrib", "examples", "bench", "e2e", "tools"}, first)
}

// isStd reports whether name is an import path of the standard library, "unsafe" or "C":
// one whose first element has no dot.
func isStd(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// covers reports whether pattern is name, or ends in "/..." and stands for name.
func covers(pattern, name string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return name == base || below && strings.HasPrefix(name, base+"/")
}

// importPath returns the import path of the package, or of the packages, at dir.
func importPath(dir string) string { return path.Join(module, dir) }
