package reqtrace

import "strings"

// InStandardLibrary reports whether a function is the standard library's, by its full name in
// stacks and profiles.
func InStandardLibrary(function string) bool { return stdRoots[pathRoot(function)] }

// stdRoots has the first elements of the standard library's import paths. A test compares them with
// go list std.
var stdRoots = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
		encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
		reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe
		vendor weak`) {
		m[s] = true
	}
	return m
}()

// pathRoot returns the first element of the import path of a function's package. It ends at a
// slash. In a path of one element it ends at the dot before the function's name.
func pathRoot(function string) string {
	pkg, _, _ := strings.Cut(function, "[")
	root, _, ok := strings.Cut(pkg, "/")
	if !ok {
		root, _, _ = strings.Cut(pkg, ".")
	}
	return root
}
