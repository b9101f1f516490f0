package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file returns the generated file.
func (g *generator) file() ([]byte, error) {
	body := &strings.Builder{}
	g.goTypes(body, true)
	for _, c := range g.d.consts {
		body.WriteString("\n" + c.text + "\n")
	}
	for _, p := range g.m.plans {
		g.wrapper(body, p)
	}
	used, err := imports(body.String())
	if err != nil {
		return nil, fmt.Errorf("%s: the generated file is not Go: %w", g.d.path, err)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, mine+" from %s. DO NOT EDIT.\n\n//go:build %s\n\n", filepath.Base(g.d.path), buildLine(g.d.build))
	for _, l := range g.d.doc {
		b.WriteString(l + "\n")
	}
	fmt.Fprintf(b, "package %s\n\n", g.d.pkg)
	b.WriteString(comment(strings.Trim(g.d.preamble, "\n") + "\n\n" + g.c(false)))
	b.WriteString("import \"C\"\n\nimport (\n")
	for _, path := range used {
		fmt.Fprintf(b, "\t%q\n", path)
	}
	b.WriteString("\t\"unsafe\"\n\n\t\"evenkeel.dev/fastc\"\n)\n")
	b.WriteString(body.String())
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("%s: the generated file is not Go: %w", g.d.path, err)
	}
	return text, nil
}

// imports returns the packages that Go code refers to, of those that generated code may need
// besides unsafe and fastc.
func imports(body string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	uses := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				uses[x.Name] = true
			}
		}
		return true
	})
	return slices.DeleteFunc([]string{"errors", "runtime", "runtime/cgo", "syscall", "time"}, func(p string) bool { return !uses[path.Base(p)] }), nil
}

// comment makes a comment of C code.
func comment(text string) string {
	text = strings.TrimRight(text, "\n")
	if !strings.Contains(text, "*/") {
		return "/*\n" + text + "\n*/\n"
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("// "+l, " \t")
	}
	return strings.Join(lines, "\n") + "\n"
}

// goTypes writes the declared types; layout adds what holds the mirrors to C's layout.
func (g *generator) goTypes(b io.Writer, layout bool) {
	mirrors := map[*typeDecl]*mirror{}
	for _, mr := range g.m.mirrors {
		mirrors[mr.decl] = mr
	}
	for _, t := range g.m.types {
		fmt.Fprintln(b)
		doc(b, t.decl.doc, t.name+" is C's "+t.decl.cText()+".")
		switch t.kind {
		case goMirror:
			mr := mirrors[t.decl]
			fmt.Fprintf(b, "type %s struct {\n%s\n}\n", t.name, strings.Join(mr.lines, "\n"))
			if layout {
				goAsserts(b, mr)
			}
		case goOpaque:
			if layout {
				fmt.Fprintf(b, "type %s struct{ _ cgo.Incomplete }\n", t.name)
			} else {
				fmt.Fprintf(b, "type %s struct{}\n", t.name)
			}
		case goBool:
			fmt.Fprintf(b, "type %s bool\n", t.name)
		default:
			fmt.Fprintf(b, "type %s %s\n", t.name, t.num.goName())
		}
	}
}

// doc writes a doc comment, or what stands in for a missing one.
func doc(b io.Writer, lines []string, missing string) {
	if len(lines) == 0 {
		lines = []string{"// " + missing}
	}
	fmt.Fprintln(b, strings.Join(lines, "\n"))
}

// goAsserts writes what the Go compiler refuses when a mirror is laid out differently.
func goAsserts(b io.Writer, mr *mirror) {
	n := mr.decl.name
	fmt.Fprintf(b, "\n// The compiler refuses these when %s is not laid out as %s.\nvar (\n", n, mr.decl.cText())
	fmt.Fprintf(b, "\t_ = [1]struct{}{}[unsafe.Sizeof(%s{})-%d]\n", n, mr.size)
	for _, f := range mr.offsets {
		if !strings.Contains(f.goPath, ".") {
			fmt.Fprintf(b, "\t_ = [1]struct{}{}[unsafe.Offsetof(%s{}.%s)-%d]\n", n, f.goPath, f.offset)
		}
	}
	fmt.Fprint(b, ")\n")
}

