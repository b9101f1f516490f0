package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const small = `//go:build fastcgen

package small

/*
CFLAGS
#include <unistd.h>
static inline int add(int a, int b) { return a + b; }
*/
import "C"

// Add returns the sum of a and b.
//
//fastc:call add(a, b)
func Add(a, b int32) int32
`

// declare returns the small declaration with a #cgo line and text at its end.
func declare(cgo, more string) string { return strings.Replace(small, "CFLAGS\n", cgo, 1) + more }

func TestCheck(t *testing.T) {
	needsC(t)
	t.Parallel()
	dir := folder(t, map[string]string{"add.go": declare("", "")})
	file, out := filepath.Join(dir, "add.go"), filepath.Join(dir, "add_fastc.go")
	before := list(t, dir)
	check := func(want string, code int) {
		t.Helper()
		r := call(t.Context(), "-check", file)
		if r.code != code || r.stderr != want {
			t.Errorf("code %d, %q; want %d, %q", r.code, r.stderr, code, want)
		}
	}
	check("fastcgen: "+out+" does not exist: run go generate, or fastcgen "+file+"\n", exitFailed)
	if now := list(t, dir); !slices.Equal(now, before) {
		t.Errorf("-check left %q", now)
	}
	if r := call(t.Context(), file); r.code != exitOK {
		t.Fatal(r.stderr)
	}
	check("", exitOK)
	if now := list(t, dir); !slices.Equal(now, []string{"add.go", "add_fastc.go", "go.mod", "go.sum"}) {
		t.Errorf("fastcgen left %q", now)
	}
	if err := os.WriteFile(file, []byte(declare("", "\n//fastc:call add(a, 1)\nfunc Next(a int32) int32\n")),
		0o644); err != nil {
		t.Fatal(err)
	}
	check("fastcgen: "+out+" is stale: run go generate, or fastcgen "+file+"\n", exitFailed)
	if r := call(t.Context(), file); r.code != exitOK { // over its own output
		t.Fatal(r.stderr)
	}
	check("", exitOK)
}

