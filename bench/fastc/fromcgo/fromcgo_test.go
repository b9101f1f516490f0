//go:build cgo && linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModules takes each module to leaf calls; its own tests have to pass then.
func TestModules(t *testing.T) {
	if os.Getenv("EVENKEEL_CHECK") != "1" {
		t.Skip("needs EVENKEEL_CHECK=1: it fetches modules and compiles their C, in minutes")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w := &work{ctx: t.Context(), root: root, dir: t.TempDir(), out: &out}
	if err := w.build(); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		t.Run(m.name, func(t *testing.T) {
			out.Reset()
			if err := w.convert(m); errors.Is(err, errMissing) {
				t.Skipf("needs %s@%s in the module cache, or a proxy: %v", m.path, m.version, err)
			} else if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			t.Log(out.String())
		})
	}
}

// TestCalls replaces calls by name, with the numbers among their arguments.
func TestCalls(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"leaf.go": "//fastc:call v_add(a, b)\n//fastc:budget\nfunc vAdd(a, b int32) int32\n\n// //fastc:call v_put(p)\n// func vPut(p []byte)\n",
		"v.go":    "x := C.v_add(C.int(a), C.int(f(b))) + C.v_add(1, 2)\nC.v_put(C.int(1))\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e := &editor{dir: dir, leaf: "leaf.go"}
	e.calls("v.go")
	got, err := os.ReadFile(filepath.Join(dir, "v.go"))
	if want := "x := vAdd(int32(a), int32(f(b))) + vAdd(1, 2)\nC.v_put(C.int(1))\n"; err != nil || e.err != nil || string(got) != want || e.renamed != 2 {
		t.Errorf("%q, %d calls, %v, %v; want %q", got, e.renamed, err, e.err, want)
	}
	if e.all("v.go", "nothing of the kind", ""); e.err == nil {
		t.Error("an edit that changes nothing is no error")
	}
}
