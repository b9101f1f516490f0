package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"

	"evenkeel.dev/internal/golden"
	"evenkeel.dev/internal/testutil"
)

// TestInit writes the declarations for ordinary cgo files, and has fastcgen generate from them as
// they are. Golden files have the declarations and what both said.
func TestInit(t *testing.T) {
	needsGCC(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		files string
		out   string
		build string // command that compiles the result
	}{
		"plain":   {"geo.go", "geo_leaf.go", "go test -vet=all ."},
		"odd":     {"odd_linux.go", "odd_linux_leaf.go", ""},
		"two":     {"a.go b.go", "a_leaf.go", "go vet ."},
		"exports": {"odd.go", "odd_leaf.go", "go test -vet=all ."},
		"helpers": {"ring.go", "ring_leaf.go", "go vet ."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := testdata(t, "init/"+name)
			for n := range files {
				if strings.HasSuffix(n, ".golden") {
					delete(files, n)
				}
			}
			dir := folder(t, files)
			args := []string{"-init"}
			for f := range strings.FieldsSeq(tt.files) {
				args = append(args, filepath.Join(dir, f))
			}
			r := call(t.Context(), args...)
			if r.code != exitOK || r.stdout != "" {
				t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			out := filepath.Join(dir, tt.out)
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "init/"+name+"/leaf.golden", string(text))
			if said := command(t, dir, nil, "gofmt", "-l", out); said != "" {
				t.Errorf("gofmt -l: %s", said)
			}
			generated := call(t.Context(), out)
			if generated.code != exitOK {
				t.Fatalf("fastcgen of what -init wrote: code %d\n%s\n%s", generated.code, generated.stderr, text)
			}
			golden.Check(t, "init/"+name+"/said.golden", strings.ReplaceAll(r.stderr+generated.stderr, dir+"/", ""))
			if name == "plain" {
				text = []byte(answered(string(text)))
				if err := os.WriteFile(out, text, 0o644); err != nil {
					t.Fatal(err)
				}
				if r := call(t.Context(), out); r.code != exitOK || r.stderr != "" {
					t.Fatalf("fastcgen of the answered declarations: code %d\n%s", r.code, r.stderr)
				}
			}
			// each has the C compiler run a dozen times
			if tt.build != "" && (name == "plain" || testutil.Checking()) {
				command(t, dir, nil, strings.Fields(tt.build)...)
			}
			if r := call(t.Context(), args...); r.code != exitFailed ||
				!strings.Contains(r.stderr, tt.out+" is there and stays as it is") {
				t.Errorf("a second time: code %d, %s", r.code, r.stderr)
			}
			if now, err := os.ReadFile(out); err != nil || string(now) != string(text) {
				t.Errorf("the second time changed the file (%v)", err)
			}
		})
	}
}

// answered declares what -init asked about in geo.go, as a user does who knows geo.h.
func answered(text string) string {
	elements := strings.NewReplacer(
		"len(dst) >= ELEMENTS", "len(dst) >= int(arg2)",
		"len(from) >= ELEMENTS", "len(from) >= int(arg4)",
		"len(sum2) >= ELEMENTS", "len(sum2) >= 4",
		"len(cs) >= ELEMENTS", "len(cs) > 0 && cs[len(cs)-1] == 0",
		"geo_parse(cs, value)", "geo_parse(cs, &value)",
		"// //fastc:require len(value) >= ELEMENTS\n", "",
		"(cs []byte, value []int64) int32", "(cs []byte) (ret int32, value int64)",
		"geo_count(p, n)", "geo_count(p, &n)",
		"// //fastc:require len(p) >= ELEMENTS\n", "",
		"require len(n) >= ELEMENTS", "inout n = len(p)",
		"(p []byte, n []uint64) int32", "(p []byte) (ret int32, n uint64)",
		"func indexSave", "//fastc:slow\nfunc indexSave",
	)
	lines := strings.Split(elements.Replace(text), "\n")
	asked := false
	for i, l := range lines {
		if strings.HasPrefix(l, "// //fastc:call ") {
			lines[i-1] = ""
			asked = true
		}
		if asked {
			lines[i] = strings.TrimPrefix(l, "// ")
		}
		asked = asked && !strings.HasPrefix(l, "// func ")
	}
	return strings.Join(lines, "\n") + "\n//fastc:call geo_version()\n//fastc:copy\nfunc geoVersion() string\n\n" +
		"//fastc:call index_open(&c, size)\nfunc indexOpen(size int32) (ret int32, c *index)\n"
}

const useCgo = "package small\n\n// static int add(int a, int b) { return a + b; }\nimport \"C\"\n\nfunc use() int { " +
	"return int(C.add(1, 2)) }\n"

