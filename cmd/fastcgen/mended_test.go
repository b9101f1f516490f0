package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// edit is what a message says to write.
type edit struct{ says, from, to string }

// mended are refused declarations, each with the edits that its messages name, one after the other,
// until nothing is refused. The first part is C, the second what stands below import "C".
var mended = map[string]struct {
	c, decl string
	edits   []edit
}{
	"roaring": { // a struct of a struct of pointers
		"typedef struct array_s { int n; void **containers; unsigned char *codes; } array_t; typedef struct bitmap_s { array_t high_low; } bitmap_t; void add(bitmap_t *r, uint32_t x); bitmap_t *create(void);",
		"//fastc:call add(r, x)\nfunc Add(r *Bitmap, x uint32)\n\n//fastc:call create()\nfunc Create() *Bitmap\n",
		[]edit{
			{"the type Bitmap is not known, or cannot be passed to C; declare type NAME C.struct_bitmap_s, and *NAME here", "//fastc:call add", "type Bitmap C.struct_bitmap_s\n\n//fastc:call add"},
			{"high_low is array_t, of which Go can have no mirror; put //fastc:opaque above the type", "type Bitmap", "//fastc:opaque\ntype Bitmap"},
		},
	},
	"roaring from within": {
		"typedef struct array_s { int n; void **containers; } array_t; typedef struct bitmap_s { array_t high_low; } bitmap_t; void add(bitmap_t *r, uint32_t x);",
		"//fastc:opaque\ntype Array C.struct_array_s\n\ntype Bitmap C.bitmap_t\n\n//fastc:call add(r, x)\nfunc Add(r *Bitmap, x uint32)\n",
		[]edit{
			{"high_low is array_t, of which Go can have no mirror; put //fastc:opaque above the type", "type Bitmap", "//fastc:opaque\ntype Bitmap"},
			{"no function uses Array, of which C may know no more than the name; leave it out", "//fastc:opaque\ntype Array C.struct_array_s\n\n", ""},
		},
	},
	"value of an opaque type": {
		"struct ctx { void *p; }; static inline int ctx_n(struct ctx c) { return c.p != 0; } static inline int ctx_at(struct ctx *c) { return ctx_n(*c); }",
		"//fastc:opaque\ntype Ctx C.struct_ctx\n\n//fastc:call ctx_n(c)\nfunc N(c *Ctx) int32\n",
		[]edit{
			{"c is *Ctx, and argument 1 of ctx_n is struct ctx; wrap the function in a static inline one", "call ctx_n", "call ctx_at"},
		},
	},
	"struct by value": {
		"struct at { double x; }; double at_x(struct at a);",
		"//fastc:call at_x(a)\nfunc X(a float32) float64\n",
		[]edit{{"declare type NAME C.struct_at, and NAME here", "//fastc:call at_x(a)\nfunc X(a float32)", "type At C.struct_at\n\n//fastc:call at_x(a)\nfunc X(a At)"}},
	},
	"handle as a result": {
		"struct at { double x; }; struct at *at_new(void); double at_x(struct at a);",
		"type At C.struct_at\n\n//fastc:call at_new()\nfunc New() *At\n\n//fastc:call at_x(a)\nfunc X(a At) float64\n",
		[]edit{{"declare type NAME C.struct_at under //fastc:opaque, and *NAME here", "//fastc:call at_new()\nfunc New() *At\n", "//fastc:opaque\ntype Handle C.struct_at\n\n//fastc:call at_new()\nfunc New() *Handle\n"}},
	},
	"no result for a pointer": {
		"struct at *at_new(void);", "//fastc:call at_new()\nfunc New()\n",
		[]edit{{"declare type NAME C.struct_at under //fastc:opaque, and *NAME here", "//fastc:call at_new()\nfunc New()", "//fastc:opaque\ntype At C.struct_at\n\n//fastc:call at_new()\nfunc New() *At"}},
	},
	"handle through a pointer": {
		"struct at; int at_open(struct at **a);", "//fastc:call at_open(&a)\n//fastc:fails ret != 0\nfunc Open() (a uint64, err error)\n",
		[]edit{{"declare type NAME C.struct_at under //fastc:opaque, and *NAME here", "//fastc:call at_open(&a)\n//fastc:fails ret != 0\nfunc Open() (a uint64,", "//fastc:opaque\ntype At C.struct_at\n\n//fastc:call at_open(&a)\n//fastc:fails ret != 0\nfunc Open() (a *At,"}},
	},
	"text without a length": {
		"int length(const char *s);", "//fastc:call length(s)\nfunc Length(s string) int32\n",
		[]edit{{"declare it []byte, with //fastc:require len(s) > 0 && s[len(s)-1] == 0", "func Length(s string)", "//fastc:require len(s) > 0 && s[len(s)-1] == 0\nfunc Length(s []byte)"}},
	},
	"text that C keeps": {
		"const char *name(int n);", "//fastc:call name(n)\nfunc Name(n int32)\n",
		[]edit{
			{"declare string as the result, under //fastc:copy", "func Name(n int32)", "//fastc:copy\nfunc Name(n int32) string"},
		},
	},
	"text, not copied": {
		"const char *name(int n);", "//fastc:call name(n)\nfunc Name(n int32) string\n",
		[]edit{{"put //fastc:copy above Name: Go gets a copy", "func Name", "//fastc:copy\nfunc Name"}},
	},
	"text to free": {
		"char *name(int n);", "//fastc:call name(n)\n//fastc:copy\nfunc Name(n int32) string\n",
		[]edit{{"wrap name in a static inline function in the preamble that returns const char *", "call name(n)", "call kept(n)"}},
	},
	"copy of a number": {
		"int name(int n);", "//fastc:call name(n)\n//fastc:copy\nfunc Name(n int32) int32\n",
		[]edit{{"//fastc:copy, and Name gives no string that name returns; leave it out", "//fastc:copy\n", ""}},
	},
	"error that is nil": {
		"int put(int n);", "//fastc:call put(n)\nfunc Put(n int32) error\n",
		[]edit{{"the error of Put would always be nil: nothing says when put fails; add //fastc:fails ret != 0", "func Put", "//fastc:fails ret != 0\nfunc Put"}},
	},
	"error beside a result": {
		"int put(int n);", "//fastc:call put(n)\nfunc Put(n int32) (int32, error)\n",
		[]edit{{"add //fastc:fails errno != 0", "func Put", "//fastc:fails errno != 0\nfunc Put"}},
	},
	"error of nothing": {
		"void put(int n);", "//fastc:call put(n)\n//fastc:fails ret != 0\nfunc Put(n int32) error\n",
		[]edit{{"//fastc:fails looks at ret, and put returns nothing; write //fastc:fails errno != 0", "ret != 0", "errno != 0"}},
	},
	"error of a require": {
		"int put(int n);", "//fastc:call put(n)\n//fastc:require n > 0\nfunc Put(n int32) error\n",
		[]edit{{"put returns int, a signed integer of 32 bits, and Put only an error; add //fastc:fails ret != 0", "func Put", "//fastc:fails ret != 0\nfunc Put"}},
	},
	"array of unknown length": {
		"void digest(uint8_t *sum);", "//fastc:call digest(&sum)\nfunc Digest() (sum [16]byte)\n",
		[]edit{{"nothing in C says how many elements digest writes to sum; add //fastc:writes sum 16 if that is the most that it writes", "func Digest", "//fastc:writes sum 16\nfunc Digest"}},
	},
	"array in silence": {
		"#cgo CFLAGS: -w\nvoid digest(uint8_t sum[static 16]);", "//fastc:call digest(&sum)\nfunc Digest() (sum [16]byte)\n",
		[]edit{{"-w among the flags keeps the C compiler from saying when digest writes more to sum than it holds; add //fastc:writes sum 16", "func Digest", "//fastc:writes sum 16\nfunc Digest"}},
	},
	"array of one": {
		"void digest(uint8_t sum[static 1]);", "//fastc:call digest(&sum)\nfunc Digest() (sum [1]byte)\n",
		[]edit{{"the result sum is an array of one element; declare byte", "[1]byte", "byte"}},
	},
	"array too short": {
		"void digest(uint8_t sum[static 64]);", "//fastc:call digest(&sum)\nfunc Digest() (sum [16]byte)\n",
		[]edit{{"accessing 64 bytes in a region of size 16; declare the array as long as what C writes", "[16]byte", "[64]byte"}},
	},
	"array shorter than what is written": {
		"enum { LENGTH = 32 }; void digest(uint8_t *sum);", "//fastc:call digest(&sum)\n//fastc:writes sum LENGTH\nfunc Digest() (sum [16]byte)\n",
		[]edit{{"C writes LENGTH elements to sum, which has 16; declare the array as long as what C writes", "[16]byte", "[32]byte"}},
	},
	"array of another type": {
		"void digest(uint16_t sum[static 4]);", "//fastc:call digest(&sum)\nfunc Digest() (sum [4]byte)\n",
		[]edit{{"declare [4]uint16", "[4]byte", "[4]uint16"}},
	},
	"result of unknown type": {
		"void both(int *a);", "//fastc:call both(&a)\nfunc Both() (a Int)\n",
		[]edit{{"the type Int is not known, or cannot come from C; declare int32", "a Int", "a int32"}},
	},
	"begins as another type": {
		"void grow(size_t *n);", "//fastc:call grow(&n)\n//fastc:inout n = m\nfunc Grow(m int32) (n uint64)\n",
		[]edit{{"n begins as m, which is int32 and not uint64; declare m uint64", "m int32", "m uint64"}},
	},
	"begins as a length": {
		"void grow(uint8_t *p, int16_t *n);", "//fastc:call grow(p, &n)\n//fastc:inout n = len(p)\nfunc Grow(p []byte) (n int16)\n",
		[]edit{{"len(p) for n, which is int16; write a parameter in place of len(p)", "len(p)\nfunc Grow(p []byte)", "m\nfunc Grow(p []byte, m int16)"}},
	},
	"begins as what does not fit": {
		"void grow(uint8_t *n);", "//fastc:call grow(&n)\n//fastc:inout n = 300\nfunc Grow() (n byte)\n",
		[]edit{{"300 for n, which is uint8_t, an unsigned integer of 8 bits; write a value of that type", "300", "200"}},
	},
	"literal for another type": {
		"int on(_Bool b);", "//fastc:call on(1)\nfunc On() int32\n",
		[]edit{{"pass a parameter there: declare bool", "on(1)\nfunc On()", "on(b)\nfunc On(b bool)"}},
	},
	"elements for bytes": {
		"int sum(const void *p, size_t n);", "//fastc:call sum(p, len(p))\nfunc Sum(p []int32) int32\n",
		[]edit{{"declare p []byte", "[]int32", "[]byte"}},
	},
	"pointer to a number": {
		"static double cell; static inline double *row(void) { return &cell; } static inline void row_to(double *to) { *to = *row(); }",
		"//fastc:call row()\nfunc Row() *float64\n",
		[]edit{{"wrap the function in a static inline one in the preamble that writes what it points to into a slice", "call row()\nfunc Row() *float64", "call row_to(to)\n//fastc:require len(to) > 0\nfunc Row(to []float64)"}},
	},
	"struct within": {
		"struct in { int a; }; struct out { struct { struct in x[2][2]; } u; }; void put(struct out *o);", "type Out C.struct_out\n\n//fastc:call put(o)\nfunc Put(o *Out)\n",
		[]edit{{"declare type NAME C.struct_in too", "type Out", "type In C.struct_in\n\ntype Out"}},
	},
	"union": {
		"union u { int i; float f; }; void put(union u *u);", "type U C.union_u\n\n//fastc:call put(u)\nfunc Put(u *U)\n",
		[]edit{{"put //fastc:opaque above it", "type U", "//fastc:opaque\ntype U"}},
	},
	"result that C does not give": {
		"void put(void);", "//fastc:call put()\nfunc Put() int32\n",
		[]edit{{"put returns nothing, and Put a result; leave the result out", "Put() int32", "Put()"}},
	},
}

