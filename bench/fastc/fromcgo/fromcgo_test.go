//go:build cgo && linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/bench/figure"
)

// TestModules takes each module to leaf calls; its own tests have to pass then, and to have made such calls.
func TestModules(t *testing.T) {
	if os.Getenv("EVENKEEL_TEST") != "fromcgo" {
		t.Skip("needs EVENKEEL_TEST=fromcgo, which no stage sets here: it fetches modules and compiles their C, in minutes")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := (&work{ctx: t.Context(), root: root, dir: dir}).build(); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			w := &work{ctx: t.Context(), root: root, dir: dir, out: &out}
			if err := w.convert(m); errors.Is(err, errMissing) {
				t.Skipf("needs %s@%s in the module cache, or a proxy: %v", m.path, m.version, err)
			} else if err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			t.Log("\n" + out.String())
		})
	}
}

const leafText = `//go:build fastcgen

package small

/*
#include "small.h"
*/
import "C"

// point is C's struct point.
type point C.struct_point

// ctx is C's ctx, of which Go has only pointers.
//
//fastc:opaque
type ctx C.ctx

//fastc:call v_add(a, b)
func vAdd(a, b int32) int32

//fastc:call v_sum(list, len(list), &total)
//fastc:budget
func vSum(list []float64) (ret int32, total float64)

//fastc:call v_scale(c, p, 2)
//fastc:fails errno != 0
func vScale(c *ctx, p *point) (int32, error)

//fastc:call v_fill(to, n)
//fastc:require len(to) >= 4 * n
func vFill(to []byte, n int32)

//fastc:call v_read(buf, &n)
//fastc:inout n = len(buf)
func vRead(buf []byte) (n uint64)

//fastc:call v_name(c)
//fastc:copy
func vName(c *ctx) string

//fastc:call v_text(s)
//fastc:require len(s) > 0 && s[len(s)-1] == 0
func vText(s []byte) int32

//fastc:call v_wait(c)
//fastc:slow
func vWait(c *ctx)
`

const cgoText = `package small

type _Ctype_ctx = _Ctype_struct___1
type _Ctype_other = _Ctype_struct___10
type _Ctype_struct___1 struct{}

func _Cfunc_v_add(p0 _Ctype_int, p1 _Ctype_int) (r1 _Ctype_int) { return }
func _Cfunc_v_sum(p0 *_Ctype_double, p1 _Ctype_size_t, p2 *_Ctype_double) (r1 _Ctype_int) { return }
func _Cfunc_v_scale(p0 *_Ctype_ctx, p1 *_Ctype_struct_point, p2 _Ctype_int) (r1 _Ctype_int) { return }
func _Cfunc_v_fill(p0 unsafe.Pointer, p1 _Ctype_int) (r1 _Ctype_void) { return }
func _Cfunc_v_read(p0 *_Ctype_char, p1 *_Ctype_size_t) (r1 _Ctype_void) { return }
func _Cfunc_v_name(p0 *_Ctype_struct___1) (r1 *_Ctype_char) { return }
func _Cfunc_v_text(p0 *_Ctype_char) (r1 _Ctype_int) { return }
func _Cfunc_v_wait(p0 *_Ctype_struct___1) (r1 _Ctype_void) { return }
func _Cfunc_v_none() (r1 _Ctype_int) { return }
`

const fileText = `package small

// #include "small.h"
import "C"

func use(c *C.ctx, list []float64, b []byte) {
	x := C.v_add(C.int(len(b)), (C.v_add)(1, 2))
	_ = C.v_sum((*C.double)(&list[0]), C.size_t(len(list)), nil)
	n, err := C.v_scale(c, &C.struct_point{}, 2)
	C.v_scale(c, nil, 2)
	C.v_fill(nil, x)
	C.v_read(nil, nil)
	_ = C.GoString(C.v_name(c))
	_ = C.v_name(c)
	C.v_text(nil)
	C.v_wait(c)
	C.v_none()
}
`

// TestConvert replaces calls, and writes what converts their arguments.
func TestConvert(t *testing.T) {
	d, err := readDeclarations("small_leaf.go", []byte(leafText))
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := readSignatures([]byte(cgoText))
	if err != nil {
		t.Fatal(err)
	}
	c := &converter{declarations: d, signatures: signatures, written: map[string]bool{}, left: map[string]string{}}
	got, err := c.convert("small.go", []byte(fileText))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\tx := fromcgo_v_add(C.int(len(b)), fromcgo_v_add(1, 2))\n",
		"_ = fromcgo_v_sum((*C.double)(&list[0]), C.size_t(len(list)), nil)\n",
		"n, err := fromcgoErrno_v_scale(c, &C.struct_point{}, 2)\n\tfromcgo_v_scale(c, nil, 2)\n",
		"_ = (fromcgo_v_name(c))\n\t_ = C.v_name(c)\n\tC.v_text(nil)\n\tC.v_wait(c)\n\tC.v_none()\n",
		"import fromcgoUnsafe \"unsafe\"\n",
		"func fromcgo_v_add(p0 C.int, p1 C.int) C.int {\n\tfromcgoCount(0)\n\tv_a := int32(p0)\n\tv_b := int32(p1)\n\tr := vAdd(v_a, v_b)\n\treturn C.int(r)\n}\n",
		"\tv_list := fromcgoUnsafe.Slice((*float64)(fromcgoUnsafe.Pointer(p0)), p1)\n\tr, o0 := vSum(v_list)\n" +
			"\tif p2 != nil {\n\t\t*(*float64)(fromcgoUnsafe.Pointer(p2)) = o0\n\t}\n\treturn C.int(r)\n",
		"func fromcgoErrno_v_scale(p0 *C.ctx, p1 *C.struct_point, p2 C.int) (C.int, error) {\n",
		"\tv_p := (*point)(fromcgoUnsafe.Pointer(p1))\n\tr, err := vScale(v_c, v_p)\n\treturn C.int(r), err\n",
		"\tr, _ := vScale(v_c, v_p)\n\treturn C.int(r)\n",
		"\tv_to := fromcgoUnsafe.Slice((*byte)(fromcgoUnsafe.Pointer(p0)), 4*v_n)\n\tvFill(v_to, v_n)\n}\n",
		"\tv_buf := fromcgoUnsafe.Slice((*byte)(fromcgoUnsafe.Pointer(p0)), *p1)\n\to0 := vRead(v_buf)\n",
		"func fromcgo_v_name(p0 *C.ctx) string {\n",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if c.sites != 8 || c.stay != 4 || c.left["v_text"] != "no argument is the length of s" || len(c.left) != 1 {
		t.Errorf("%d calls changed, %d not, left %v", c.sites, c.stay, c.left)
	}
}

