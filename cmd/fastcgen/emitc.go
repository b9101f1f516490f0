package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
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

// tryC compiles the generated C. Problems are placed in the declaration file.
func (g *generator) tryC(ctx context.Context, tc *toolchain) (object string, err error) {
	object, err = tc.compile(ctx, cPreamble(g.d)+g.c(true))
	if err == nil {
		return object, nil
	}
	var bad problems
	for _, c := range complaints(err) {
		if c.file != filepath.Base(g.d.path) {
			continue
		}
		at := g.d.preambleAt
		at.Line, at.Column = c.line, 1
		bad.add(at, "the C compiler says: "+c.text, "mend what this line says about C")
	}
	if len(bad) == 0 {
		return "", fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.d.path, err)
	}
	return "", bad
}

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
		mr.cAsserts(b)
	}
	for _, p := range g.plans {
		b.WriteString("\n")
		g.cFunction(b, p, mark)
	}
	return b.String()
}

const stale = "C has changed: run go generate"

// sizes asserts the sizes of the C numbers that the Go side relies on.
func (g *generator) sizes(b *strings.Builder) {
	seen := map[string]bool{}
	assert := func(list []cTypeSize) {
		for _, n := range list {
			if !seen[n.text] && !fixedSize.MatchString(n.text) {
				fmt.Fprintf(b, "_Static_assert(sizeof(%s) == %d, %q);\n", n.text, n.size, stale)
			}
			seen[n.text] = true
		}
	}
	for _, mr := range g.r.mirrors {
		assert(mr.numbers)
	}
	for _, p := range g.plans {
		assert(p.numbers)
	}
}

// fixedSize matches the types whose size the C standard says.
var fixedSize = regexp.MustCompile(`^(u?int(8|16|32|64)_t|(un)?signed char|char)$`)

// cAsserts asserts the layout of a mirrored struct.
func (mr *mirror) cAsserts(b *strings.Builder) {
	c := mr.decl.cText()
	fmt.Fprintf(b, "_Static_assert(sizeof(%s) == %d && _Alignof(%s) <= %d, %q);\n", c, mr.size, c, mr.align, stale)
	for _, f := range mr.offsets {
		if f.cType == "" {
			fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d, %q);\n", c, f.cPath, f.offset, stale)
			continue
		}
		fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d && __builtin_types_compatible_p(__typeof__(((%s *)0)->%s), %s), %q);\n",
			c, f.cPath, f.offset, c, f.cPath, f.cType, stale)
	}
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
	fmt.Fprintf(b, "int32_t %s(void *frame);\nint32_t %s(void *frame) {\n", g.shim(f), g.shim(f))
	if len(p.fields) > 0 {
		fmt.Fprintf(b, "\tstruct %s *f = frame;\n", frame(f))
	} else {
		b.WriteString("\t(void)frame;\n")
	}
	if f.hasError {
		b.WriteString("\terrno = 0;\n")
	}
	call := cName + "(" + strings.Join(p.args, ", ") + ")"
	switch {
	case f.fails != nil:
		fmt.Fprintf(b, "\t__typeof__(%s) ret = %s;\n", call, call)
		if p.retField {
			b.WriteString("\tf->ret = ret;\n")
		}
		mark(f.fails.at.Line)
		fmt.Fprintf(b, "\tif (%s)\n\t\treturn errno != 0 ? errno : INT32_MIN;\n\treturn 0;\n", f.fails.text)
	case p.retField:
		fmt.Fprintf(b, "\tf->ret = %s;\n", call)
	default:
		fmt.Fprintf(b, "\t%s;\n", call)
	}
	switch {
	case f.fails != nil:
	case f.hasError:
		b.WriteString("\treturn errno;\n")
	default:
		b.WriteString("\treturn 0;\n")
	}
	b.WriteString("}\n")
}
