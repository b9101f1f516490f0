package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
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

// TestInitLibrary: -init declares functions that reach a library, and fastcgen then warns of it.
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
	want := "fastcgen: DIR/p_leaf.go declares 4 functions; left to decide, in comments: 0; left to cgo: 0. Read it, " +
		"then run fastcgen DIR/p_leaf.go\n"
	if got := strings.ReplaceAll(r.stderr, dir, "DIR"); r.code != exitOK || got != want {
		t.Errorf("code %d\n got %s\nwant %s", r.code, got, want)
	}
	r = call(t.Context(), filepath.Join(dir, "p_leaf.go"))
	want = "DIR/p_leaf.go:13: warning: fastcgen cannot look into put, outside this package, reached by put, wrapped, " +
		"deep; put //fastc:slow above what may wait, take long or call back into Go\n"
	if got := strings.ReplaceAll(r.stderr, dir, "DIR"); r.code != exitOK || got != want {
		t.Errorf("what -init wrote: code %d\n got %s\nwant %s", r.code, got, want)
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

// clang returns the name of a clang that is here, empty when there is none.
func clang() string {
	names := []string{"clang"}
	for version := 25; version >= 11; version-- {
		names = append(names, "clang-"+strconv.Itoa(version))
	}
	for _, n := range names {
		if _, err := exec.LookPath(n); err == nil {
			return n
		}
	}
	return ""
}

// TestCompilers: whichever compiler and flags, the generated file is the same, and what it calls
// gives the same. Under -asan a frame is allocated, so the test of allocations is left out there.
func TestCompilers(t *testing.T) {
	needsC(t)
	testutil.Long(t, "compiles everything once more for each compiler")
	for name, tt := range map[string]struct {
		clang       bool
		flags, mode string
	}{
		"gcc -O0":     {false, "-O0", ""},
		"gcc -O3 lto": {false, "-O3 -flto", ""},
		"gcc asan":    {false, "-O2", "-asan"},
		"clang":       {true, "-O2", ""},
		"clang -O0":   {true, "-O0", ""},
		"clang asan":  {true, "-O2", "-asan"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.clang && clang() == "" {
				t.Skip("needs clang")
			}
			if tt.mode == "-asan" && (runtime.GOOS != "linux" ||
				runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
				t.Skip("needs -asan: Linux on amd64 or arm64")
			}
			if tt.clang {
				t.Setenv("CC", clang())
			}
			t.Setenv("CGO_CFLAGS", tt.flags)
			dir := folder(t, testdata(t, "vec"))
			if r := call(t.Context(), filepath.Join(dir, "decl.go")); r.code != exitOK || r.stderr != "" ||
				r.stdout != "" {
				t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			text, err := os.ReadFile(filepath.Join(dir, "decl_fastc.go"))
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "vec/decl_fastc.golden", string(text))
			args := []string{"go", "test"}
			if tt.mode != "" {
				args = append(args, tt.mode, "-skip", "TestAllocations")
			}
			command(t, dir, nil, append(args, ".")...)
		})
	}
}

// sqlite is a large library whose calls of the system all go through tables of pointers.
const sqlite = "github.com/mattn/go-sqlite3@v1.14.53"

// sqliteWarnings are what is said of some of its functions. Empty means nothing.
var sqliteWarnings = map[string]string{
	"sqlite3_step":         "gets to pthread_join, which may block",
	"sqlite3_column_int64": "may get to .*pwrite.* by a pointer, which may block",
	"sqlite3_changes64":    "may get to .*pwrite.* by a pointer, which may block",
	"sqlite3_libversion":   "",
	"sqlite3_sourceid":     "",
	"sqlite3_complete":     "",
	"sqlite3_strnicmp":     "",
}

// TestSqlite follows the calls of a library of 260,000 lines.
func TestSqlite(t *testing.T) {
	needsGCC(t)
	testutil.Long(t, "compiles sqlite, of the module "+sqlite)
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", sqlite).Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		t.Skipf("needs the module %s: %v", sqlite, err)
	}
	files := map[string]string{}
	for _, n := range []string{"sqlite3-binding.c", "sqlite3-binding.h"} {
		text, err := os.ReadFile(filepath.Join(module.Dir, n))
		if err != nil {
			t.Fatal(err)
		}
		files[n] = string(text)
	}
	files["decl.go"] = `//go:build fastcgen

package vec

/*
#cgo CFLAGS: -DSQLITE_THREADSAFE=1 -DHAVE_USLEEP=1 -DHAVE_PREAD=1 -DHAVE_PWRITE=1 -DUSE_PREAD=1
#cgo CFLAGS: -DUSE_PWRITE=1 -DSQLITE_ENABLE_FTS3 -DSQLITE_ENABLE_RTREE
#include "sqlite3-binding.h"
*/
import "C"

//fastc:opaque
type Statement C.sqlite3_stmt

//fastc:opaque
type DB C.sqlite3

//fastc:call sqlite3_step(s)
func Step(s *Statement) int32

//fastc:call sqlite3_column_int64(s, i)
func Int64(s *Statement, i int32) int64

//fastc:call sqlite3_libversion()
//fastc:copy
func Version() string

//fastc:call sqlite3_sourceid()
//fastc:copy
func Source() string

//fastc:call sqlite3_changes64(d)
func Changes(d *DB) int64

//fastc:call sqlite3_complete(s)
//fastc:require len(s) > 0 && s[len(s)-1] == 0
func Complete(s []byte) int32

//fastc:call sqlite3_strnicmp(a, b, len(a))
//fastc:require len(b) >= len(a)
func Compare(a string, b []byte) int32
`
	dir := folder(t, files)
	r := call(t.Context(), filepath.Join(dir, "decl.go"))
	if r.code != exitOK {
		t.Fatalf("code %d\n%s", r.code, r.stderr)
	}
	t.Log("\n" + r.stderr)
	for name, want := range sqliteWarnings {
		found := regexp.MustCompile(`warning: ` + name + " " + want).MatchString(r.stderr)
		if found != (want != "") {
			t.Errorf("%s: want %q", name, want)
		}
	}
}
