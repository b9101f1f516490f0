package main

import "strings"

const refusalHead = "//go:build fastcgen\n\npackage p\n\n// #include <x.h>\nimport \"C\"\n\n"

const unknownType = "9:10: this type cannot be passed to C; write a number, bool, string, slice, array, pointer or " +
	"declared type"

// refusals has a case for each thing that is wrong whatever C says. src follows refusalHead, from
// line 8 on, unless it starts with a !. to in place of from is the edit that the first message
// names.
var refusals = []struct{ src, want, from, to string }{
	{"", "3:9: declares no function; declare one under a //fastc:call line", "!APPEND", "//fastc:call f()\nfunc F()\n"},
	{"func F(\n", "8:9: expected ')', found 'EOF'", "", ""},

	// The file.
	{
		"!package p\n\n// c\nimport \"C\"\n\n//fastc:call f()\nfunc F()\n",
		"1:1: Go would compile this file; write //go:build fastcgen above the package clause, or have fastcgen " +
			"-init write the declarations of an ordinary file", "!package p",
		"!//go:build fastcgen\n\npackage p",
	},
	{
		"!//go:build fastcgen || linux\n\npackage p\n\n// c\nimport \"C\"\n\n//fastc:call f()\nfunc F()\n",
		"3:1: Go would compile this file; write //go:build fastcgen above the package clause, or have fastcgen " +
			"-init write the declarations of an ordinary file",
		"!//go:build fastcgen || linux", "!//go:build fastcgen",
	},
	{
		"!//go:build fastcgen &&\n\npackage p\n\n// c\nimport \"C\"\n\n//fastc:call f()\nfunc F()\n",
		"1:1: unexpected end of expression; write //go:build fastcgen", "fastcgen &&", "fastcgen",
	},
	{
		"!//go:build fastcgen\n\npackage p\n\n//fastc:call f()\nfunc F()\n",
		`3:9: no import "C"; write it, under a comment with the #include lines`, "package p",
		"package p\n\n// #include <x.h>\nimport \"C\"",
	},
	{
		"!//go:build fastcgen\n\npackage p\n\nimport \"C\"\n\n//fastc:call f()\nfunc F()\n",
		`5:8: no preamble above import "C"; write a comment with the #include lines right above it`, "import",
		"// #include <x.h>\nimport",
	},
	{
		"import \"C\"\n\n//fastc:call f()\nfunc F()\n", `8:8: a second import "C"; put both preambles above one`,
		"import \"C\"\n\n", "",
	},
	{
		"import \"unsafe\"\n\n//fastc:call f()\nfunc F()\n",
		`8:8: imports "unsafe"; leave it out: a declaration file imports only "C"`, "import \"unsafe\"\n\n", "",
	},
	{
		"var x int\n",
		"8:1: a var in a declaration file; move it to an ordinary file of the package, which may import C",
		"var x int\n", "",
	},
	{
		"const x = C.X\n",
		"8:1: a const in a declaration file; move it to an ordinary file of the package, which may import C",
		"const x = C.X\n", "",
	},

	// Types.
	{"type T struct{}\n", "8:8: T is not a type of C; write type NAME C.NAME, as in type Point C.struct_point; Go " +
		"types belong in an ordinary file of the package", "struct{}", "C.struct_t"},
	{
		"type T = C.t\n", "8:6: T is generic or an alias; write type NAME C.NAME, as in type Point C.struct_point",
		"= ",
		"",
	},
	{
		"type T[P any] C.t\n", "8:6: T is generic or an alias; write type NAME C.NAME, as in type Point C.struct_point",
		"[P any]", "",
	},
	{"type T x.t\n", "8:8: T is not a type of C; write type NAME C.NAME, as in type Point C.struct_point; Go types " +
		"belong in an ordinary file of the package", "x.t", "C.t"},
	{
		"//fastc:call f()\ntype T C.t\n",
		"8:1: //fastc:call f() on a type; leave it out: a type takes one //fastc:opaque", "//fastc:call f()\n", "",
	},
	{"//fastc:opaque yes\ntype T C.t\n", "8:1: //fastc:opaque yes on a type; leave it out: a " +
		"type takes one //fastc:opaque", " yes", ""},
	{
		"//fastc:opaque\n//fastc:opaque\ntype T C.t\n",
		"9:1: //fastc:opaque on a type; leave it out: a type takes one //fastc:opaque", "//fastc:opaque\n", "",
	},
	{"type unsafe C.t\n", "8:6: unsafe hides what the generated code uses by that name; rename it", "unsafe", "Unsafe"},
	{"type F C.t\n\n//fastc:call f()\nfunc F()\n", "11:6: F is declared at line 8 too; rename one", "type F", "type T"},
	{
		"type FSite C.t\n\n//fastc:call f()\n//fastc:budget\nfunc F()\n",
		"12:6: FSite is declared at line 8 too; rename one", "type FSite", "type Site",
	},
	{"//fastc:slow\n\n//fastc:call f()\nfunc F()\n", "8:1: a directive that belongs to no function or type; put it " +
		"in the comment right above one", "slow\n\n", "slow\n"},

	// Directives.
	{
		"func F()\n", "8:6: F does not say what to call; write //fastc:call NAME(ARGUMENTS) above it", "func",
		"//fastc:call f()\nfunc",
	},
	{
		"//fastc:call f()\n\nfunc F()\n",
		"10:6: F does not say what to call; write //fastc:call NAME(ARGUMENTS) above " +
			"it\n8:1: a directive that belongs to no function or type; put it in the comment right above one", "\n\n",
		"\n",
	},
	{"// fastc:call f()\nfunc F()\n", "9:6: F does not say what to call; write //fastc:call NAME(ARGUMENTS) above " +
		"it\n8:1: a comment that looks like a directive; write it as //fastc:WORD, without blanks", "// ", "//"},
	{
		"//fastcgen:call f()\nfunc F()\n",
		"9:6: F does not say what to call; write //fastc:call NAME(ARGUMENTS) above " +
			"it\n8:1: a comment that looks like a directive; write it as //fastc:WORD, without blanks", "fastcgen",
		"fastc",
	},
	{"//fastc:cal f()\nfunc F()\n", "8:1: no directive //fastc:cal; write call, require, slow, yield, budget, fails, " +
		"copy, inout or writes", "cal ", "call "},
	{"//fastc: call f()\nfunc F()\n", "8:1: no directive //fastc:; write call, require, slow, yield, budget, fails, " +
		"copy, inout or writes", ": ", ":"},
	{
		"//fastc:opaque\n//fastc:call f()\nfunc F()\n", "8:1: no directive //fastc:opaque; write call, require, " +
			"slow, yield, budget, fails, copy, inout or writes",
		"//fastc:opaque\n//fastc:call f()\n", "//fastc:opaque\ntype T C.t\n\n//fastc:call f()\n",
	},
	{
		"//fastc:call f()\n//fastc:call f()\nfunc F()\n", "9:1: a second //fastc:call; leave one out",
		"//fastc:call f()\n", "",
	},
	{
		"//fastc:call f()\n//fastc:slow\n//fastc:slow\nfunc F()\n", "10:1: a second //fastc:slow; leave one out",
		"//fastc:slow\n", "",
	},
	{
		"//fastc:call\nfunc F()\n", "8:1: //fastc:call says nothing; write //fastc:call NAME(ARGUMENTS)", "call",
		"call f()",
	},
	{
		"//fastc:call f()\n//fastc:require\nfunc F()\n",
		"9:1: //fastc:require says nothing; write //fastc:require CONDITION", "require", "require 1 < 2",
	},
	{
		"//fastc:call f()\n//fastc:fails\nfunc F() error\n",
		"9:1: //fastc:fails says nothing; write //fastc:fails CONDITION of C over ret", "fails", "fails ret < 0",
	},
	{
		"//fastc:call f\nfunc F()\n", "8:14: //fastc:call f is not a call; write //fastc:call NAME(ARGUMENTS)",
		"call f",
		"call f()",
	},
	{
		"//fastc:call f(\nfunc F()\n", "8:16: //fastc:call: expected ')', found 'EOF'; write an expression of Go", "f(",
		"f()",
	},
	{"//fastc:call C.f()\nfunc F()\n", "8:14: //fastc:call does not name a C function; write its bare name, as in " +
		"//fastc:call v_dot(a)", "C.f", "f"},
	{
		"//fastc:call f()\n//fastc:require a b\nfunc F()\n",
		"9:19: //fastc:require: expected 'EOF', found b; write an expression of Go", "a b", "1 < 2",
	},
	{
		"//fastc:call f()\n//fastc:fails ret < 0; x()\nfunc F() error\n",
		"9:15: //fastc:fails is not one expression of C; write a condition over ret or errno, as in ret < 0", "; x()",
		"",
	},
	{
		"//fastc:call f()\n//fastc:fails ret != C.OK\nfunc F() error\n", "9:15: C.OK in an expression of C; write OK",
		"C.OK", "OK",
	},
	{
		"//fastc:call f()\n//fastc:fails ret) + (0\nfunc F() error\n",
		"9:15: //fastc:fails is not one expression of C; write a condition over ret or errno, as in ret < 0",
		"ret) + (0", "ret < 0",
	},
	{
		"//fastc:call f()\n//fastc:fails ret */ < 0\nfunc F() error\n",
		"9:15: //fastc:fails is not one expression of C; write a condition over ret or errno, as in ret < 0",
		"ret */ < 0", "ret < 0",
	},
	{
		"//fastc:call f()\n//fastc:fails ret < 0\nfunc F() int32\n",
		"9:15: //fastc:fails without an error result; add error as the last result", "int32", "(int32, error)",
	},
	{
		"//fastc:call f()\n//fastc:copy it\nfunc F() string\n", `9:14: //fastc:copy takes no argument; leave out "it"`,
		" it", "",
	},
	{"//fastc:call f(&n)\n//fastc:inout n\nfunc F() (n int32)\n", "9:15: //fastc:inout n does not say what a result " +
		"begins as; write //fastc:inout RESULT = VALUE, as in n = len(dst)", "inout n", "inout n = 1"},
	{
		"//fastc:call f(&n)\n//fastc:inout\nfunc F() (n int32)\n",
		"9:1: //fastc:inout says nothing; write //fastc:inout RESULT = VALUE", "inout", "inout n = 1",
	},
	{
		"//fastc:call f(&n)\n//fastc:inout n = &n\nfunc F() (n int32)\n",
		"9:19: &n as what a result begins as; write a parameter, len(x), a literal or C.NAME", "= &n", "= 1",
	},
	{
		"//fastc:call f(&n)\n//fastc:inout n = 1\n//fastc:inout n = 2\nfunc F() (n int32)\n",
		"10:1: a second //fastc:inout of n; leave one out", "//fastc:inout n = 2\n", "",
	},
	{
		"//fastc:call f()\n//fastc:inout n = 1\nfunc F() (n int32)\n",
		"9:19: //fastc:inout n, which C gets no address of; pass &n in //fastc:call", "f()", "f(&n)",
	},
	{
		"//fastc:call f(&n)\n//fastc:inout n = m\nfunc F() (n int32)\n",
		"9:19: F has no parameter m; write a parameter, len(x), &result, a literal or C.NAME", "= m", "= 1",
	},
	{
		"//fastc:call f(&s)\n//fastc:writes s\nfunc F() (s [4]int32)\n",
		"9:16: //fastc:writes s does not say how many " +
			"elements C writes; write //fastc:writes RESULT NUMBER, as in sum 16; the number may be a constant of C",
		"writes s", "writes s 4",
	},
	{
		"//fastc:call f(&s)\n//fastc:writes s 4; x\nfunc F() (s [4]int32)\n",
		"9:16: //fastc:writes is not one expression of C; write //fastc:writes RESULT NUMBER, as in sum 16; the " +
			"number may be a constant of C", "; x", "",
	},
	{
		"//fastc:call f()\n//fastc:writes s 4\nfunc F() (s [4]int32)\n",
		"9:16: //fastc:writes s, which C gets no address of; pass &s in //fastc:call", "f()", "f(&s)",
	},
	{
		"//fastc:call f()\n//fastc:budget soon\nfunc F()\n",
		`9:16: the budget "soon" is not a positive duration; write it as in 300us`, "soon", "300us",
	},
	{
		"//fastc:call f()\n//fastc:budget -1us\nfunc F()\n",
		`9:16: the budget "-1us" is not a positive duration; write it as in 300us`, "-1us", "300us",
	},
	{
		"//fastc:call f()\n//fastc:yield\n//fastc:yield\nfunc F()\n", "10:1: a second //fastc:yield; leave one out",
		"//fastc:yield\n", "",
	},

	{
		"//fastc:call f()\n//fastc:fails rett < 0\nfunc F() error\n",
		"9:15: //fastc:fails does not look at what C returned; write a condition over ret or errno, as in ret < 0",
		"rett", "ret",
	},
	{
		"!//go:build !(!fastcgen)\n\npackage p\n\n// c\nimport \"C\"\n\n//fastc:call f()\nfunc F()\n",
		"3:1: fastcgen is hidden in the //go:build line; write //go:build fastcgen, or fastcgen && OTHERS",
		"!(!fastcgen)", "fastcgen",
	},

	// Functions.
	{"//fastc:call f()\nfunc F() {}\n", "9:10: F has a body; leave it out", " {}", ""},
	{"//fastc:call f(t)\nfunc (t *T) F() int32\n", "9:6: F is a method; declare a function, and call it from the " +
		"method in an ordinary file", "func (t *T) F()", "func F(t []byte)"},
	{
		"//fastc:call f()\nfunc (t T) F()\n",
		"9:6: F is a method; declare a function, and call it from the method in an ordinary file", "(t T) ", "",
	},
	{
		"//fastc:call f(a)\nfunc F[T any](a T)\n", "9:7: F has type parameters; declare a function for each type",
		"F[T any](a T)", "F(a int32)",
	},
	{"//fastc:call f(a)\nfunc F(a ...int32)\n", "9:10: F has variadic parameters; declare a slice", "...", "[]"},
	{
		"//fastc:call f()\nfunc F(int32)\n",
		"9:8: a parameter without a name; name it: //fastc:call says where it goes",
		"f()\nfunc F(", "f(a)\nfunc F(a ",
	},
	{
		"//fastc:call f()\nfunc F(_ int32)\n", "9:8: a blank parameter; name it: //fastc:call says where it goes",
		"f()\nfunc F(_", "f(a)\nfunc F(a",
	},
	{"//fastc:call f(len)\nfunc F(len int32)\n", "9:8: the parameter len hides what the generated code uses by that " +
		"name; rename it", "f(len)\nfunc F(len", "f(n)\nfunc F(n"},
	{
		"//fastc:call f(a)\nfunc F(a, a int32)\n", "9:11: a second a; rename one", "f(a)\nfunc F(a, a",
		"f(a, b)\nfunc F(a, b",
	},
	{
		"//fastc:call f(a, &a)\nfunc F(a int32) (a int32)\n", "9:18: a second a; rename one",
		"f(a, &a)\nfunc F(a int32) (a", "f(a, &b)\nfunc F(a int32) (b",
	},
	{
		"//fastc:call f(&nil)\nfunc F() (nil int32)\n",
		"9:11: the result nil hides what the generated code uses by that name; rename it", "f(&nil)\nfunc F() (nil",
		"f(&n)\nfunc F() (n",
	},
	{
		"//fastc:call f(a)\nfunc F(a, b int32)\n", "9:11: the parameter b is not passed to C; add it to //fastc:call",
		"f(a)", "f(a, b)",
	},
	{
		"//fastc:call f()\nfunc F() (int32, int32)\n",
		"9:18: two results, and a C function returns one; name the results and pass the others as &NAME in " +
			"//fastc:call", "f()\nfunc F() (int32, int32)", "f(&b)\nfunc F() (a, b int32)",
	},
	{
		"//fastc:call f()\nfunc F() (error, int32)\n", "9:11: an error that is not the last result; move it to the end",
		"error, int32", "int32, error",
	},
	{
		"//fastc:call f()\nfunc init()\n", "9:6: init hides what the generated code uses by that name; rename it",
		"init",
		"begin",
	},

	// Their types.
	{
		"//fastc:call f(a)\nfunc F(a C.int)\n", "9:10: a type of C; declare type NAME C.int and use that",
		"//fastc:call f(a)\nfunc F(a C.int", "type Int C.int\n\n//fastc:call f(a)\nfunc F(a Int",
	},
	{"//fastc:call f(a)\nfunc F(a [9000]int32)\n", "9:11: an array of 9000 elements; pass a slice: an array of more " +
		"than 8192 elements is too large for a frame", "[9000]", "[]"},
	{
		"//fastc:call f(FSite)\n//fastc:budget\nfunc F(FSite int32)\n", "10:6: FSite is the name of a parameter or " +
			"result, and of the variable that holds the budget; rename the parameter or result",
		"f(FSite)\n//fastc:budget\nfunc F(FSite", "f(site)\n//fastc:budget\nfunc F(site",
	},
	{"//fastc:call f(a)\nfunc F(a T[int])\n", unknownType, "T[int]", "int32"},
	{"//fastc:call f(a)\nfunc F(a map[string]int)\n", unknownType, "map[string]int", "[]byte"},
	{"//fastc:call f(a)\nfunc F(a time.Duration)\n", unknownType, "time.Duration", "int64"},
	{
		"//fastc:call f(a)\nfunc F(a [n]int32)\n",
		"9:11: the length of an array is not a number; write it as a literal, as in [16]byte", "[n]", "[16]",
	},
	{"//fastc:call f(a)\nfunc F(a [0]int32)\n", "9:11: an array of 0 elements; write 1 or more", "[0]", "[1]"},
	{
		"//fastc:call f(a)\nfunc F(a []chan int)\n", strings.Replace(unknownType, "10", "12", 1),
		"[]chan int", "[]int",
	},

	// Arguments.
	{
		"//fastc:call f(Mode)\nfunc F(Mode Mode) *Mode\n",
		"9:19: Mode is a type here, and the name of a parameter or result; rename that", "f(Mode)\nfunc F(Mode ",
		"f(m)\nfunc F(m ",
	},
	{"//fastc:call f(b)\nfunc F()\n", "8:16: F has no parameter b; write a parameter, len(x), &result, a " +
		"literal or C.NAME", "F()", "F(b int32)"},
	{"//fastc:call f(&b)\nfunc F(b int32)\n", "8:16: F has no result b; name the result, as in (b int32); a " +
		"parameter is passed without &", "f(&b)\nfunc F(b", "f(b)\nfunc F(b"},
	{"//fastc:call f(g(1))\nfunc F()\n", "8:16: a call of g as an argument; write a parameter, len(x), " +
		"&result, a literal or C.NAME", "g(1)", "1"},
	{
		"//fastc:call f(len(b))\nfunc F()\n", "8:16: len of what is no parameter of F; write len(PARAMETER)",
		"f(len(b))\nfunc F()", "f(len(b))\nfunc F(b []byte)",
	},
	{"//fastc:call f(a + 1)\nfunc F(a int32)\n", "8:16: a + 1 as an argument; write a parameter, len(x), " +
		"&result, a literal or C.NAME", "f(a + 1)", "f(a)"},
	{
		"//fastc:call f(!true)\nfunc F()\n",
		"8:16: !true as an argument; write a parameter, len(x), &result, a literal or C.NAME", "!true", "true",
	},
	{
		"//fastc:call f(\"s\")\nfunc F()\n",
		`8:16: "s" as an argument; write a parameter, len(x), &result, a literal or C.NAME`,
		"f(\"s\")\nfunc F()", "f(s)\nfunc F(s []byte)",
	},
}

// refusalFile returns the file of a case's src.
func refusalFile(src string) string {
	if s, ok := strings.CutPrefix(src, "!"); ok {
		return s
	}
	return refusalHead + src
}