// TestInitRefuses is about what -init cannot read or must not write.
func TestInitRefuses(t *testing.T) {
	needsGCC(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		args  string
		code  int
		want  string
	}{
		"written already": {
			map[string]string{"p.go": useCgo, "p_leaf.go": "package small\n"},
			"-init p.go", exitFailed,
			"fastcgen: DIR/p_leaf.go is there and stays as it is: rename it, and move over what you want\n",
		},
		"generated already": {
			map[string]string{"p.go": useCgo, "p_leaf_fastc.go": "package small\n"},
			"-init p.go", exitFailed,
			"fastcgen: DIR/p_leaf_fastc.go is there and stays as it is",
		},
		"not a tag": {
			map[string]string{"p.go": "//go:build !none && cgo\n\n" + useCgo},
			"-init p.go", exitOK,
			"fastcgen: DIR/p_leaf.go declares 1 function;",
		},
		"with -check": {
			map[string]string{"p.go": useCgo},
			"-init -check p.go", exitUsage,
			"fastcgen: -check with -init: ",
		},
		"without -init": {
			map[string]string{"p.go": useCgo},
			"p.go", exitFailed,
			"DIR/p.go:1:1: Go would compile this file; write //go:build fastcgen above the package clause, or have " +
				"fastcgen -init write the declarations of an ordinary file\n",
		},
		"no file": {
			nil, "-init p.go", exitFailed,
			"fastcgen: no file DIR/p.go: name the Go file that calls C, as in fastcgen -init p.go\n",
		},
		"syntax": {
			map[string]string{"p.go": "package small\n\nfunc {\n"},
			"-init p.go", exitFailed,
			"DIR/p.go:3:6: expected 'IDENT', found '{'",
		},
		"no C": {
			map[string]string{"p.go": "package small\n"},
			"-init p.go", exitFailed,
			"DIR/p.go:1:9: no import \"C\"; name the file that calls C\n",
		},
		"no call": {
			map[string]string{"p.go": "package small\n\n// typedef int number;\nimport \"C\"\n\nvar n " +
				"C.number\n"},
			"-init p.go", exitFailed,
			"fastcgen: DIR/p.go calls no C function that could be declared: nothing is written\n",
		},
		"declaration": {
			map[string]string{"p.go": declare("", "")},
			"-init p.go", exitFailed,
			"DIR/p.go:3:9: this is a declaration file already; run fastcgen DIR/p.go\n",
		},
		"generated": {
			map[string]string{"p.go": declfile.Header + " from q.go. DO NOT EDIT.\n\n" + useCgo},
			"-init p.go",
			exitFailed, "DIR/p.go:3:9: fastcgen generated this file; name the file that calls C\n",
		},
		"test": {
			map[string]string{"p_test.go": useCgo},
			"-init p_test.go", exitFailed,
			"fastcgen: DIR/p_test.go: a test file cannot use cgo: name the file that does\n",
		},
		"packages": {
			map[string]string{"p.go": useCgo, "q.go": "package other\n"},
			"-init p.go", exitFailed,
			"fastcgen: found packages small (p.go) and other (q.go) in DIR: a folder has one package: move the files " +
				"of the other one\n",
		},
		"platform": {
			map[string]string{"p_plan9.go": useCgo, "q.go": "package small\n"},
			"-init p_plan9.go",
			exitFailed, "fastcgen: DIR/p_plan9.go: its name or its //go:build line leaves this platform out: run " +
				"fastcgen where it holds\n",
		},
		"preamble": {
			map[string]string{"p.go": strings.Replace(useCgo, "int b)", "integer b)", 1)},
			"-init p.go", exitFailed,
			"DIR/p.go:3:1: the C compiler says: unknown type name 'integer'; mend the preamble, or its #cgo lines\n",
		},
		"preambles": {
			map[string]string{"p.go": useCgo, "q.go": strings.NewReplacer("a + b", "b + a", "use",
				"used").Replace(useCgo)},
			"-init p.go q.go", exitFailed,
			"DIR/p.go:1:1: the C compiler says: redefinition of 'add' (q.go:3); mend the preamble, or its #cgo lines\n",
		},
		"unknown": {
			map[string]string{"p.go": strings.Replace(useCgo, "C.add(", "C.sum(", 1)},
			"-init p.go", exitFailed, "DIR/p.go:6:29: C does not know the function sum (",
		},
		"pointer to a function": {
			map[string]string{"p.go": strings.NewReplacer("int b)", "int (*b)(void))", " + b", "").Replace(useCgo)},
			"-init p.go", exitFailed,
			"DIR/p.go:6:29: C.add stays as it is: argument 2 is int (*)(void): pass nil in place of it: a leaf " +
				"function cannot call back\nfastcgen: DIR/p.go calls no C function that could be declared: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, tt.files)
			var args []string
			for a := range strings.FieldsSeq(tt.args) {
				if strings.HasSuffix(a, ".go") && !strings.HasPrefix(a, "DIR/") {
					a = "DIR/" + a
				}
				args = append(args, strings.ReplaceAll(a, "DIR", dir))
			}
			before := list(t, dir)
			r := call(t.Context(), args...)
			if got := strings.ReplaceAll(r.stderr, dir, "DIR"); r.code != tt.code || !strings.HasPrefix(got, tt.want) {
				t.Errorf("code %d, want %d\n got %s\nwant %s", r.code, tt.code, got, tt.want)
			}
			if now := list(t, dir); r.code != exitOK && len(now) != len(before) {
				t.Errorf("left %q", now)
			}
		})
	}
}