// TestMended applies the edit that each message names: the next run has to get further, to the next
// edit or to the end.
func TestMended(t *testing.T) {
	needsGCC(t)
	t.Parallel()
	dir := folder(t, nil)
	for name, tt := range mended {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tt.c + "\nstatic inline const char *kept(int n) { return n ? \"a\" : \"b\"; }"
			text := "//go:build fastcgen\n\npackage vec\n\n// #include <stddef.h>\n// #include <stdint.h>\n// " + strings.ReplaceAll(c, "\n", "\n// ") + "\nimport \"C\"\n\n" + tt.decl
			sub := filepath.Join(dir, strings.ReplaceAll(name, " ", "_"))
			if err := os.Mkdir(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(sub, "decl.go")
			run := func() result {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return call(t.Context(), file)
			}
			for _, e := range tt.edits {
				r := run()
				if r.code != exitFailed || !strings.Contains(r.stderr, e.says) {
					t.Fatalf("code %d, want to be told %q, got\n%s", r.code, e.says, r.stderr)
				}
				changed := strings.Replace(text, e.from, e.to, 1)
				if changed == text {
					t.Fatalf("no %q in\n%s", e.from, text)
				}
				text = changed
			}
			if r := run(); r.code != exitOK || r.stderr != "" {
				t.Fatalf("code %d after every edit\n%s\n%s", r.code, r.stderr, text)
			}
		})
	}
}