// wrapper writes a function's wrapper, and its Site.
func (g *generator) wrapper(b *strings.Builder, p *plan) {
	f := p.fn
	full := g.d.pkg + "." + f.name
	if f.budget != nil {
		options := ""
		if f.budget.limit != 0 {
			options = "Budget: " + goDuration(f.budget.limit)
		}
		fmt.Fprintf(b, "\n// %s counts the calls of [%s] and holds its budget.\n", f.siteName(), f.name)
		fmt.Fprintf(b, "var %s = fastc.MustSite(unsafe.Pointer(C.%s), %q, fastc.Options{%s})\n", f.siteName(), g.shim(f), full, options)
	}
	b.WriteString("\n")
	for _, l := range f.doc {
		b.WriteString(l + "\n")
	}
	if len(f.doc) > 0 {
		b.WriteString("//\n")
	}
	b.WriteString(wrapped(sentence(p)))
	fmt.Fprintf(b, "func %s(%s)%s {\n", f.name, goParams(f), goResults(f))
	v := localsOf(f)
	for _, c := range f.requires {
		require(b, p, full, c.text, v)
	}
	for _, c := range p.checks {
		require(b, p, full, c, v)
	}
	switch {
	case f.yields == nil:
	case f.yields.text == "":
		b.WriteString("\truntime.Gosched()\n")
	default:
		fmt.Fprintf(b, "\tif %s {\n\t\truntime.Gosched()\n\t}\n", f.yields.text)
	}
	arg := "nil"
	if len(p.fields) > 0 {
		fmt.Fprintf(b, "\tvar %s C.struct_%s\n", v.frame, frame(f))
		arg = "unsafe.Pointer(&" + v.frame + ")"
	}
	for _, s := range p.sets {
		b.WriteString("\t" + v.rename(s) + "\n")
	}
	g.call(b, p, v, arg)
	if p.pointers {
		fmt.Fprintf(b, "\truntime.KeepAlive(&%s)\n", v.frame)
	}
	returns(b, p, full, v)
	b.WriteString("}\n")
}

// call writes the call of the shim, fast or slow.
func (g *generator) call(b *strings.Builder, p *plan, v locals, arg string) {
	f := p.fn
	call := func(how string) string {
		if f.budget != nil {
			return fmt.Sprintf("%s.%s(%s)", f.siteName(), how, arg)
		}
		return fmt.Sprintf("fastc.%s(unsafe.Pointer(C.%s), %s)", how, g.shim(f), arg)
	}
	set := ""
	if f.fails != nil {
		set = v.code + " := "
	}
	switch {
	case f.alwaysSlow():
		fmt.Fprintf(b, "\t%s%s\n", set, call("Slow"))
	case f.slow == nil:
		fmt.Fprintf(b, "\t%s%s\n", set, call("Call"))
	default:
		if f.fails != nil {
			fmt.Fprintf(b, "\tvar %s int32\n", v.code)
			set = v.code + " = "
		}
		fmt.Fprintf(b, "\tif %s {\n\t\t%s%s\n\t} else {\n\t\t%s%s\n\t}\n", f.slow.text, set, call("Slow"), set, call("Call"))
	}
}

// require writes a check before the call.
func require(b *strings.Builder, p *plan, full, cond string, v locals) {
	text := full + ": requires " + cond
	fmt.Fprintf(b, "\tif !(%s) {\n", cond)
	if p.fn.hasError {
		zeros := make([]string, 0, len(p.fn.results)+1)
		if !p.fn.named {
			for range p.fn.results {
				fmt.Fprintf(b, "\t\tvar %s %s\n", v.zero, p.fn.results[0].typ)
				zeros = append(zeros, v.zero)
			}
		} else {
			for i, r := range p.fn.results {
				if r.name == "_" {
					fmt.Fprintf(b, "\t\tvar %s%d %s\n", v.zero, i, r.typ)
					zeros = append(zeros, fmt.Sprintf("%s%d", v.zero, i))
					continue
				}
				zeros = append(zeros, r.name)
			}
		}
		fmt.Fprintf(b, "\t\treturn %s\n", strings.Join(append(zeros, fmt.Sprintf("errors.New(%q)", text)), ", "))
	} else {
		fmt.Fprintf(b, "\t\tpanic(%q)\n", text)
	}
	b.WriteString("\t}\n")
}

// returns writes what follows the call.
func returns(b *strings.Builder, p *plan, full string, v locals) {
	values := make([]string, len(p.values))
	for i, s := range p.values {
		values[i] = v.rename(s)
	}
	join := func(last string) string { return strings.Join(append(values[:len(values):len(values)], last), ", ") }
	if !p.fn.hasError {
		if len(values) > 0 {
			fmt.Fprintf(b, "\treturn %s\n", strings.Join(values, ", "))
		}
		return
	}
	if p.fn.fails == nil {
		fmt.Fprintf(b, "\treturn %s\n", join("nil"))
		return
	}
	fmt.Fprintf(b, "\tif %s < 0 {\n\t\treturn %s\n\t}\n", v.code, join(fmt.Sprintf("errors.New(%q)", full+": "+p.fn.call.cName+" failed, and left errno as it was")))
	fmt.Fprintf(b, "\tif %s != 0 {\n\t\treturn %s\n\t}\n\treturn %s\n", v.code, join("syscall.Errno("+v.code+")"), join("nil"))
}

// goDuration writes a duration in the largest unit that divides it.
func goDuration(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}, {time.Microsecond, "time.Microsecond"}} {
		switch {
		case d == u.unit:
			return u.name
		case d%u.unit == 0:
			return fmt.Sprintf("%d * %s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%d * time.Nanosecond", d)
}
