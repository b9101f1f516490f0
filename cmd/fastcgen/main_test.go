package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
)

// result is what a call of the command gave.
type result struct {
	stdout, stderr string
	code           int
}

// call runs the command in this process.
func call(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	a := &app{stdout: &out, stderr: &err}
	code := a.main(ctx, args)
	return result{out.String(), err.String(), code}
}

// needsC skips a test where there is no C compiler.
func needsC(t *testing.T) {
	t.Helper()
	testutil.Slow(t, "runs a C compiler")
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("needs %s, a C compiler", cc)
	}
}

// needsGCC skips a test that compares what the compiler says, where that is not gcc.
func needsGCC(t *testing.T) {
	t.Helper()
	needsC(t)
	cc, err := exec.CommandContext(t.Context(), "go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), strings.Fields(string(cc))[0], "--version").Output()
	if err != nil || !strings.Contains(string(said), "Free Software Foundation") {
		t.Skipf("needs gcc as go env CC, which is %s", cc)
	}
}

// folder makes a package of files, in a module of its own that finds this one, and returns its
// path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all := map[string]string{
		"go.mod": "module example.test/vec\n\ngo 1.26.0\n\nrequire evenkeel.dev v0.0.0\n\nreplace evenkeel.dev => " +
			root + "\n",
		"go.sum": string(sums),
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// testdata returns the files of a folder in testdata by name.
func testdata(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("testdata/%s: %v", dir, err)
	}
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(n)] = string(text)
	}
	return files
}

// list returns the names in a folder.
func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"-h", exitOK, "//go:generate go run evenkeel.dev/cmd/fastcgen dot.go", ""},
		{"--help", exitOK, "-check", ""},
		{"", exitUsage, "", "fastcgen: no file: name the declaration file"},
		{"-chek x.go", exitUsage, "", "not defined: -chek\nfastcgen -h tells more"},
		{"-o a.go x.go y.go", exitUsage, "", "-o with 2 files"},
		{"nowhere.go", exitFailed, "", "fastcgen: no file nowhere.go"},
		{"testdata", exitUsage, "", "fastcgen: testdata is a folder: name a Go file in it"},
		{"-init .", exitUsage, "", "fastcgen: . is a folder: name a Go file in it"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			r := call(t.Context(), strings.Fields(tt.args)...)
			if r.code != tt.code || !strings.Contains(r.stdout, tt.stdout) || !strings.Contains(r.stderr, tt.stderr) ||
				tt.stdout == "" && r.stdout != "" || tt.stderr == "" && r.stderr != "" {
				t.Errorf("code %d, want %d; standard output %q, want %q; standard error %q, want %q",
					r.code, tt.code, r.stdout, tt.stdout, r.stderr, tt.stderr)
			}
		})
	}
}
