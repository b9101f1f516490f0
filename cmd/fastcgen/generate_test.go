package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
	"github.com/google/go-cmp/cmp"
)

// command runs a program in dir. What the go command builds there is built as this test is, and
// without -trimpath, so that it finds the standard library compiled.
func command(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	testutil.Slow(t, "runs the go command")
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod "+testutil.RaceFlag, "GOPROXY=off"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", strings.Join(env, " "), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestEveryForm generates from declarations of every accepted form, compares the result with
// the golden file, and runs it against what Go works out (testdata/vec/vec_test.go).
func TestEveryForm(t *testing.T) {
	needsC(t)
	t.Parallel()
	dir := folder(t, testdata(t, "vec"))
	if r := call(t.Context(), filepath.Join(dir, "decl.go")); r.code != exitOK || r.stderr != "" || r.stdout != "" {
		t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	generated := filepath.Join(dir, "decl_fastc.go")
	text, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "vec/decl_fastc.golden", string(text))

	program := filepath.Join(dir, "vec.test")
	// as make test vets: what it found out of the standard library holds
	command(t, dir, nil, "go", "test", "-vet=all", "-c", "-o", program)
	for _, env := range []string{"FASTC=", "FASTC=off", "GOGC=1"} {
		command(t, dir, []string{env}, program)
	}
	// the detector needs cgo, and without it much of the standard library is compiled again
	if testutil.RaceFlag == "-race=false" {
		command(t, dir, []string{"CGO_ENABLED=0"}, "go", "build", ".")
	}
	if out := command(t, dir, nil, "gofmt", "-l", generated); out != "" {
		t.Errorf("gofmt -l: %s", out)
	}
	for _, linter := range []string{"gofumpt -l", "staticcheck"} {
		args := strings.Fields(linter)
		program, err := filepath.Abs("../../.bin/" + args[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(program); err != nil {
			t.Logf("%s left out: make lint builds it", args[0])
			continue
		}
		if out := command(t, dir, nil, append([]string{program}, append(args[1:], ".")...)...); out != "" {
			t.Errorf("%s: %s", args[0], out)
		}
	}
}

// TestCallback runs what is generated for C that calls back into Go; the stack moves during the
// call.
func TestCallback(t *testing.T) {
	needsC(t)
	t.Parallel()
	dir := folder(t, testdata(t, "callback"))
	if r := call(t.Context(), filepath.Join(dir, "decl.go")); r.code != exitOK {
		t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	program := filepath.Join(dir, "callback.test")
	command(t, dir, nil, "go", "test", "-vet=all", "-c", "-o", program)
	for _, env := range []string{"GOGC=100", "GOGC=1", "GODEBUG=cgocheck=1"} {
		command(t, dir, []string{env}, program)
	}
	if testutil.Checking() { // compiles the standard library again
		command(t, dir, []string{"GOEXPERIMENT=cgocheck2", "GOGC=1"}, "go", "test", ".")
	}
}

// TestRefusals compares what is said about wrong declarations, a file of them each, with golden
// files.
func TestRefusals(t *testing.T) {
	needsGCC(t)
	t.Parallel()
	for _, name := range []string{"match", "types", "missing", "preamble", "conditions", "fails", "decimal", "short"} {
		r := call(t.Context(), "testdata/refuse/"+name+".go")
		if r.code != exitFailed || r.stdout != "" {
			t.Errorf("%s: code %d\n%s", name, r.code, r.stdout)
		}
		golden.Check(t, "refuse/"+name+".golden", strings.ReplaceAll(r.stderr, "testdata/refuse/", ""))
	}
	for _, n := range list(t, "testdata/refuse") {
		if strings.Contains(n, "_fastc") || strings.HasPrefix(n, ".") {
			t.Errorf("left %s behind", n)
		}
	}
}

// TestTwoPackages links packages of one name, with functions of one name.
func TestTwoPackages(t *testing.T) {
	needsC(t)
	t.Parallel()
	const decl = "//go:build fastcgen\n\npackage twin\n\n// static inline int twin(void) { return NUMBER; }\nimport " +
		"\"C\"\n\n//fastc:call twin()\nfunc Twin() int32\n"
	dir := folder(t, map[string]string{"main.go": `package main

import (
	one "example.test/vec/one/twin"
	two "example.test/vec/two/twin"
)

func main() { println(one.Twin(), two.Twin()) }
`})
	for sub, n := range map[string]string{"one": "1", "two": "2"} {
		p := filepath.Join(dir, sub, "twin")
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(p, "decl.go")
		if err := os.WriteFile(file, []byte(strings.Replace(decl, "NUMBER", n, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := call(t.Context(), file); r.code != exitOK || r.stderr != "" {
			t.Fatalf("code %d\n%s", r.code, r.stderr)
		}
	}
	if out := command(t, dir, nil, "go", "run", "."); out != "1 2\n" {
		t.Errorf("%q", out)
	}
}

// TestChangedC changes C under generated code: it must not compile then.
func TestChangedC(t *testing.T) {
	needsC(t)
	t.Parallel()
	const header = "typedef double real; struct three { real x; }; enum way { AWAY = -1, BACK };\n" +
		"static inline real sum(struct three t, enum way w) { return t.x + w; }\nstruct pair { long a; int b; " +
		"};\nstatic inline int first(struct pair *p, unsigned n) { return (int)p[n].a; }\nenum { LIMIT = 100, " +
		"WORDS = 2 };\n" +
		"static inline void digest(unsigned char sum[static 16]) { sum[0] = 1; }\nstatic inline void words(int *w) { " +
		"for (int i = 0; i < WORDS; i++) w[i] = i; }\n"
	dir := folder(t, map[string]string{
		"c.h": header,
		"decl.go": "//go:build fastcgen\n\npackage vec\n\n// #include \"c.h\"\nimport \"C\"\n\ntype Pair " +
			"C.struct_pair\n\n//fastc:call first(p, C.LIMIT)\nfunc First(p *Pair) int32\n" +
			"\ntype Three C.struct_three\n\ntype Way C.enum_way\n\n//fastc:call sum(t, w)\nfunc Sum(t Three, w Way) " +
			"float64\n" +
			"\n//fastc:call digest(&sum)\nfunc Digest() (sum [16]byte)\n\n//fastc:call words(&w)\n//fastc:writes w " +
			"WORDS\nfunc Words() (w [2]int32)\n",
	})
	if r := call(t.Context(), filepath.Join(dir, "decl.go")); r.code != exitOK || r.stderr != "" {
		t.Fatalf("code %d\n%s", r.code, r.stderr)
	}
	changes := [][2]string{ // one of a kind: each has Go and the C compiler run
		{"", ""},
		{"int b", "unsigned b"},
		{"AWAY = -1", "AWAY = 1"},
		{"unsigned n", "int n"},
		{"LIMIT = 100", "LIMIT = -1LL << 40"},
		{"static 16", "static 64"},
		{"WORDS = 2", "WORDS = 3"},
	}
	if testutil.Checking() {
		changes = append(changes, [][2]string{
			{"double real", "long real"},
			{"double real", "unsigned long real"},
			{"struct three {", "struct __attribute__((packed)) three {"},
			{"long a", "int a"},
			{"int b", "int b, c, d"},
			{"long a; int b", "int b; long a"},
			{"inline int", "inline long"},
			{"pair *p,", "pair *p, int m,"},
		}...)
	}
	for _, change := range changes {
		changed := strings.Replace(header, change[0], change[1], 1)
		if err := os.WriteFile(filepath.Join(dir, "c.h"), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod "+testutil.RaceFlag, "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		said := strings.Contains(string(out), "C has changed: run go generate") ||
			strings.Contains(string(out), "does not fit") ||
			strings.Contains(string(out), "accessing 64 bytes in a region of size 16") ||
			strings.Contains(string(out), "callee requires at least 64") ||
			strings.Contains(string(out), "C writes WORDS elements to w, which has 2")
		if (change[0] == "") != (err == nil) || (err != nil) != said {
			t.Errorf("%q: %v\n%s", change, err, out)
		}
	}
}

func TestParseRefusals(t *testing.T) {
	for _, tt := range refusals {
		_, err := declfile.Parse("x.go", []byte(refusalFile(tt.src)))
		if err == nil {
			t.Errorf("%q is not refused; want %s", tt.src, tt.want)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), "x.go:", ""); !sameLines(got, tt.want) {
			t.Errorf("%.200q\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

// TestParseMended applies the edit that each message names: the file is taken then, or there is
// another message.
func TestParseMended(t *testing.T) {
	for _, tt := range refusals {
		if tt.from == "" {
			continue
		}
		changed := tt.src + tt.to
		if tt.from != "!APPEND" {
			changed = strings.Replace(tt.src, tt.from, tt.to, 1)
		}
		if changed == tt.src {
			t.Errorf("no %q in %q", tt.from, tt.src)
		}
		_, err := declfile.Parse("x.go", []byte(refusalFile(changed)))
		if err != nil && !strings.Contains(err.Error(), "declares no function") {
			t.Errorf("%q after the edit that it names:\n%q\nstill refused: %v", tt.want, changed, err)
		}
	}
}

// sameLines compares lines in whatever order.
func sameLines(a, b string) bool {
	count := map[string]int{}
	for l := range strings.SplitSeq(a, "\n") {
		count[l]++
	}
	for l := range strings.SplitSeq(b, "\n") {
		count[l]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestParsePreamble(t *testing.T) {
	for src, want := range map[string]string{
		"/*\n#include <a.h>\n*/\nimport \"C\"":                      "\n#include <a.h>\n",
		"// #include <a.h>\n// int b;\nimport \"C\"":                "#include <a.h>\nint b;",
		"/* a */ // b\n/* c\n */\nimport \"C\"":                     "a b\nc\n ",
		"/* a */\n\n// b\nimport (\n\t// c\n\t\"C\"\n)":             "c",
		"/* not this */\n\n//\timport \"C\" is below\nimport \"C\"": "\timport \"C\" is below",
	} {
		d, err := declfile.Parse("x.go", []byte("//go:build fastcgen\n\npackage p\n\n"+src+
			"\n\n//fastc:call f()\nfunc F()\n"))
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if d.Preamble != want {
			t.Errorf("%q: preamble %q, want %q", src, d.Preamble, want)
		}
	}
}

func TestBuildLine(t *testing.T) {
	for src, want := range map[string]string{
		"fastcgen":                        "cgo",
		"fastcgen && linux":               "cgo && linux",
		"linux && fastcgen && !race":      "linux && cgo && !race",
		"fastcgen && (linux || darwin)":   "cgo && (linux || darwin)",
		"fastcgen && !(linux && race)":    "cgo && !(linux && race)",
		"(fastcgen && amd64) && (a || b)": "cgo && amd64 && (a || b)",
	} {
		d, err := declfile.Parse("x.go", []byte("//go:build "+src+"\n\npackage p\n\n// c\nimport \"C\"\n\n"+
			"//fastc:call f()\nfunc F()\n"))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := declfile.BuildLine(d.Build); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// source prints a declaration file that says what d says.
func source(d *declfile.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "//go:build %s\n\n", d.Build)
	lines := func(list []string) {
		for _, l := range list {
			b.WriteString(l + "\n")
		}
	}
	lines(d.Doc)
	fmt.Fprintf(&b, "package %s\n\n", d.Pkg)
	if strings.Contains(d.Preamble, "*/") {
		b.WriteString("// " + strings.ReplaceAll(d.Preamble, "\n", "\n// ") + "\n")
	} else {
		b.WriteString("/* " + d.Preamble + "*/\n")
	}
	b.WriteString("import \"C\"\n")
	for _, t := range d.Types {
		b.WriteString("\n")
		lines(t.Doc)
		if t.Opaque {
			b.WriteString("//fastc:opaque\n")
		}
		fmt.Fprintf(&b, "type %s C.%s\n", t.Name, t.CName)
	}
	for _, f := range d.Funcs {
		b.WriteString("\n")
		lines(f.Doc)
		if len(f.Doc) > 0 {
			b.WriteString("//\n")
		}
		args := make([]string, len(f.Call.Args))
		for i, a := range f.Call.Args {
			args[i] = a.String()
		}
		fmt.Fprintf(&b, "//fastc:call %s(%s)\n", f.Call.CName, strings.Join(args, ", "))
		for _, c := range f.Requires {
			fmt.Fprintf(&b, "//fastc:require %s\n", c.Text)
		}
		if f.Slow != nil {
			b.WriteString(strings.TrimRight("//fastc:slow "+f.Slow.Text, " ") + "\n")
		}
		if f.Yields != nil {
			b.WriteString(strings.TrimRight("//fastc:yield "+f.Yields.Text, " ") + "\n")
		}
		if f.Fails != nil {
			fmt.Fprintf(&b, "//fastc:fails %s\n", f.Fails.Text)
		}
		if f.Copies {
			b.WriteString("//fastc:copy\n")
		}
		for _, name := range slices.Sorted(maps.Keys(f.Inouts)) {
			fmt.Fprintf(&b, "//fastc:inout %s = %s\n", name, f.Inouts[name])
		}
		for _, name := range slices.Sorted(maps.Keys(f.Writes)) {
			fmt.Fprintf(&b, "//fastc:writes %s %s\n", name, f.Writes[name].Text)
		}
		if f.Budget != nil && *f.Budget == 0 {
			b.WriteString("//fastc:budget\n")
		} else if f.Budget != nil {
			fmt.Fprintf(&b, "//fastc:budget %s\n", *f.Budget)
		}
		fmt.Fprintf(&b, "func %s(%s)%s\n", f.Name, declfile.GoParams(f), declfile.GoResults(f))
	}
	return b.String()
}

// FuzzDeclaration: the parser never panics, places each problem in the file, and what it takes
// can be printed and is then taken again for the same.
func FuzzDeclaration(f *testing.F) {
	src, err := os.ReadFile("testdata/vec/decl.go")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(src))
	for _, tt := range refusals {
		if len(tt.src) < 1000 {
			f.Add(refusalFile(tt.src))
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		d, err := declfile.Parse("x.go", []byte(src))
		if bad, ok := err.(declfile.Problems); ok {
			for _, p := range bad {
				if p.At.Filename != "x.go" || p.At.Line < 1 || p.At.Line > strings.Count(src, "\n")+2 || p.What == "" {
					t.Fatalf("a problem out of place: %s", p)
				}
			}
		}
		if err != nil {
			return
		}
		first := source(d)
		again, err := declfile.Parse("x.go", []byte(first))
		if err != nil {
			t.Fatalf("taken, printed and refused: %v\n%s", err, first)
		}
		if diff := cmp.Diff(first, source(again)); diff != "" {
			t.Fatalf("printed and taken for something else (-first +again):\n%s", diff)
		}
	})
}
