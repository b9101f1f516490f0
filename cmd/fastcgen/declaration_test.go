package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

func TestParseRefusals(t *testing.T) {
	for _, tt := range refusals {
		_, err := decl.Parse("x.go", []byte(refusalFile(tt.src)))
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
		_, err := decl.Parse("x.go", []byte(refusalFile(changed)))
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
		d, err := decl.Parse("x.go", []byte("//go:build fastcgen\n\npackage p\n\n"+src+
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
		d, err := decl.Parse("x.go", []byte("//go:build "+src+"\n\npackage p\n\n// c\nimport \"C\"\n\n//fastc:call "+
			"f()\nfunc F()\n"))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := decl.BuildLine(d.Build); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// source prints a declaration file that says what d says.
func source(d *decl.File) string {
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
	for _, c := range d.Consts {
		b.WriteString("\n" + c.Text + "\n")
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
		if f.Budget != nil && f.Budget.Limit == 0 {
			b.WriteString("//fastc:budget\n")
		} else if f.Budget != nil {
			fmt.Fprintf(&b, "//fastc:budget %s\n", f.Budget.Limit)
		}
		fmt.Fprintf(&b, "func %s(%s)%s\n", f.Name, decl.GoParams(f), decl.GoResults(f))
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
		d, err := decl.Parse("x.go", []byte(src))
		if bad, ok := err.(decl.Problems); ok {
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
		again, err := decl.Parse("x.go", []byte(first))
		if err != nil {
			t.Fatalf("taken, printed and refused: %v\n%s", err, first)
		}
		if diff := cmp.Diff(first, source(again)); diff != "" {
			t.Fatalf("printed and taken for something else (-first +again):\n%s", diff)
		}
	})
}
