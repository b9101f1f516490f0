package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/internal/testutil"
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
		"typedef struct array_s { int n; void **containers; unsigned char *codes; } array_t; typedef struct bitmap_s " +
			"{ array_t high_low; } bitmap_t; void add(bitmap_t *r, uint32_t x); bitmap_t *create(void);",
		"//fastc:call add(r, x)\nfunc Add(r *Bitmap, x uint32)\n\n//fastc:call create()\nfunc Create() *Bitmap\n",
		[]edit{
			{
				"the type Bitmap is not known, or cannot be passed to C; " +
					"declare type NAME C.struct_bitmap_s, and *NAME here",
				"//fastc:call add", "type Bitmap C.struct_bitmap_s\n\n//fastc:call add",
			},
			{
				"high_low is array_t, of which Go can have no mirror; put //fastc:opaque above the type", "type Bitmap",
				"//fastc:opaque\ntype Bitmap",
			},
		},
	},
	"roaring from within": {
		"typedef struct array_s { int n; void **containers; } array_t; typedef struct bitmap_s { array_t high_low; } " +
			"bitmap_t; void add(bitmap_t *r, uint32_t x);",
		"//fastc:opaque\ntype Array C.struct_array_s\n\ntype Bitmap C.bitmap_t\n\n//fastc:call add(r, x)\nfunc Add(r " +
			"*Bitmap, x uint32)\n",
		[]edit{
			{
				"high_low is array_t, of which Go can have no mirror; put //fastc:opaque above the type", "type Bitmap",
				"//fastc:opaque\ntype Bitmap",
			},
		},
	},
	"value of an opaque type": {
		"struct ctx { void *p; }; static inline int ctx_n(struct ctx c) { return c.p != 0; } static inline int " +
			"ctx_at(struct ctx *c) { return ctx_n(*c); }",
		"//fastc:opaque\ntype Ctx C.struct_ctx\n\n//fastc:call ctx_n(c)\nfunc N(c *Ctx) int32\n",
		[]edit{
			{
				"c is *Ctx, and argument 1 of ctx_n is struct ctx; wrap the function in a static inline one",
				"call ctx_n",
				"call ctx_at",
			},
		},
	},
	"struct by value": {
		"struct at { double x; }; double at_x(struct at a);",
		"//fastc:call at_x(a)\nfunc X(a float32) float64\n",
		[]edit{{
			"declare type NAME C.struct_at, and NAME here", "//fastc:call at_x(a)\nfunc X(a float32)",
			"type At C.struct_at\n\n//fastc:call at_x(a)\nfunc X(a At)",
		}},
	},
	"handle as a result": {
		"struct at { double x; }; struct at *at_new(void); double at_x(struct at a);",
		"type At C.struct_at\n\n//fastc:call at_new()\nfunc New() *At\n\n//fastc:call at_x(a)\nfunc X(a At) float64\n",
		[]edit{{
			"declare type NAME C.struct_at under //fastc:opaque, and *NAME here",
			"//fastc:call at_new()\nfunc New() *At\n",
			"//fastc:opaque\ntype Handle C.struct_at\n\n//fastc:call at_new()\nfunc New() *Handle\n",
		}},
	},
	"no result for a pointer": {
		"struct at *at_new(void);", "//fastc:call at_new()\nfunc New()\n",
		[]edit{{
			"declare type NAME C.struct_at under //fastc:opaque, and *NAME here",
			"//fastc:call at_new()\nfunc New()",
			"//fastc:opaque\ntype At C.struct_at\n\n//fastc:call at_new()\nfunc New() *At",
		}},
	},
	"handle through a pointer": {
		"struct at; int at_open(struct at **a);",
		"//fastc:call at_open(&a)\n//fastc:fails ret != 0\nfunc Open() (a uint64, err error)\n",
		[]edit{{
			"declare type NAME C.struct_at under //fastc:opaque, and *NAME here",
			"//fastc:call at_open(&a)\n//fastc:fails ret != 0\nfunc Open() (a uint64,",
			"//fastc:opaque\ntype At C.struct_at\n\n" +
				"//fastc:call at_open(&a)\n//fastc:fails ret != 0\nfunc Open() (a *At,",
		}},
	},
	"text without a length": {
		"int length(const char *s);", "//fastc:call length(s)\nfunc Length(s string) int32\n",
		[]edit{{
			"declare it []byte, with //fastc:require len(s) > 0 && s[len(s)-1] == 0", "func Length(s string)",
			"//fastc:require len(s) > 0 && s[len(s)-1] == 0\nfunc Length(s []byte)",
		}},
	},
	"text that C keeps": {
		"const char *name(int n);", "//fastc:call name(n)\nfunc Name(n int32)\n",
		[]edit{
			{
				"declare string as the result, under //fastc:copy", "func Name(n int32)",
				"//fastc:copy\nfunc Name(n int32) string",
			},
		},
	},
	"text, not copied": {
		"const char *name(int n);", "//fastc:call name(n)\nfunc Name(n int32) string\n",
		[]edit{{"put //fastc:copy above Name: Go gets a copy", "func Name", "//fastc:copy\nfunc Name"}},
	},
	"text to free": {
		"char *name(int n);", "//fastc:call name(n)\n//fastc:copy\nfunc Name(n int32) string\n",
		[]edit{{
			"wrap name in a static inline function in the preamble that returns const char *", "call name(n)",
			"call kept(n)",
		}},
	},
	"copy of a number": {
		"int name(int n);", "//fastc:call name(n)\n//fastc:copy\nfunc Name(n int32) int32\n",
		[]edit{{"//fastc:copy, and Name gives no string that name returns; leave it out", "//fastc:copy\n", ""}},
	},
	"error that is nil": {
		"int put(int n);", "//fastc:call put(n)\nfunc Put(n int32) error\n",
		[]edit{{
			"the error of Put would always be nil: nothing says when put fails; add //fastc:fails ret != 0",
			"func Put", "//fastc:fails ret != 0\nfunc Put",
		}},
	},
	"error beside a result": {
		"int put(int n);", "//fastc:call put(n)\nfunc Put(n int32) (int32, error)\n",
		[]edit{{"add //fastc:fails errno != 0", "func Put", "//fastc:fails errno != 0\nfunc Put"}},
	},
	"error of nothing": {
		"void put(int n);", "//fastc:call put(n)\n//fastc:fails ret != 0\nfunc Put(n int32) error\n",
		[]edit{{
			"//fastc:fails looks at ret, and put returns nothing; write //fastc:fails errno != 0", "ret != 0",
			"errno != 0",
		}},
	},
	"error of a require": {
		"int put(int n);", "//fastc:call put(n)\n//fastc:require n > 0\nfunc Put(n int32) error\n",
		[]edit{{
			"put returns int, a signed integer of 32 bits, and Put only an error; add //fastc:fails ret != 0",
			"func Put", "//fastc:fails ret != 0\nfunc Put",
		}},
	},
	"array of unknown length": {
		"void digest(uint8_t *sum);", "//fastc:call digest(&sum)\nfunc Digest() (sum [16]byte)\n",
		[]edit{{"nothing in C says how many elements digest writes to sum; add //fastc:writes sum 16 if that is the " +
			"most that it writes", "func Digest", "//fastc:writes sum 16\nfunc Digest"}},
	},
	"array of one": {
		"void digest(uint8_t sum[static 1]);", "//fastc:call digest(&sum)\nfunc Digest() (sum [1]byte)\n",
		[]edit{{"the result sum is an array of one element; declare byte", "[1]byte", "byte"}},
	},
	"array too short": {
		"void digest(uint8_t sum[static 64]);", "//fastc:call digest(&sum)\nfunc Digest() (sum [16]byte)\n",
		[]edit{{
			"accessing 64 bytes in a region of size 16; declare the array as long as what C writes", "[16]byte",
			"[64]byte",
		}},
	},
	"array shorter than what is written": {
		"enum { LENGTH = 32 }; void digest(uint8_t *sum);",
		"//fastc:call digest(&sum)\n//fastc:writes sum LENGTH\nfunc Digest() (sum [16]byte)\n",
		[]edit{{
			"C writes LENGTH elements to sum, which has 16; declare the array as long as what C writes", "[16]byte",
			"[32]byte",
		}},
	},
	"array that an inline function overruns": { // which no declaration says
		"static inline void digest(uint8_t *sum) { for (int i = 0; i < 64; i++) sum[i] = (uint8_t)i; }",
		"//fastc:call digest(&sum)\n//fastc:writes sum 16\nfunc Digest() (sum [16]byte)\n",
		[]edit{{
			"digest writes more than 16 elements to sum, as the C compiler sees (writing 16 bytes into a region " +
				"of size 0); declare the array as long as what C writes", "sum 16\nfunc Digest() (sum [16]byte)",
			"sum 64\nfunc Digest() (sum [64]byte)",
		}},
	},
	"array that is overrun further down": {
		"#include <string.h>\nstatic void fill(uint8_t *to, int n) { if (n > 0) memset(to + 8, n, 24); } static " +
			"inline void digest(uint8_t *sum, int n) { fill(sum, n); }",
		"//fastc:call digest(&sum, n)\n//fastc:writes sum 16\nfunc Digest(n int32) (sum [16]byte)\n",
		[]edit{{
			"digest writes more than 16 elements to sum, as the C compiler sees ('memset' forming offset [16, " +
				"31] is out of the bounds [0, 16]", "sum 16\nfunc Digest(n int32) (sum [16]byte)",
			"sum 32\nfunc Digest(n int32) (sum [32]byte)",
		}},
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
		"void grow(uint8_t *p, int16_t *n);",
		"//fastc:call grow(p, &n)\n//fastc:inout n = len(p)\nfunc Grow(p []byte) (n int16)\n",
		[]edit{{
			"len(p) for n, which is int16; write a parameter in place of len(p)", "len(p)\nfunc Grow(p []byte)",
			"m\nfunc Grow(p []byte, m int16)",
		}},
	},
	"begins as what does not fit": {
		"void grow(uint8_t *n);", "//fastc:call grow(&n)\n//fastc:inout n = 300\nfunc Grow() (n byte)\n",
		[]edit{{
			"300 for n, which is uint8_t, an unsigned integer of 8 bits; write a value of that type", "300",
			"200",
		}},
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
		"static double cell; static inline double *row(void) { return &cell; } static inline void row_to(double *to) " +
			"{ *to = *row(); }",
		"//fastc:call row()\nfunc Row() *float64\n",
		[]edit{{
			"wrap the function in a static inline one in the preamble that writes what it points to into a slice",
			"call row()\nfunc Row() *float64", "call row_to(to)\n//fastc:require len(to) > 0\nfunc Row(to []float64)",
		}},
	},
	"pointers to void": {
		"void *make(int n); int open_at(void **to); struct room; static inline struct room *make_room(int n) { " +
			"return make(n); }\n" +
			"static inline int open_room(struct room **to) { return open_at((void **)to); }",
		"//fastc:call make(n)\nfunc Make(n int32) uintptr\n\n//fastc:call open_at(&to)\n//fastc:fails ret != 0\nfunc " +
			"Open() (to uintptr, err error)\n",
		[]edit{
			{
				"make returns void *: Go cannot know how long what it points to stays; wrap the function in a static " +
					"inline one in the preamble that gives struct NAME * in place of void *, and declare type NAME " +
					"C.struct_NAME under //fastc:opaque", "//fastc:call make(n)\nfunc Make(n int32) uintptr",
				"//fastc:opaque\ntype Room C.struct_room\n\n//fastc:call make_room(n)\nfunc Make(n int32) *Room",
			},
			{
				"argument 1 of open_at is void **; wrap the function in a static inline one in the preamble that " +
					"gives " +
					"struct NAME * in place of void *",
				"open_at(&to)\n//fastc:fails ret != 0\nfunc Open() (to uintptr,",
				"open_room(&to)\n//fastc:fails ret != 0\nfunc Open() (to *Room,",
			},
		},
	},
	"types of which the compiler says less than it knows": {
		"#include <stdarg.h>\nint list(int n, va_list a); static inline int list_of(int n, ...) { va_list a; " +
			"va_start(a, n); int r = list(n, a); va_end(a); return r; } static inline int list_none(int n) { return " +
			"list_of(n); }",
		"//fastc:call list(n, nil)\nfunc List(n int32) int32\n",
		[]edit{{
			"the C compiler has another type for this function than its debugging information (an attribute such " +
				"as ms_abi, or va_list); wrap the function in a static inline one in the preamble", "list(n, nil)",
			"list_none(n)",
		}},
	},
	"length in another parameter": {
		"double trace(int n, double m[n][n]); static inline double trace_of(const double *m, int n) { return " +
			"trace(n, (void *)m); }",
		"//fastc:call trace(n, m)\nfunc Trace(n int32, m []float64) float64\n",
		[]edit{{
			"argument 2 of trace is double (*)[]; wrap the function in a static inline one", "trace(n, m)",
			"trace_of(m, n)",
		}},
	},
	"struct within": {
		"struct in { int a; }; struct out { struct in x[2][2]; }; void put(struct out *o);",
		"type Out C.struct_out\n\n//fastc:call put(o)\nfunc Put(o *Out)\n",
		[]edit{{"declare type NAME C.struct_in too", "type Out", "type In C.struct_in\n\ntype Out"}},
	},
	"union": {
		"union u { int i; float f; }; void put(union u *u);",
		"type U C.union_u\n\n//fastc:call put(u)\nfunc Put(u *U)\n",
		[]edit{{"put //fastc:opaque above it", "type U", "//fastc:opaque\ntype U"}},
	},
	"result that C does not give": {
		"void put(void);", "//fastc:call put()\nfunc Put() int32\n",
		[]edit{{"put returns nothing, and Put a result; leave the result out", "Put() int32", "Put()"}},
	},
	// Numbers.
	"number": {
		"int8_t narrow(int8_t a); uint64_t wide(uint64_t a); char letter(char a);",
		"//fastc:call narrow(a)\nfunc Narrow(a int16) int32\n\n//fastc:call wide(a)\nfunc Wide(a int) " +
			"int\n\n//fastc:call letter(a)\nfunc Letter(a int16) byte\n",
		[]edit{
			{
				"a is int16, and argument 1 of narrow is int8_t, a signed integer of 8 bits; declare int8", "a int16",
				"a int8",
			},
			{
				"the result is int32, and narrow returns int8_t, a signed integer of 8 bits; declare int8 as the " +
					"result",
				"int32", "int8",
			},
			{"a is int (64 bits in Go), and argument 1 of wide is uint64_t, an unsigned integer of 64 bits; declare " +
				"uint64", "a int)", "a uint64)"},
			{"declare uint64 as the result", "int\n", "uint64\n"},
			{"a is int16, and argument 1 of letter is char, a character; declare uint8", "a int16", "a uint8"},
		},
	},
	"enum": {
		"enum mode { SLOW, FAST }; int set(enum mode m);", "//fastc:call set(m)\nfunc Set(m float32) int32\n",
		[]edit{{
			"m is float32, and argument 1 of set is enum mode, an enum of 32 bits; declare uint32", "float32",
			"uint32",
		}},
	},
	"long double": {
		"long double root(long double x); static inline double root_of(double x) { return x < 0 ? 0 : x; }",
		"//fastc:call root(x)\nfunc Root(x float64) float64\n",
		[]edit{{"x is float64, and argument 1 of root is long double; wrap the function in a static inline one in " +
			"the preamble whose types Go has too", "call root(", "call root_of("}},
	},
	"result left out": {
		"int put(int n);", "//fastc:call put(n)\nfunc Put(n int32)\n",
		[]edit{{
			"put returns int, a signed integer of 32 bits, and Put does not; declare int32 as the result",
			"n int32)", "n int32) int32",
		}},
	},
	"too few arguments": {
		"int put(int n, int m);", "//fastc:call put(n)\nfunc Put(n int32) int32\n",
		[]edit{{
			"put takes 2 arguments, and //fastc:call passes 1; pass what C declares: int put(int, int)",
			"put(n)\nfunc Put(n ", "put(n, m)\nfunc Put(n, m ",
		}},
	},
	"literal that does not fit": {
		"int narrow(int8_t a);", "//fastc:call narrow(128)\nfunc Narrow() int32\n",
		[]edit{{"128 for argument 1 of narrow, which is int8_t, a signed integer of 8 bits; pass a parameter there: " +
			"declare int8", "narrow(128)\nfunc Narrow()", "narrow(a)\nfunc Narrow(a int8)"}},
	},

	// What C knows.
	"misspelt": {
		"int put_all(int n); enum { MOST_OF_ALL = 3 };",
		"//fastc:call put_al(n)\n//fastc:require n < C.MOST_OF_AL\nfunc Put(n int32) int32\n",
		[]edit{
			{"C does not know the function put_al ('put_al' undeclared here (not in a function); did you mean " +
				"'put_all'?); write put_all in place of put_al", "put_al(", "put_all("},
			{"C does not know the constant C.MOST_OF_AL ('MOST_OF_AL' undeclared here (not in a function); did you " +
				"mean 'MOST_OF_ALL'?); write MOST_OF_ALL in place of MOST_OF_AL", "MOST_OF_AL\n", "MOST_OF_ALL\n"},
		},
	},
	"header left out": {
		"", "type Division C.div_t\n\n//fastc:call abs(n)\nfunc Abs(n int32) int32\n\n//fastc:call div(a, b)\nfunc " +
			"Div(a, b int32) Division\n",
		[]edit{
			{
				"C does not know the type div_t (unknown type name 'div_t'", "<stdint.h>",
				"<stdint.h>\n// #include <stdlib.h>",
			},
		},
	},
	"macro": {
		"#define twice(n) ((n) * 2)\nstatic inline int doubled(int n) { return twice(n); }",
		"//fastc:call twice(n)\nfunc Twice(n int32) int32\n",
		[]edit{{
			"include the header that declares it, or wrap a macro in a static inline function in the preamble",
			"call twice(", "call doubled(",
		}},
	},
	"variable": {
		"extern int count; int counted(void);", "//fastc:call count()\nfunc Count() int32\n",
		[]edit{{"count is not a function in C; name a function", "call count(", "call counted("}},
	},
	"variable arguments": {
		"int show(const char *format, ...); static inline int show_one(const char *format, size_t n) { return n ? " +
			"show(format) : 0; }", "//fastc:call show(s)\nfunc Show(s []byte) int32\n",
		[]edit{{"show has variable arguments, or no prototype; wrap it in a static inline function with fixed " +
			"parameters in the preamble", "show(s)", "show_one(s, len(s))"}},
	},
	"type without a name": {
		"enum { ONE } first(int a); static inline int first_of(int a) { return first(a); }",
		"//fastc:call first(a)\nfunc First(a int32) int32\n",
		[]edit{{
			"the result of first is an enum without a name; wrap the function in a static inline one",
			"call first(", "call first_of(",
		}},
	},
	"callback": {
		"int each(int (*f)(int), int n);", "//fastc:call each(f, n)\nfunc Each(f []byte, n int32) int32\n",
		[]edit{{"f is []byte, and argument 1 of each is int (*)(int); pass nil in place of it: a leaf function " +
			"cannot call back", "each(f, n)\nfunc Each(f []byte, n", "each(nil, n)\nfunc Each(n"}},
	},

	// Pointers.
	"pointer to another type": {
		"double sum(const double *a, size_t n); void fill(float *x); float most(const float *x); void text(char *s, " +
			"size_t n);", "//fastc:call sum(a, len(a))\nfunc Sum(a []float32) float64\n\n//fastc:call fill(x)\nfunc " +
			"Fill(x [4]float32)\n\n//fastc:call most(x)\nfunc Most(x []string) float32\n\n//fastc:call text(s, " +
			"len(s))\nfunc Text(s string)\n",
		[]edit{
			{"a is []float32, and argument 1 of sum is const double *; declare []float64", "[]float32", "[]float64"},
			{"x is [4]float32, and argument 1 of fill is float *: C may write to it, and the caller would not see " +
				"it; declare it *[4]float32", "[4]float32", "*[4]float32"},
			{"x is []string, and argument 1 of most is const float *: C would find Go's string in it; declare " +
				"[]float32", "[]string", "[]float32"},
			{
				"s is string, and argument 1 of text is char *: C may write to it; declare it []byte", "s string",
				"s []byte",
			},
		},
	},
	"constant of six decimals": {
		"#define SHARE 0.123456789\ndouble part(double x);",
		"//fastc:call part(x)\n//fastc:require x < C.SHARE\nfunc Part(x float64) float64\n",
		[]edit{{"C.SHARE is a floating-point constant, of which cgo keeps six decimals; write the number; as an " +
			"argument in //fastc:call it is exact", "C.SHARE", "0.123456789"}},
	},
	"length of no slice": {
		"int put(size_t n); int letters(const char *s, size_t n); void half(const uint8_t *p, uint8_t n);",
		"//fastc:call put(len(n))\nfunc Put(n uint64) int32" +
			"\n\n//fastc:call half(p, len(p))\nfunc Half(p []byte)\n",
		[]edit{
			{"len(n), and n is uint64; write n in place of len(n)", "len(n)", "n"},
			{
				"len(p) for argument 2 of half, which is uint8_t, an unsigned integer of 8 bits; pass a parameter " +
					"there: declare uint8", "half(p, len(p))\nfunc Half(p []byte)",
				"half(p, n)\nfunc Half(p []byte, n uint8)",
			},
		},
	},
	"structs": {
		"struct point { double x, y; }; struct point mid(struct point a); void move(struct point *p); typedef struct " +
			"{ int id; } item; item make(void);", "type Point C.struct_point\n\n//fastc:call mid(a)\nfunc Mid(a " +
			"*Point) Point\n\n//fastc:call move(p)\nfunc Move(p Point)\n\n//fastc:call make(  )\nfunc Make() Point\n",
		[]edit{
			{"a is *Point, and argument 1 of mid is struct point; declare Point", "a *Point", "a Point"},
			{"p is Point, and argument 1 of move is struct point *; declare *Point", "p Point", "p *Point"},
			{
				"the result is Point, and make returns item, a struct; declare type NAME C.item, and NAME here " +
					"as the " +
					"result", "//fastc:call make(  )\nfunc Make() Point",
				"type Item C.item\n\n//fastc:call make()\nfunc Make() Item",
			},
		},
	},
	"opaque": {
		"struct hidden; int shut(struct hidden *h); int all(struct hidden *h); struct hidden *open_it(void);",
		"type Hidden C.struct_hidden\n\n//fastc:call shut(h)\nfunc Shut(h Hidden) int32\n\n//fastc:call " +
			"all(h)\nfunc All(h []Hidden) int32\n\n//fastc:call open_it()\nfunc Open() Hidden\n",
		[]edit{
			{"h is Hidden, and argument 1 of shut cannot be a value of a type that C keeps to itself; declare it " +
				"*Hidden", "h Hidden", "h *Hidden"},
			{"h is []Hidden, and argument 1 of all is struct hidden *: values of Hidden do not exist in Go; pass a " +
				"*Hidden", "h []Hidden", "h *Hidden"},
			{"the result is a value of Hidden, which C keeps to itself; declare *Hidden", "() Hidden", "() *Hidden"},
		},
	},
	"results by address": {
		"int in(const int *a); int number(int a); int both(int *a, int *b); int numbers(int *s);",
		"//fastc:call in(&a)\nfunc In() (a int32, ret int32)\n\n//fastc:call number(&a)\nfunc Number() (ret, a " +
			"int32)\n\n//fastc:call both(&a, &a)\nfunc Both() (ret, a int32)\n\n//fastc:call numbers(&s)\nfunc " +
			"Numbers() (ret int32, s []int32)\n",
		[]edit{
			{
				"&a for argument 1 of in, which is const int *: C does not write to it; pass a parameter, not a result",
				"in(&a)\nfunc In() (a int32, ret int32)", "in(a)\nfunc In(a []int32) (ret int32)",
			},
			{
				"&a for argument 1 of number, which is int, a signed integer of 32 bits; pass a parameter, not a " +
					"result",
				"number(&a)\nfunc Number() (ret, a int32)", "number(a)\nfunc Number(a int32) (ret int32)",
			},
			{
				"&a is passed twice; name another result", "both(&a, &a)\nfunc Both() (ret, a int32)",
				"both(&a, &b)\nfunc Both() (ret, a, b int32)",
			},
			{"the result s is []int32; declare int32", "s []int32", "s int32"},
		},
	},
	"result of pointers": {
		"struct at { int *p; }; void fill(struct at *a);", "//fastc:call fill(&a)\nfunc Fill() (a int32)\n",
		[]edit{
			{
				"a is int32, and argument 1 of fill is struct at *; pass a parameter, not a result: declare type " +
					"NAME " +
					"C.struct_at, and *NAME here", "//fastc:call fill(&a)\nfunc Fill() (a int32)",
				"type At C.struct_at\n\n//fastc:call fill(a)\nfunc Fill(a *At)",
			},
			{"put //fastc:opaque above the type", "type At", "//fastc:opaque\ntype At"},
		},
	},
	"copy of no text": {
		"const int *codes(void); static inline void codes_to(int *to, size_t n) { for (size_t i = 0; i < n; i++) " +
			"to[i] = codes()[i]; }", "//fastc:call codes()\n//fastc:copy\nfunc Codes() string\n",
		[]edit{{
			"the result is string, and codes returns const int *; wrap the function in a static inline one in " +
				"the preamble that writes what it points to into a slice", "codes()\n//fastc:copy\nfunc Codes() string",
			"codes_to(to, len(to))\nfunc Codes(to []int32)",
		}},
	},

	// Types.
	"mirrors": {
		"struct bits { unsigned a : 3; }; struct at { int *p; }; struct packed { char c; int n; } " +
			"__attribute__((packed)); struct wide { int n[4]; } __attribute__((aligned(16))); struct list { struct { " +
			"int a; } items[3]; };\n" +
			"struct __attribute__((packed)) even { int a, b; }; void use(struct bits *a, struct at *b, struct packed " +
			"*c, struct wide *d, struct list *e, struct even *f);",
		"type Bits C.struct_bits\n\ntype At C.struct_at\n\ntype Packed C.struct_packed\n\ntype Wide " +
			"C.struct_wide\n\ntype List C.struct_list\n\ntype Even C.struct_even\n\n//fastc:call use(a, b, c, d, e, " +
			"f)\nfunc Use(a *Bits, b *At, c *Packed, d *Wide, e *List, f *Even)\n",
		[]edit{
			{"struct bits: a is a bit-field, which Go does not have; put //fastc:opaque above the type to pass " +
				"pointers to it only", "type Bits", "//fastc:opaque\ntype Bits"},
			{
				"struct at: p is a pointer: Go's collector does not look into C's structs; " +
					"put //fastc:opaque above the type",
				"type At", "//fastc:opaque\ntype At",
			},
			{"struct packed: n is at offset 1, where Go puts nothing of its size (a packed struct); put " +
				"//fastc:opaque above the type", "type Packed", "//fastc:opaque\ntype Packed"},
			{"struct wide asks for an alignment that Go does not give; put //fastc:opaque above it to pass pointers " +
				"to it only", "type Wide", "//fastc:opaque\ntype Wide"},
			{
				"struct list: items is a struct without a name; put //fastc:opaque above the type",
				"type List",
				"//fastc:opaque\ntype List",
			},
			{"struct even is packed: C puts it where Go puts nothing of its kind; put //fastc:opaque above it to " +
				"pass pointers to it only", "type Even", "//fastc:opaque\ntype Even"},
		},
	},
	"no struct": {
		"typedef float lanes __attribute__((vector_size(16))); int put(int n);",
		"type Lanes C.lanes\n\n//fastc:opaque\ntype Number C.int\n\n//fastc:call put(n)\nfunc Put(n Number) " +
			"int32\n",
		[]edit{
			{"lanes is lanes, no struct, enum or number that Go has; leave it out", "type Lanes C.lanes\n\n", ""},
			{"//fastc:opaque on int, which is no struct or union; leave it out", "//fastc:opaque\n", ""},
		},
	},
}

// TestMended applies the edit that each message names: the next run has to get further, to the next
// edit or, in make check, to the end, where the C compiler has most to do.
func TestMended(t *testing.T) {
	needsGCC(t)
	t.Parallel()
	dir := folder(t, nil)
	for name, tt := range mended {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tt.c + "\nstatic inline const char *kept(int n) { return n ? \"a\" : \"b\"; }"
			text := "//go:build fastcgen\n\npackage vec\n\n// #include <stddef.h>\n// #include <stdint.h>\n// " +
				strings.ReplaceAll(c, "\n", "\n// ") + "\nimport \"C\"\n\n" + tt.decl
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
			if !testutil.Checking() {
				return
			}
			// The C functions have no body here, so fastcgen warns that it cannot look into them.
			r := run()
			for line := range strings.Lines(r.stderr) {
				if r.code != exitOK || !strings.Contains(line, ": warning: fastcgen cannot look into ") {
					t.Fatalf("code %d after every edit\n%s\n%s", r.code, r.stderr, text)
				}
			}
		})
	}
}
