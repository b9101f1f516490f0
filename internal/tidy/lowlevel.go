package tidy

import (
	"slices"
	"strings"
)

// lowLevelDirs is where unsafe, cgo and assembly may be: house rule 10.
var lowLevelDirs = []string{"internal/uring/...", "internal/sys/...", "fastc/...", "bench/..."}

// CheckLowLevel finds unsafe, cgo and assembly outside the few packages that may use them.
func CheckLowLevel(t *Tree) []Finding {
	const do = "only internal/uring, internal/sys, fastc and bench may: put it behind one of them"
	var found []Finding
	for _, f := range t.Files {
		if f.Testdata() || slices.ContainsFunc(lowLevelDirs, func(dir string) bool { return covers(dir, f.Dir()) }) {
			continue
		}
		if strings.HasSuffix(f.Path, ".s") || strings.HasSuffix(f.Path, ".S") {
			found = append(found, f.atLine(1, "assembly in "+f.Dir(), do))
		}
		if f.Go == nil {
			continue
		}
		for _, spec := range f.Go.Imports {
			if spec.Path.Value == `"unsafe"` || spec.Path.Value == `"C"` {
				found = append(found, f.at(spec.Pos(), "imports "+spec.Path.Value, do))
			}
		}
	}
	return found
}