// TestNotOverwritten: a file that somebody wrote stays, whatever name fastcgen is given.
func TestNotOverwritten(t *testing.T) {
	needsC(t)
	t.Parallel()
	const text = "package small\n"
	dir := folder(t, map[string]string{"add.go": declare("", ""), "add_fastc.go": text})
	for _, args := range [][]string{{"-check"}, {}} {
		r := call(t.Context(), append(args, filepath.Join(dir, "add.go"))...)
		if r.code != exitFailed || !strings.Contains(r.stderr,
			"is not a file that fastcgen generated, and stays as it is") {
			t.Errorf("%q: code %d, %q", args, r.code, r.stderr)
		}
	}
	for name, want := range map[string]string{"add.go": declare("", ""), "add_fastc.go": text} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	needsC(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := folder(t, map[string]string{"add.go": declare("", "")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := call(ctx, filepath.Join(dir, "add.go"))
	if r.code != exitInterrupted || r.stderr != "fastcgen: interrupted\n" {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
	if left := append(list(t, temp), list(t, dir)...); len(left) != 3 {
		t.Errorf("left %q", left)
	}
}

// TestPackages is about what surrounds a declaration file.
func TestPackages(t *testing.T) {
	needsC(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string // add.go is the declaration, unless file says another name
		file  string
		want  string
		code  int
	}{
		"export": {
			files: map[string]string{
				"add.go":  declare("", ""),
				"call.go": "package small\n\nimport \"C\"\n\n//export back\nfunc back() {}\n",
			},
		},
		"export reached": {
			files: map[string]string{
				"add.go": declare("void back(void);\nstatic inline int backs(int n) { back(); return n; }\n",
					"\n//fastc:call backs(n)\nfunc Backs(n int32) int32\n"),
				"call.go": "package small\n\nimport \"C\"\n\n//export back\nfunc back() {}\n",
			},
			want: "DIR/add.go:18:14: warning: backs gets to the Go function back; a leaf function that calls Go ends " +
				"the process; put //fastc:slow above it\n",
		},
		"export reached slowly": {
			files: map[string]string{
				"add.go": declare("void back(void);\nstatic inline int backs(int n) { back(); return n; }\n",
					"\n//fastc:call backs(n)\n//fastc:slow\nfunc Backs(n int32) int32\n\n//fastc:call "+
						"backs(n)\n//fastc:slow n > 9\nfunc BacksOften(n int32) int32\n"),
				"call.go": "package small\n\nimport \"C\"\n\n//export back\nfunc back() {}\n",
			},
			want: "DIR/add.go:22:14: warning: backs gets to the Go function back; a leaf function that calls Go ends " +
				"the process; put //fastc:slow above it, without a condition\n",
		},
		"clash": {
			files: map[string]string{
				"add.go": declare("", ""),
				"sum.go": "package small\n\nfunc Add() {}\n\ntype fastc int\n",
			},
			want: "DIR/add.go:14:6: Add is declared in DIR/sum.go:3:6 too; rename one\n" +
				"DIR/sum.go:5:6: fastc is the name of a package that the generated file imports; rename it\n",
			code: exitFailed,
		},
		"other package": {
			files: map[string]string{"add.go": declare("", ""), "sum.go": "package large\n"},
			want: "fastcgen: found packages small (add.go) and large (sum.go) in DIR: a folder has one package: " +
				"move the files of the other one\n", code: exitFailed,
		},
		"test file": {
			files: map[string]string{"add_test.go": declare("", "")}, file: "add_test.go",
			want: "fastcgen: add_test.go: a test file cannot use cgo: rename it\n", code: exitFailed,
		},
		"platform": {
			files: map[string]string{"add_linux.go": declare("", "")}, file: "add_linux.go",
			want: "fastcgen: add_linux.go: a platform in the name of the file is lost in that of the generated one: " +
				"rename it and write the platform into its //go:build line\n",
			code: exitFailed,
		},
		"generated": {
			files: map[string]string{"add_fastc.go": declare("", "")}, file: "add_fastc.go",
			want: "fastcgen: add_fastc.go: generated: name the declaration file that it was made from\n",
			code: exitFailed,
		},
		"not Go": {
			files: map[string]string{"add.c": declare("", "")}, file: "add.c",
			want: "fastcgen: add.c: not a Go file: a declaration file's name ends in .go\n", code: exitFailed,
		},
		"elsewhere": {
			files: map[string]string{
				"add.go": strings.Replace(declare("", ""), "fastcgen", "fastcgen && plan9", 1),
				"sum.go": "package small\n",
			},
			want: "fastcgen: DIR/add.go: its //go:build line leaves this platform out: run fastcgen where it holds\n",
			code: exitFailed,
		},
		"tag": { // that make sets when it finds a library, say; the flags of a file that asks for it count
			files: map[string]string{
				"add.go": strings.Replace(declare("#if !TAGGED\n#error TAGGED\n#endif\n", ""), "fastcgen",
					"fastcgen && tagged", 1),
				"flag.go": "//go:build tagged\n\npackage small\n\n// #cgo CFLAGS: -DTAGGED=1\nimport \"C\"\n",
				"doc.go":  "package small\n",
			},
		},
		"flags": { // of another file of the package count too, and ${SRCDIR} is its folder
			files: map[string]string{
				"add.go": declare("#cgo CFLAGS: -I${SRCDIR}\n#include <local.h>\n",
					"\n//fastc:call add(a, C.ONE)\nfunc Next(a int32) int32\n"),
				"flag.go": "package small\n\n// #cgo CFLAGS: -DONE=1\nimport \"C\"\n",
				"local.h": "#if !ONE\n#error ONE\n#endif\n",
			},
		},
		"bad flags": {
			files: map[string]string{"add.go": declare("#cgo CFLAGS -O2\n", "")},
			want:  "fastcgen: DIR/add.go: invalid #cgo line: #cgo CFLAGS -O2", code: exitFailed,
		},
		"no library": {
			files: map[string]string{"add.go": declare("#cgo pkg-config: evenkeel-has-no-such-library\n", "")},
			want: "fastcgen: #cgo pkg-config: evenkeel-has-no-such-library: install the library's development " +
				"package\n", code: exitFailed,
		},
		"blocking": {
			files: map[string]string{
				"add.go": declare("#cgo CFLAGS: -O2 -D_FORTIFY_SOURCE=2\nstatic inline int nap(int us) { return "+
					"usleep(us); }\nint load(int fd, char *p, int n);\nstatic inline int unused(int fd) { return "+
					"fsync(fd); }\n", "\n//fastc:call nap(us)\nfunc Nap(us int32) int32\n\n//fastc:call load(fd, p, "+
					"len(p))\nfunc Load(fd int32, p []byte) int32\n"),
				"load.c": "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nextern int " +
					"crosscall2(void);\nint load(int fd, char *p, int n) { char b[8]; printf(\"%d\\n\", n); " +
					"free(malloc(n)); crosscall2(); return read(fd, b, n) + b[0]; }\n",
				"wrong.c": "#include \"_cgo_export.h\"\n",
			},
			want: "DIR/add.go:5: warning: cannot look into wrong.c for calls that block: wrong.c:1:10: fatal error: " +
				"_cgo_export.h: No such file or directory\n" +
				"DIR/add.go:20:14: warning: nap gets to usleep, which may block; put //fastc:slow above it\n" +
				"DIR/add.go:23:14: warning: load gets to the Go function crosscall2; a leaf function that calls Go " +
				"ends the process; " +
				"put //fastc:slow above it\n" +
				"DIR/add.go:23:14: warning: load gets to read, printf, which may block; put //fastc:slow above " +
				"it\n",
		},
		"pointers": { // a table of functions, put where a call finds it by another one
			files: map[string]string{
				"add.go": declare("#include \"vfs.h\"\n",
					"\n//fastc:opaque\ntype File C.file\n\n//fastc:call file_step(f)\nfunc Step(f *File) int32\n\n"+
						"//fastc:call file_size(f)\nfunc Size(f *File) int32\n\n//fastc:call "+
						"file_sync(f)\n//fastc:slow\nfunc Sync(f *File) int32\n"),
				"vfs.h": "typedef struct file file;\nint file_step(file *f);\nint file_size(const file *f);\nint " +
					"file_sync(file *f);\n",
				"vfs.c": "#include <unistd.h>\n#include \"vfs.h\"\nstruct methods { int (*put)(file *, const char *, " +
					"int); };\n" +
					"struct file { const struct methods *methods; int fd, size; };\n" +
					"static struct { const char *name; long (*current)(int, const void *, unsigned long, long); } " +
					"calls[] = {{\"pwrite\", pwrite}};\n" +
					"static int disk_put(file *f, const char *p, int n) { return (int)calls[0].current(f->fd, p, n, " +
					"0); }\n" +
					"static const struct methods disk = {disk_put};\n" +
					"void file_open(file *f) { f->methods = &disk; }\n" +
					"int file_step(file *f) { return f->methods->put(f, \"a\", 1); }\nint file_size(const file *f) { " +
					"return f->size; }\nint file_sync(file *f) { return fsync(f->fd); }\n",
			},
			want: "DIR/add.go:20:14: warning: file_step may get to pwrite by a pointer, which may block; put " +
				"//fastc:slow above it, unless you know that it does not\n",
		},
		"jumps": { // out of the function, and within it
			files: map[string]string{
				"add.go": declare("#include \"jump.h\"\nstatic inline int caught(int n) { return catch(n, fail); }\n",
					"\n//fastc:call fail(n)\nfunc Fail(n int32) int32\n\n//fastc:call caught(n)\nfunc Caught(n "+
						"int32) int32\n"),
				"jump.h": "int fail(int n);\nint catch(int n, int (*f)(int));\n",
				"jump.c": "#include <setjmp.h>\n#include \"jump.h\"\nstatic jmp_buf at;\nstatic void leave(int n) { " +
					"longjmp(at, n); }\nint fail(int n) { if (n > 0) leave(n); return n; }\n" +
					"int catch(int n, int (*f)(int)) { return setjmp(at) ? -1 : f(n); }\n",
			},
			want: "DIR/add.go:18:14: warning: fail gets to longjmp, and to no setjmp; a jump over the frames of Go " +
				"ends the process, by cgo too; " +
				"wrap it in a static inline function in the preamble that calls setjmp\n",
		},
		"slow": { // all of it: nothing to warn of
			files: map[string]string{"add.go": strings.Replace(declare("", ""), "//fastc:call",
				"//fastc:slow\n//fastc:call", 1), "load.c": "int read(void);\nint load(void) { return read(); }\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch name {
			case "no library":
				needsPkgConfig(t)
			case "blocking", "pointers", "jumps":
				needsGCC(t) // and its C library
			}
			dir := folder(t, tt.files)
			before := len(tt.files) + 2
			file := tt.file
			if file == "" {
				file = "add.go"
			}
			r := call(t.Context(), filepath.Join(dir, file))
			got := strings.ReplaceAll(r.stderr, dir, "DIR")
			if r.code != tt.code || !strings.HasPrefix(got, tt.want) || tt.code == exitOK && got != tt.want {
				t.Errorf("code %d, want %d\n got %s\nwant %s", r.code, tt.code, got, tt.want)
			}
			if n := len(list(t, dir)); tt.code != exitOK && n != before {
				t.Errorf("left %q, made of %q", list(t, dir), slices.Collect(maps.Keys(tt.files)))
			}
		})
	}
}

// TestNoModule: without an import path the same declarations would make another file elsewhere.
func TestNoModule(t *testing.T) {
	needsC(t)
	t.Parallel()
	dir := folder(t, map[string]string{"add.go": declare("", "")})
	if err := os.Remove(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	r := call(t.Context(), filepath.Join(dir, "add.go"))
	if r.code != exitFailed || !strings.Contains(r.stderr, "no import path") || !strings.Contains(r.stderr, "go.mod") {
		t.Errorf("code %d, %q", r.code, r.stderr)
	}
}

func needsPkgConfig(t *testing.T) {
	t.Helper()
	for p := range strings.SplitSeq(os.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(filepath.Join(p, "pkg-config")); err == nil {
			return
		}
	}
	t.Skip("needs pkg-config")
}

// TestEnvironment is about what the go command is told by the environment.
func TestEnvironment(t *testing.T) {
	needsC(t)
	for name, tt := range map[string]struct {
		key, value, cgo string
		want            string
	}{
		"no compiler": {"CC", "no-such-compiler -m64", "", "fastcgen: no C compiler: no-such-compiler, which go " +
			"env CC names, is not there; install it (Debian: gcc and libc6-dev; macOS: xcode-select --install) or " +
			"set CC\n"},
		"no pkg-config": {
			"PKG_CONFIG", "no-such-config", "#cgo pkg-config: zlib\n",
			"fastcgen: no no-such-config, which #cgo pkg-config: zlib needs: install it (Debian: pkg-config; macOS: " +
				"brew install pkgconf) or set PKG_CONFIG\n",
		},
		"cgo off": {"CGO_ENABLED", "0", "", ""},
		"wrapper": {
			"CGO_CFLAGS", "-O2", "#cgo CFLAGS: -O1 -wrapper /bin/false\n",
			"fastcgen: #cgo CFLAGS: the flag -wrapper is not one that chooses how to compile, and cgo refuses it " +
				"too: leave it out, or set CGO_CFLAGS_ALLOW to a pattern of it\n",
		},
		"allowed": {
			"CGO_CFLAGS_ALLOW", "-Xpreprocessor|-DALL.*",
			"#cgo CFLAGS: -Xpreprocessor -DALLOWED\n#ifndef ALLOWED\n#error ALLOWED\n#endif\n", "",
		},
		"disallowed": {
			"CGO_CFLAGS_DISALLOW", "-O3", "#cgo CFLAGS: -O3\n",
			"fastcgen: #cgo CFLAGS: the flag -O3 is not one that chooses how to compile, and cgo refuses it too: " +
				"leave it out, or set CGO_CFLAGS_ALLOW to a pattern of it\n",
		},
		"flags": {
			"CGO_CFLAGS", "'-DNEEDED=1 + 0' -flto -Wall -Werror",
			"#if NEEDED != 1\n#error NEEDED\n#endif\nstatic int unused(void) { return 0; }\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(tt.key, tt.value)
			dir := folder(t, map[string]string{"add.go": declare(tt.cgo, "")})
			r := call(t.Context(), filepath.Join(dir, "add.go"))
			if r.stderr != tt.want || (r.code == exitOK) != (tt.want == "") {
				t.Errorf("code %d, %q; want %q", r.code, r.stderr, tt.want)
			}
		})
	}
}