// TestConvertNumbers imports nothing that only pointers need.
func TestConvertNumbers(t *testing.T) {
	d, err := readDeclarations("small_leaf.go", []byte("package small\n\n//fastc:call v_add(a, b)\nfunc vAdd(a, b int32) int32\n"))
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := readSignatures([]byte(cgoText))
	if err != nil {
		t.Fatal(err)
	}
	c := &converter{declarations: d, signatures: signatures, written: map[string]bool{}, left: map[string]string{}}
	got, err := c.convert("small.go", []byte("package small\n\nimport \"C\"\n\nvar three = C.v_add(1, 2)\n"))
	if err != nil || c.sites != 1 || strings.Contains(string(got), unsafeName) {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestAnswers makes declarations of comments.
func TestAnswers(t *testing.T) {
	const before = "package p\n\n// f is C's f.\n//\n//fastc:call f(a)\n//fastc:slow\nfunc f(a int32)\n\n" +
		"// C.g (p.go:1): How many elements does C touch?\n//\n// // t is C's t.\n// type t C.t\n//\n" +
		"// //fastc:call g(a, b)\n// //fastc:require len(a) >= ELEMENTS\n// //fastc:require len(b) >= ELEMENTS\n// func g(a []t, b []byte)\n\n" +
		"// C.h (p.go:2): How many?\n//\n// // t is C's t.\n// type t C.t\n//\n// //fastc:call h(a)\n// //fastc:require len(a) >= ELEMENTS\n// func h(a []t)\n"
	const after = "package p\n\n// f is C's f.\n//\n//fastc:call f(a)\n//fastc:budget\nfunc f(a int32)\n\n" +
		"// C.g (p.go:1): How many elements does C touch?\n\n// t is C's t.\ntype t C.t\n\n" +
		"//fastc:call g(a, b)\n//fastc:require len(a) >= 1\n//fastc:require len(b) >= 32\nfunc g(a []t, b []byte)\n\n" +
		"// C.h (p.go:2): How many?\n\n// t is C's t.\n// again: type t C.t\n\n//fastc:call h(a)\n//fastc:require len(a) >= 1\nfunc h(a []t)\n"
	a := answers{quick: []string{"f"}, elements: map[string][]string{"g": {"1", "32"}, "h": {"1"}}}
	if got, err := a.edit(before); err != nil || got != after {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := (answers{elements: map[string][]string{"g": {"1"}}}).edit(before); err == nil {
		t.Error("an answer for one of two questions is enough")
	}
	if _, err := (answers{elements: map[string][]string{"none": {"1"}}}).edit(before); err == nil {
		t.Error("an answer to no question is no error")
	}
}

// TestSummary counts what -init said.
func TestSummary(t *testing.T) {
	const said = "p.go:1:1: C.a is declared //fastc:slow: a gets to write\np.go:2:1: C.b is left to you: How many?\np.go:2:1: C.b is left to you: How many more?\n" +
		"p.go:3:1: C.c stays as it is: it takes a pointer to a function\nfastcgen: p_leaf.go declares 1 function; left to decide, in comments: 1; left to cgo: 1. Read it, then run fastcgen p_leaf.go\n"
	const want = "3 functions of C are called: -init declares 1 (1 of them //fastc:slow), asks about 1, leaves 1\nasked: b\nleft: C.c stays as it is: it takes a pointer to a function\n"
	if got := summary(said); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOutcome reads what go test -json writes.
func TestOutcome(t *testing.T) {
	o := &outcome{tests: map[string]string{}, calls: map[string]uint64{}}
	failed := o.read("p", `{"Action":"pass","Test":"TestA/sub"}
{"Action":"pass","Test":"TestA"}
{"Action":"skip","Test":"TestB"}
{"Action":"output","Test":"TestC","Output":"c.go:1: wrong\n"}
{"Action":"fail","Test":"TestC"}
{"Action":"output","Test":"TestFromCgoCalls","Output":"fromcgo calls v_add 12 2\n"}
{"Action":"pass","Test":"TestFromCgoCalls"}
{"Action":"output","Output":"fromcgo source runtime.asmcgocall, 12 functions before\n"}
{"Action":"output","Output":"fromcgo calls v_add 30 0\n"}
not of it
`)
	if failed != "c.go:1: wrong\n" || len(o.tests) != 2 || o.tests["p.TestA"] != "pass" || o.tests["p.TestB"] != "skip" ||
		o.calls["v_add"] != 42 || o.diverted != 2 || !strings.HasPrefix(o.source, "runtime.asmcgocall") {
		t.Errorf("%q, %+v", failed, o)
	}
}

// TestRecorded judges the recorded files again.
func TestRecorded(t *testing.T) {
	if err := figure.Unchanged("fromcgo", "../../results/fromcgo-*.json", judge); err != nil {
		t.Error(err)
	}
}
