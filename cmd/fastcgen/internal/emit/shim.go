package emit

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// c returns the generated C. With marks, #line places what the C compiler says of a shim at the
// directive that it was made from.
func (g *File) c(marks bool) string {
	b := &strings.Builder{}
	mark := func(line int) {
		if marks {
			b.WriteString(decl.LineMark(g.Decl, line))
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
	if marks {
		g.constants(b, mark)
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
	if f.Fails != nil { // a function of its own, so that ret hides nothing that the arguments name
		mark(f.Fails.At.Line)
		if looksAtResult(p) {
			fmt.Fprintf(b, "static inline int %s(const __typeof__(%s) ret) {\n", failed(f), p.Result)
		} else {
			fmt.Fprintf(b, "static inline int %s(void) {\n", failed(f))
		}
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
	switch {
	case f.Fails != nil:
		ret := ""
		if looksAtResult(p) {
			ret = "fastc_ret"
		}
		fmt.Fprintf(b, "\tif (%s(%s))\n\t\treturn errno != 0 ? errno : INT32_MIN;\n\treturn 0;\n", failed(f), ret)
	default:
		b.WriteString("\treturn 0;\n")
	}
	b.WriteString("}\n")
}

func failed(f *decl.Func) string { return "fastc_" + cPart(f.Name) + "_failed" }

// cCall writes the call and keeps its result.
func cCall(b *strings.Builder, p *match.Plan, call string) {
	if looksAtResult(p) || p.RetConst {
		fmt.Fprintf(b, "\tconst __typeof__(%s) fastc_ret = %s;\n", p.Result, call)
		call = "fastc_ret"
	}
	switch {
	case p.RetConst: // which C does not assign
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

// wider returns the type of 64 bits for a constant that is too large for n.
func wider(n decl.Number) string {
	if n == (decl.Number{Class: decl.Signed, Size: 8}) {
		return "uint64"
	}
	return "int64"
}

// constants asserts that constants of C fit the types that Go gives them.
func (g *File) constants(b *strings.Builder, mark func(int)) {
	for _, c := range g.Decl.Consts {
		for _, t := range c.Typed {
			n, ok := g.Match.Resolve(&decl.GoType{Name: t.GoType})
			if !ok || n.Kind != decl.GoNumber || n.Num.Class == decl.Float {
				continue
			}
			mark(t.At.Line)
			fmt.Fprintf(b, "_Static_assert(__builtin_choose_expr(__builtin_constant_p(%[1]s), (%[2]s)(%[1]s) == "+
				"(%[1]s), 1), %[3]q);\n",
				t.Text, n.Num.CName(),
				match.SaidByUs+"C."+t.Text+" does not fit "+t.GoType+"; give the constant the type "+wider(n.Num))
		}
	}
}

// strict are the warnings that are errors in generated C, but not in the preamble.
var strict = strings.Fields(`int-conversion incompatible-pointer-types overflow constant-conversion
	type-limits bool-compare unused-value parentheses stringop-overflow`)

// Trial returns the C to compile: the preamble, and generated code that is read strictly.
func (g *File) Trial() string {
	var b strings.Builder
	b.WriteString(decl.CPreamble(g.Decl))
	for _, w := range strict {
		fmt.Fprintf(&b, "#pragma GCC diagnostic error \"-W%s\"\n", w)
	}
	b.WriteString(g.c(true))
	return b.String()
}

// OverflowIsError makes what compilers see of writes beyond a result an error, also when C's
// declaration has changed since.
const OverflowIsError = `#if defined(__clang__)
#pragma clang diagnostic error "-Warray-bounds"
#elif __GNUC__ >= 7
#pragma GCC diagnostic error "-Wstringop-overflow"
#endif
`
