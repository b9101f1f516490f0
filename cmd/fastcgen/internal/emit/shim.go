package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// c returns the generated C. With marks, #line places the compiler's messages at the directive.
func (g *File) c(marks bool) string {
	b := &strings.Builder{}
	mark := func(line int) {
		if marks {
			b.WriteString(declfile.LineMark(g.Decl, line))
		}
	}
	mark(g.Decl.PreambleAt.Line)
	b.WriteString("#include <errno.h>\n#include <stddef.h>\n#include <stdint.h>\n\n")
	b.WriteString("_Static_assert(sizeof(void *) == 8, \"this file is for 64-bit platforms\");\n")
	g.sizes(b)
	for _, mr := range g.Match.Mirrors {
		mark(mr.Decl.At.Line)
		cAsserts(b, mr, marks)
	}
	if slices.ContainsFunc(g.Match.Plans, func(p *match.Plan) bool { return len(p.Outs) > 0 }) {
		b.WriteString(OverflowIsError)
	}
	for _, p := range g.Match.Plans {
		b.WriteString("\n")
		g.cFunction(b, p, mark)
	}
	return b.String()
}

func (g *File) cFunction(b *strings.Builder, p *match.Plan, mark func(int)) {
	f, cName := p.Func, p.Func.Call.CName
	mark(f.Call.At.Line)
	fmt.Fprintf(b, "_Static_assert(__builtin_types_compatible_p(__typeof__(%s), %s), %q);\n", cName, p.Sig, Stale)
	for _, s := range p.Fits {
		b.WriteString(s + "\n")
	}
	if len(p.Fields) > 0 {
		fmt.Fprintf(b, "struct %s {\n", frame(f))
		for _, field := range p.Fields {
			fmt.Fprintf(b, "\t%s;\n", field)
		}
		b.WriteString("};\n")
	}
	param, ret := "void", ""
	if looksAtResult(p) {
		param, ret = "const __typeof__("+p.Result+") ret", "fastc_ret"
	}
	if f.Fails != nil { // in a function of its own, so that ret hides nothing
		mark(f.Fails.At.Line)
		fmt.Fprintf(b, "static inline int %s(%s) {\n", failed(f), param)
		mark(f.Fails.At.Line)
		fmt.Fprintf(b, "\tif (%s)\n\t\treturn 1;\n\treturn 0;\n}\n", f.Fails.Text)
		mark(f.Call.At.Line)
	}
	fmt.Fprintf(b, "int32_t %s(void *fastc_frame);\nint32_t %s(void *fastc_frame) {\n", g.Shim(f), g.Shim(f))
	if len(p.Fields) > 0 {
		fmt.Fprintf(b, "\tstruct %s *fastc_f = fastc_frame;\n", frame(f))
	} else {
		b.WriteString("\t(void)fastc_frame;\n")
	}
	if f.Fails != nil {
		b.WriteString("\terrno = 0;\n")
	}
	for _, s := range p.Begins {
		b.WriteString("\t" + s + ";\n")
	}
	mark(f.Call.At.Line)
	cCall(b, p, "("+cName+")("+strings.Join(p.Args, ", ")+")")
	if f.Fails != nil {
		fmt.Fprintf(b, "\tif (%s(%s))\n\t\treturn errno != 0 ? errno : INT32_MIN;\n", failed(f), ret)
	}
	b.WriteString("\treturn 0;\n}\n")
}

func failed(f *declfile.Func) string { return "fastc_" + cPart(f.Name) + "_failed" }

func cCall(b *strings.Builder, p *match.Plan, call string) {
	if looksAtResult(p) || p.RetStruct {
		fmt.Fprintf(b, "\tconst __typeof__(%s) fastc_ret = %s;\n", p.Result, call)
		call = "fastc_ret"
	}
	switch {
	case p.RetStruct:
		b.WriteString("\t__builtin_memcpy((void *)&fastc_f->ret, &fastc_ret, sizeof fastc_ret);\n")
	case p.RetField:
		fmt.Fprintf(b, "\tfastc_f->ret = %s%s;\n", p.RetCast, call)
		if p.Copied {
			b.WriteString("\tfastc_f->ret_len = fastc_f->ret ? __builtin_strlen(fastc_f->ret) : 0;\n")
		}
	case !looksAtResult(p):
		fmt.Fprintf(b, "\t%s;\n", call)
	}
}

