package tidy

import (
	"strconv"
	"strings"
)

// CheckNeeded finds what the table of arrows allows and nothing needs: rows without a package,
// imports that no package of their row has, and imports of tests that no test has. The rows of
// nested modules allow whole classes of imports: there only the row itself is looked at.
func CheckNeeded(t *Tree) []Finding {
	table := t.file("internal/tidy/arrows.go")
	if table == nil {
		return nil
	}
	packages := make([]bool, len(arrows)) // the row covers some
	needed := map[[2]string]bool{}        // row's dir, what it may
	for _, f := range t.source() {
		row := rowOf(f.Dir())
		if row < 0 {
			continue
		}
		packages[row] = true
		a := arrows[row]
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
		found = append(found, table.atLine(lineWith(table, start), what, "take it out of the table; draw it again when something needs it"))
	}
	for i, a := range arrows {
		if !packages[i] {
			add(a.start(), "the row of "+a.dir+" covers no package")
			continue
		}
		for _, may := range a.may {
			if !needed[[2]string{a.dir, may}] && !strings.HasSuffix(a.dir, "/...") {
				add(a.start(), "the row of "+a.dir+" allows "+may+", which nothing there imports")
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

// start returns how the row begins in the source of the table.
func (a arrow) start() string { return "{" + strconv.Quote(a.dir) + "," }

// lineWith returns the first line of f that contains s, or 1.
func lineWith(f *File, s string) int {
	n := 0
	for line := range strings.Lines(f.Text) {
		n++
		if strings.Contains(line, s) {
			return n
		}
	}
	return 1
}
