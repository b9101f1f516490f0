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
		return "call it through aio/internal/sys, its only importer"
	case covers(importPath("internal/..."), name):
		return "use a public package; inside the root module, draw the arrow in internal/tidy/arrows.go and ARCHITECTURE.md"
	case !f.Test() && slices.ContainsFunc(testArrows, func(a string) bool { return covers(a, name) }):
		return "move it to a _test.go file"
	}
	return "remove the import, or draw the arrow in internal/tidy/arrows.go and ARCHITECTURE.md"
}

// CheckNeeded finds what the table of arrows allows and nothing needs: rows without a package,
// imports that no package of their row has, and imports of tests that no test has. The rows of
// nested modules allow whole classes of imports: there only the row itself is looked at.
func CheckNeeded(t *Tree) []Finding {
	table := t.file("internal/tidy/arrows.go")
	if table == nil {
		return nil
	}
	needed := map[[2]string]bool{} // a row's dir and what it may; "": the row; a dir of "": the tests
	for _, f := range t.source() {
		row := rowOf(f.Dir())
		if row < 0 {
			continue
		}
		a := arrows[row]
		needed[[2]string{a.dir, ""}] = true
		for _, spec := range f.Go.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if may := mayImport(a, name); may != "" {
				needed[[2]string{a.dir, may}] = true
			} else if f.Test() {
				needed[[2]string{"", testMayImport(f.Dir(), name)}] = true
			}
		}
	}
	var found []Finding
	add := func(start, what string) {
		line := table.lineWith(func(line string) bool { return strings.Contains(line, start) })
		found = append(found, table.atLine(line, what, "take it out of the table; draw it again when something needs it"))
	}
	for _, a := range arrows {
		start := "{" + strconv.Quote(a.dir) + ","
		if !needed[[2]string{a.dir, ""}] {
			add(start, "the row of "+a.dir+" covers no package")
			continue
		}
		for _, may := range a.may {
			if !needed[[2]string{a.dir, may}] && !strings.HasSuffix(a.dir, "/...") {
				add(start, "the row of "+a.dir+" allows "+may+", which nothing there imports")
			}
		}
	}
	for _, may := range testArrows {
		if !needed[[2]string{"", may}] {
			add(strconv.Quote(may), "tests may import "+may+", and none needs that")
		}
	}
	return found
}

// rowOf returns the row of the table that decides for the package at dir, or -1.
func rowOf(dir string) int {
	return slices.IndexFunc(arrows, func(a arrow) bool { return covers(a.dir, dir) })
}

// mayImport returns what of the row allows the import of name, or "".
func mayImport(a arrow, name string) string {
	return first(a.may, func(may string) bool {
		switch {
		case may == anyPublic:
			return isPublic(name)
		case may == anyThird:
			return !isStd(name) && !covers(module+"/...", name) && !covers(onlyInSys, name)
		case isStd(may):
			return covers(importPath(may), name)
		}
		return covers(may, name)
	})
}

// testMayImport returns what allows a test in dir the import of name besides its row, or "".
func testMayImport(dir, name string) string {
	own := importPath(dir)
	if name == own || covers(own+"/testdata/...", name) {
		return own
	}
	return first(testArrows, func(may string) bool { return covers(may, name) })
}

// first returns the first of list for which ok holds, or "".
func first(list []string, ok func(string) bool) string {
	if i := slices.IndexFunc(list, ok); i >= 0 {
		return list[i]
	}
	return ""
}

// isPublic reports whether name is a package of the root module that other modules can import.
func isPublic(name string) bool {
	if name == module {
		return true
	}
	dir, ok := strings.CutPrefix(name, module+"/")
	top, _, _ := strings.Cut(dir, "/")
	return ok && !hasElement(dir, "internal") &&
		!slices.Contains([]string{"cmd", "contrib", "examples", "bench", "e2e", "tools"}, top)
}

// isStd reports whether name is an import path of the standard library, "unsafe" or "C":
// one whose first element has no dot.
func isStd(name string) bool {
	host, _, _ := strings.Cut(name, "/")
	return !strings.Contains(host, ".")
}

// covers reports whether pattern is name, or ends in "/..." and stands for name.
func covers(pattern, name string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return name == base || below && strings.HasPrefix(name, base+"/")
}

// importPath returns the import path of the package, or of the packages, at dir.
func importPath(dir string) string { return path.Join(module, dir) }
