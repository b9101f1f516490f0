package main

import (
	"fmt"
	"slices"
	"strings"
)

// c returns the generated C, with line marks for the C compiler's messages or without.
func (g *generator) c(marks bool) string {
	b := &strings.Builder{}
	mark := func(line int) {
		if marks {
			b.WriteString(lineMark(g.d, line))
		}
	}
	mark(g.d.preambleAt.Line)
	b.WriteString("#include <errno.h>\n#include <stddef.h>\n#include <stdint.h>\n\n")
	b.WriteString("_Static_assert(sizeof(void *) == 8, \"this file is for 64-bit platforms\");\n")
	g.sizes(b)
	for _, mr := range g.m.mirrors {
		mark(mr.decl.at.Line)
		cAsserts(b, mr, marks)
	}
	if slices.ContainsFunc(g.m.plans, func(p *plan) bool { return len(p.outs) > 0 }) {
		b.WriteString(overflowIsError)
	}
	if marks {
		g.constants(b, mark)
	}
	for _, p := range g.m.plans {
		b.WriteString("\n")
		g.cFunction(b, p, mark)
	}
	return b.String()
}

// cFunction writes a function's frame and shim.
func (g *generator) cFunction(b *strings.Builder, p *plan, mark func(int)) {
	f, cName := p.fn, p.fn.call.cName
	mark(f.call.at.Line)
	fmt.Fprintf(b, "_Static_assert(__builtin_types_compatible_p(__typeof__(%s), %s), %q);\n", cName, p.sig, stale)
	for _, s := range p.fits {
		b.WriteString(s + "\n")
	}
	if len(p.fields) > 0 {
		fmt.Fprintf(b, "struct %s {\n", frame(f))
		for _, field := range p.fields {
			fmt.Fprintf(b, "\t%s;\n", field)
		}
		b.WriteString("};\n")
	}
	if f.fails != nil { // a function of its own, so that ret hides nothing that the arguments name
		mark(f.fails.at.Line)
		if looksAtResult(p) {
			fmt.Fprintf(b, "static inline int %s(const __typeof__(%s) ret) {\n", failed(f), p.result)
		} else {
			fmt.Fprintf(b, "static inline int %s(void) {\n", failed(f))
		}
		mark(f.fails.at.Line)
		fmt.Fprintf(b, "\tif (%s)\n\t\treturn 1;\n\treturn 0;\n}\n", f.fails.text)
		mark(f.call.at.Line)
	}
	fmt.Fprintf(b, "int32_t %s(void *fastc_frame);\nint32_t %s(void *fastc_frame) {\n", g.shim(f), g.shim(f))
	if len(p.fields) > 0 {
		fmt.Fprintf(b, "\tstruct %s *fastc_f = fastc_frame;\n", frame(f))
	} else {
		b.WriteString("\t(void)fastc_frame;\n")
	}
	if f.fails != nil {
		b.WriteString("\terrno = 0;\n")
	}
	for _, s := range p.begins {
		b.WriteString("\t" + s + ";\n")
	}
	mark(f.call.at.Line)
	cCall(b, p, "("+cName+")("+strings.Join(p.args, ", ")+")")
	switch {
	case f.fails != nil:
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

// failed returns the name of the C function that holds a function's //fastc:fails condition.
func failed(f *funcDecl) string { return "fastc_" + cPart(f.name) + "_failed" }

// cCall writes the call and what becomes of its result. The name stands in parentheses, so that
// a macro of that name is not meant.
func cCall(b *strings.Builder, p *plan, call string) {
	if looksAtResult(p) || p.retConst {
		fmt.Fprintf(b, "\tconst __typeof__(%s) fastc_ret = %s;\n", p.result, call)
		call = "fastc_ret"
	}
	switch {
	case p.retConst: // which C does not assign
		b.WriteString("\t__builtin_memcpy((void *)&fastc_f->ret, &fastc_ret, sizeof fastc_ret);\n")
	case p.retField:
		fmt.Fprintf(b, "\tfastc_f->ret = %s%s;\n", p.retCast, call)
		if p.copied {
			b.WriteString("\tfastc_f->ret_len = fastc_f->ret ? __builtin_strlen(fastc_f->ret) : 0;\n")
		}
	case !looksAtResult(p):
		fmt.Fprintf(b, "\t%s;\n", call)
	}
}

// wider returns the type of 64 bits for a constant that is too large for n.
func wider(n number) string {
	if n == (number{signed, 8}) {
		return "uint64"
	}
	return "int64"
}

// constants asserts that constants of C fit the types that Go gives them. The Go compiler would find
// out too, in the generated file.
func (g *generator) constants(b *strings.Builder, mark func(int)) {
	for _, c := range g.d.consts {
		for _, t := range c.typed {
			n, ok := g.m.resolve(&goType{name: t.goType})
			if !ok || n.kind != goNumber || n.num.class == float {
				continue
			}
			mark(t.at.Line)
			fmt.Fprintf(b, "_Static_assert(__builtin_choose_expr(__builtin_constant_p(%[1]s), (%[2]s)(%[1]s) == (%[1]s), 1), %[3]q);\n",
				t.text, n.num.cName(), saidByUs+"C."+t.text+" does not fit "+t.goType+"; give the constant the type "+wider(n.num))
		}
	}
}

// strict are the warnings that are errors in generated C, and in what declarations say in C. One
// compiler knows some that another does not. In the preamble they stay what they are.
var strict = strings.Fields(`int-conversion incompatible-pointer-types overflow constant-conversion
	type-limits bool-compare unused-value parentheses stringop-overflow`)

// trial returns the C to compile: the preamble, and generated code that is read strictly.
func (g *generator) trial() string {
	var b strings.Builder
	b.WriteString(cPreamble(g.d))
	for _, w := range strict {
		fmt.Fprintf(&b, "#pragma GCC diagnostic error \"-W%s\"\n", w)
	}
	b.WriteString(g.c(true))
	return b.String()
}

// overflowIsError makes what compilers see of writes beyond a result an error, also when C's
// declaration has changed since.
const overflowIsError = `#if defined(__clang__)
#pragma clang diagnostic error "-Warray-bounds"
#elif __GNUC__ >= 7
#pragma GCC diagnostic error "-Wstringop-overflow"
#endif
`
