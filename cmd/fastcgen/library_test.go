package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestLibraries: of what is linked, only the symbols tell which calls it makes.
func TestLibraries(t *testing.T) {
	needsGCC(t)
	if runtime.GOOS == "darwin" {
		t.Skip("needs libraries in ELF: those of macOS are not looked into")
	}
	t.Parallel()
	const unsure = ": whether it gets there cannot be seen; put //fastc:slow above Put unless you know\n"
	for name, tt := range map[string]struct{ ldFlags, want string }{
		"shared":  {"-L${SRCDIR} -lslowly", "put is in libslowly.so, which calls fsync" + unsure},
		"static":  {"-L${SRCDIR}/static -lslowly", "put is in libslowly.a, whose a_put_of_a_long_name.o gets to fsync (a_put_of_a_long_name.o -> disk.o)" + unsure},
		"archive": {"${SRCDIR}/static/libslowly.a", "put is in libslowly.a, whose a_put_of_a_long_name.o gets to fsync (a_put_of_a_long_name.o -> disk.o)" + unsure},
		"exact":   {"-L${SRCDIR}/static -l:libslowly.a", "put is in libslowly.a, whose a_put_of_a_long_name.o gets to fsync (a_put_of_a_long_name.o -> disk.o)" + unsure},
		"quick":   {"${SRCDIR}/static/libquickly.a", ""},
		"broken":  {"${SRCDIR}/static/libbroken.a", ""},
		"no file": {"-L${SRCDIR}/nowhere -lno-such-library", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, map[string]string{
				"add.go": declare("#cgo LDFLAGS: "+tt.ldFlags+"\nint put(int n);\n", "\n//fastc:call put(n)\nfunc Put(n int32) int32\n"),
			})
			makeLibraries(t, dir)
			r := call(t.Context(), filepath.Join(dir, "add.go"))
			want := ""
			if tt.want != "" {
				want = filepath.Join(dir, "add.go") + ":18:14: warning: " + tt.want
			}
			if r.code != exitOK || r.stderr != want {
				t.Errorf("code %d\n got %s\nwant %s", r.code, r.stderr, want)
			}
		})
	}
}

// makeLibraries makes a shared library, and static ones of two objects.
func makeLibraries(t *testing.T, dir string) {
	t.Helper()
	static := filepath.Join(dir, "static")
	if err := os.Mkdir(static, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a_put_of_a_long_name.c": "int disk(int);\nint put(int n) { return disk(n); }\n", "disk.c": "int fsync(int);\nint disk(int n) { return fsync(n); }\n",
		"quick.c": "int put(int n) { return n; }\n", "whole.c": "int fsync(int);\nint put(int n) { return fsync(n); }\n",
	} {
		c := filepath.Join(static, name)
		if err := os.WriteFile(c, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		command(t, static, nil, "gcc", "-c", "-fPIC", name)
	}
	command(t, static, nil, "ar", "rc", "libslowly.a", "a_put_of_a_long_name.o", "disk.o")
	command(t, static, nil, "ar", "rc", "libquickly.a", "quick.o", "disk.o")
	command(t, static, nil, "gcc", "-shared", "-o", "../libslowly.so", "whole.o")
	if err := os.WriteFile(filepath.Join(static, "libbroken.a"), []byte("!<arch>\n"+strings.Repeat("x", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
}
