package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLibraries: no source tells what a library does. So there is one warning for all functions of
// libraries that declared functions reach, at any depth.
func TestLibraries(t *testing.T) {
	needsGCC(t)
	if runtime.GOOS == "darwin" {
		t.Skip("needs libraries in ELF: those of macOS are not looked into")
	}
	t.Parallel()
	const says = "DIR/add.go:5: warning: fastcgen cannot look into put, outside this package, reached by Put, " +
		"Wrapped, Deep; put //fastc:slow above what may wait, take long or call back into Go\n"
	for name, ldFlags := range map[string]string{
		"shared":  "-L${SRCDIR} -lslowly",
		"archive": "${SRCDIR}/static/libslowly.a",
		"no file": "-L${SRCDIR}/nowhere -lno-such-library",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{
				"add.go": declare("#cgo LDFLAGS: "+ldFlags+"\nint put(int n);\nint deep(int n);\nstatic inline "+
					"int wrapped(int n) { return put(n); }\n",
					"\n//fastc:call put(n)\nfunc Put(n int32) int32\n\n//fastc:call wrapped(n)\nfunc Wrapped(n "+
						"int32) int32\n"+
						"\n//fastc:call deep(n)\nfunc Deep(n int32) int32\n\n//fastc:call "+
						"deep(n)\n//fastc:slow\nfunc Slow(n int32) int32\n"),
				"deep.c": "int put(int);\nstatic int deeper(int n) { return put(n); }\nint deep(int n) { return n > " +
					"0 ? deeper(n) : 0; }\n",
			})
			r := call(t.Context(), filepath.Join(dir, "add.go"))
			want := strings.Replace(says, "DIR", dir, 1)
			if r.code != exitOK || r.stderr != want {
				t.Errorf("code %d\n got %s\nwant %s", r.code, r.stderr, want)
			}
		})
	}
}

// TestInitLibrary: -init asks about each function that reaches a library, the package's own
// wrappers too.
func TestInitLibrary(t *testing.T) {
	needsGCC(t)
	t.Parallel()
	dir := folder(t, map[string]string{
		"p.go": "package small\n\n// #cgo LDFLAGS: -L${SRCDIR} -lslowly\n// int put(int n);\n// int deep(int n);\n" +
			"// static inline int wrapped(int n) { return put(n); }\n// static inline int add(int a, int b) { return " +
			"a + b; }\nimport \"C\"\n\n" +
			"func use() int { return int(C.put(1) + C.wrapped(2) + C.deep(3) + C.add(4, 5)) }\n",
		"deep.c": "int put(int);\nstatic int deeper(int n) { return put(n); }\nint deep(int n) { return n > 0 ? " +
			"deeper(n) : 0; }\n",
	})
	r := call(t.Context(), "-init", filepath.Join(dir, "p.go"))
	want := "fastcgen: 3 functions that reach code outside this package, which fastcgen cannot look into, left to " +
		"you: take the declarations of those that neither wait, take long nor call back into Go\n" +
		"fastcgen: DIR/p_leaf.go declares 1 function; left to decide, in comments: 3; left to cgo: 0. Read it, then " +
		"run fastcgen DIR/p_leaf.go\n"
	if got := strings.ReplaceAll(r.stderr, dir, "DIR"); r.code != exitOK || got != want {
		t.Errorf("code %d\n got %s\nwant %s", r.code, got, want)
	}
	if r := call(t.Context(), filepath.Join(dir, "p_leaf.go")); r.code != exitOK || r.stderr != "" {
		t.Errorf("what -init wrote: code %d\n%s", r.code, r.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "p_leaf.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"// C.put (p.go:10): It is outside this package. Does that wait,",
		"// C.wrapped (p.go:10): It reaches put outside this package (wrapped -> put). Does",
		"// C.deep (p.go:10): It reaches put outside this package (deep ->",
		"\n//fastc:call add(arg1, arg2)\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestAssembly: fastcgen does not look into assembly, and code does without a weak function that is
// nowhere.
func TestAssembly(t *testing.T) {
	needsGCC(t)
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" || runtime.GOOS != "linux" {
		t.Skip("needs Linux on amd64 or arm64, whose jump the assembly file has")
	}
	t.Parallel()
	jump := map[string]string{"amd64": "jmp", "arm64": "b"}[runtime.GOARCH]
	dir := folder(t, map[string]string{
		"add.go": declare("int same(int n);\nint waits(int n);\nint traced(int n);\n",
			"\n//fastc:call same(n)\nfunc Same(n int32) int32\n\n//fastc:call waits(n)\nfunc Waits(n int32) int32\n"+
				"\n//fastc:call traced(n)\nfunc Traced(n int32) int32\n"),
		"traced.c": "extern void trace(int) __attribute__((weak));\nint traced(int n) { if (trace) trace(n); return " +
			"n; }\n",
		"same.S": "\t.text\n\t.globl same\n\t.type same, %function\nsame:\n\tret\n" +
			"\t.globl waits\n\t.type waits, %function\nwaits:\n\t" + jump + " usleep\n",
	})
	r := call(t.Context(), filepath.Join(dir, "add.go"))
	const want = "DIR/add.go:5: warning: fastcgen cannot look into same, waits, outside this package, reached by " +
		"Same, Waits; put //fastc:slow above what may wait, take long or call back into Go\n"
	if got := strings.ReplaceAll(r.stderr, dir, "DIR"); r.code != exitOK || got != want {
		t.Errorf("code %d\n got %s\nwant %s", r.code, got, want)
	}
}
