package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// generator writes the generated file.
type generator struct {
	d     *declaration
	pkg   *goPackage
	r     *resolver
	plans []*plan
}

// shim returns the name of a function's C shim. It is not static, since cgo gives no address of
// a static function; the hash of the import path keeps two packages of one name apart.
func (g *generator) shim(f *funcDecl) string {
	sum := sha256.Sum256([]byte(g.pkg.importPath))
	return "fastc_" + cPart(g.d.pkg) + "_" + hex.EncodeToString(sum[:4]) + "_" + cPart(f.name)
}

// cPart writes a Go name with the letters of C.
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

// frame returns the name of a function's frame.
func frame(f *funcDecl) string { return "fastc_" + cPart(f.name) + "_frame" }

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
	for _, mr := range g.r.mirrors {
		mark(mr.decl.at.Line)
		mr.cAsserts(b, marks)
	}
	if slices.ContainsFunc(g.plans, func(p *plan) bool { return len(p.outs) > 0 }) {
		b.WriteString(overflowIsError)
	}
	if marks {
		g.constants(b, mark)
	}
	for _, p := range g.plans {
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
		if p.fails() {
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
	p.cCall(b, "("+cName+")("+strings.Join(p.args, ", ")+")")
	switch {
	case f.fails != nil:
		ret := ""
		if p.fails() {
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

// fails reports whether the condition looks at what C returned, and not at errno alone.
func (p *plan) fails() bool { return p.fn.fails != nil && returnOfC.MatchString(p.fn.fails.text) }

// cCall writes the call and what becomes of its result. The name stands in parentheses, so that
// a macro of that name is not meant.
func (p *plan) cCall(b *strings.Builder, call string) {
	if p.fails() || p.retConst {
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
	case !p.fails():
		fmt.Fprintf(b, "\t%s;\n", call)
	}
}
