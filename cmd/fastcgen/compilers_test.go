package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
)

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