// strict are the warnings that are errors in generated C, but not in the preamble.
var strict = strings.Fields(`int-conversion incompatible-pointer-types overflow constant-conversion
	type-limits bool-compare unused-value parentheses stringop-overflow`)

// Trial returns the C to compile, the preamble and the generated code.
func (g *File) Trial() string {
	var b strings.Builder
	b.WriteString(declfile.CPreamble(g.Decl))
	for _, w := range strict {
		fmt.Fprintf(&b, "#pragma GCC diagnostic error \"-W%s\"\n", w)
	}
	b.WriteString(g.c(true))
	return b.String()
}

// OverflowIsError makes what compilers see of writes beyond a result an error.
const OverflowIsError = `#if defined(__clang__)
#pragma clang diagnostic error "-Warray-bounds"
#elif __GNUC__ >= 7
#pragma GCC diagnostic error "-Wstringop-overflow"
#endif
`

// Stale is the error of a build when C has changed.
const Stale = "C has changed: run go generate"

func (g *File) sizes(b io.Writer) {
	seen := map[string]bool{}
	assert := func(list []cc.Fact) {
		for _, n := range list {
			if !seen[n.Text] && !fixed.MatchString(n.Text) {
				fmt.Fprintf(b, "_Static_assert(%s, %q);\n", n.Condition(), Stale)
			}
			seen[n.Text] = true
		}
	}
	for _, mr := range g.Match.Mirrors {
		assert(mr.Numbers)
	}
	for _, p := range g.Match.Plans {
		assert(p.Numbers)
	}
}

// fixed matches the types that the C standard fixes.
var fixed = regexp.MustCompile(`^(u?int(8|16|32|64)_t|(un)?signed char|char|_Bool|bool)$`)

// cAsserts asserts the layout of a mirrored struct. A trial tells a packed one from a changed one.
func cAsserts(b *strings.Builder, mr *match.Mirror, trial bool) {
	c := mr.Decl.CText()
	if trial {
		fmt.Fprintf(b, "_Static_assert(_Alignof(%s) >= %d, %q);\n", c, mr.Align,
			match.SaidByUs+c+" is packed: C puts it where Go puts nothing of its kind; "+
				"put //fastc:opaque above it to pass pointers to it only")
	}
	fmt.Fprintf(b, "_Static_assert(sizeof(%s) == %d && _Alignof(%s) == %d, %q);\n", c, mr.Size, c, mr.Align, Stale)
	for _, f := range mr.Offsets {
		if f.CType == "" {
			fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d, %q);\n", c, f.CName, f.Offset, Stale)
			continue
		}
		fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d && __builtin_types_compatible_p(__typeof__(((%s "+
			"*)0)->%s), %s), %q);\n",
			c, f.CName, f.Offset, c, f.CName, f.CType, Stale)
	}
}

type File struct {
	Decl       *declfile.File
	ImportPath string
	Match      *match.Result
}

// Shim returns the name of a function's C shim, with a hash of the import path. It is not static,
// because cgo gives no address of a static function.
func (g *File) Shim(f *declfile.Func) string {
	sum := sha256.Sum256([]byte(g.ImportPath))
	return "fastc_" + cPart(g.Decl.Pkg) + "_" + hex.EncodeToString(sum[:4]) + "_" + cPart(f.Name)
}

func cPart(name string) string {
	var b strings.Builder
	for _, ch := range name {
		if ch < 0x80 {
			b.WriteRune(ch)
		} else {
			fmt.Fprintf(&b, "_u%04x", ch)
		}
	}
	return b.String()
}

func frame(f *declfile.Func) string { return "fastc_" + cPart(f.Name) + "_frame" }

func looksAtResult(p *match.Plan) bool {
	return p.Func.Fails != nil && declfile.ReturnOfC.MatchString(p.Func.Fails.Text)
}
