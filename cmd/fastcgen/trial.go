package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// saidByUs begins the messages of assertions that a trial holds for us.
const saidByUs = "fastcgen: "

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

// tryC compiles the generated C. Problems are placed in the declaration file.
func (g *generator) tryC(ctx context.Context, tc *toolchain) error {
	_, err := tc.strictly(ctx, g.trial())
	if err == nil {
		return nil
	}
	var bad, changed problems
	for _, c := range complaints(err) {
		if c.file != filepath.Base(g.d.path) {
			continue
		}
		p := g.place(c)
		if strings.Contains(c.text, stale) {
			changed = append(changed, p)
		} else {
			bad = append(bad, p)
		}
	}
	if len(bad) == 0 {
		bad = changed
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.d.path, err)
	}
	return bad
}

// warningName is what compilers put behind a warning that is an error.
var warningName = regexp.MustCompile(` \[-W[^\]]*\]$`)

// place makes a problem of a complaint about generated C.
func (g *generator) place(c complaint) problem {
	at := g.d.preambleAt
	at.Line, at.Column = c.line, 1
	if _, ours, ok := strings.Cut(c.text, saidByUs); ok {
		ours = strings.ReplaceAll(ours, `\"`, `"`)
		what, do, _ := strings.Cut(strings.TrimRight(ours, `"`), "; ")
		return problem{at, what, do}
	}
	text := warningName.ReplaceAllString(c.text, "")
	if strings.Contains(c.text, "stringop-overflow") {
		for _, f := range g.d.funcs {
			if f.call.at.Line == c.line {
				at = f.call.at
			}
		}
		return problem{at, "C writes beyond a result: " + text, "declare the array as long as what C writes"}
	}
	return problem{at, "the C compiler says: " + text, "mend what this line says about C"}
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
			g, ok := g.r.resolve(&goType{name: t.goType}, 0)
			if !ok || g.kind != goNumber || g.num.class == float {
				continue
			}
			mark(t.at.Line)
			fmt.Fprintf(b, "_Static_assert(__builtin_choose_expr(__builtin_constant_p(%[1]s), (%[2]s)(%[1]s) == (%[1]s), 1), %[3]q);\n",
				t.text, g.num.cName(), saidByUs+"C."+t.text+" does not fit "+t.goType+"; give the constant the type "+wider(g.num))
		}
	}
}
