package main

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
		{"nowhere.go", exitFailed, "", "fastcgen: no file nowhere.go"},
		{"testdata", exitFailed, "", "fastcgen: read testdata: is a directory"},
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

// imperative matches the strings that tell a reader what to write.
var imperative = regexp.MustCompile(`^(add|compare|declare|give|include|leave|mend|` +
	`move|name|pass|put|rename|split|wrap|write|use) `)

// unapplied are those that no table of declarations can apply, and why.
var unapplied = map[string]string{
	"mend the preamble, or its #cgo lines":                                       "the C compiler says what is wrong",
	"mend what this line says about C":                                           "the C compiler says what is wrong",
	"mend the expression: it sees the parameters and the package's declarations": "the Go compiler says what is wrong",
	"write plain expressions": "no expression is known that gets " +
		"there",
	"declare a function that uses it, or leave it out": "no compiler is known that says so " +
		"little",
	"use ordinary cgo for this one: a leaf function cannot call back": "the declaration has to go",
	"split the file": "TestParseRefusals gets there",
	"name the declaration file that it was made from":                       "TestPackages gets there",
	"include the header that declares it":                                   "which one cannot be said",
	"include the header that defines it":                                    "which one cannot be said",
	"a leaf function cannot call back: use ordinary cgo for this one":       "the declaration has to go",
	"rename it and write the platform into its //go:build line":             "TestPackages gets there",
	"put //fastc:slow above it":                                             "a warning",
	"put //fastc:slow above what may wait, take long or call back into Go":  "a warning",
	"wrap it in a static inline function in the preamble that calls setjmp": "a warning, which TestPackages applies",
	"leave it out, or set %s_ALLOW to a pattern of it":                      "TestEnvironment gets there",
	"write nothing; exit 1 when a generated file is not up to date":         "the help",
	"no file: name the declaration file, as in fastcgen dot.go":             "the command line",
}

// TestAdvice: whatever advice the source of fastcgen holds, a test applies it.
func TestAdvice(t *testing.T) {
	var said []string
	for _, tt := range mended {
		for _, e := range tt.edits {
			said = append(said, e.says)
		}
	}
	for _, tt := range refusals {
		if tt.from != "" {
			said = append(said, tt.want)
		}
	}
	verb := regexp.MustCompile(`%(\[\d+\])?[a-z]`)
	for at, text := range advice(t) {
		if unapplied[text] != "" {
			continue
		}
		pieces := verb.Split(text, -1)
		longest := strings.TrimSpace(slices.MaxFunc(pieces, func(a, b string) int { return len(a) - len(b) }))
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, longest) }) {
			t.Errorf("%s: no test applies %q", at, text)
		}
	}
}

// advice returns the strings of the source that say what to write, by their places.
func advice(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("internal/*/*.go")
	if err != nil || len(more) == 0 {
		t.Fatal(err)
	}
	names = append(names, more...)
	found := map[string]string{}
	fset := token.NewFileSet()
	for _, n := range names {
		if strings.HasSuffix(n, "_test.go") || strings.HasPrefix(n, "init") ||
			strings.HasPrefix(n, "internal/initial/") {
			continue
		}
		file, err := parser.ParseFile(fset, n, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				if imperative.MatchString(strings.TrimLeft(text, "; ")) {
					found[fset.Position(lit.Pos()).String()] = strings.TrimLeft(text, "; ")
				}
			}
			return true
		})
	}
	return found
}

// TestGuide: the messages in the guide's table are those that fastcgen prints.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/fastcgen.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(guide), "| declared | message | edit |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if !ok || strings.Count(table, "\n") < 5 {
		t.Fatal("no table of messages in the guide")
	}
	for l := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(l, "|"), "|")
		if len(cells) != 3 || !hasMessage(strings.TrimSpace(cells[1])) {
			t.Errorf("fastcgen does not say what the guide says that it does: %s", l)
		}
	}
}

func hasMessage(text string) bool {
	for _, tt := range mended {
		if slices.ContainsFunc(tt.edits, func(e edit) bool { return strings.Contains(e.says, text) }) {
			return true
		}
	}
	return false
}
