// Package emit writes the generated file, the fourth stage of fastcgen.
//
// Each plan of package match becomes three pieces:
//
//	preamble, in C    struct fastc_F_frame { ... };                      the frame
//	                  int32_t fastc_PKG_HASH_F(void *fastc_frame) {...}  the shim: takes the frame apart,
//	                                                                     calls, keeps the results
//	Go                func F(...) ... {                                  the wrapper: checks, fills the frame,
//	                      var f C.struct_fastc_F_frame                   hands it to the shim through fastc, reads it
//
// cgo lays the frame out. It is on the goroutine's stack and does not move during the call.
// Assertions in C repeat what the C compiler said about the headers.
package emit

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

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

func (g *File) Text() ([]byte, error) {
	body := &strings.Builder{}
	g.GoTypes(body)
	for _, p := range g.Match.Plans {
		g.wrapper(body, p)
	}
	used, err := imports(body.String())
	if err != nil {
		return nil, fmt.Errorf("%s: the generated file is not Go: %w", g.Decl.Path, err)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, declfile.Header+" from %s. DO NOT EDIT.\n\n//go:build %s\n\n", filepath.Base(g.Decl.Path),
		declfile.BuildLine(g.Decl.Build))
	for _, l := range g.Decl.Doc {
		b.WriteString(l + "\n")
	}
	fmt.Fprintf(b, "package %s\n\n", g.Decl.Pkg)
	b.WriteString(Comment(strings.Trim(g.Decl.Preamble, "\n") + "\n\n" + g.c(false)))
	b.WriteString("import \"C\"\n\nimport (\n")
	for _, path := range used {
		fmt.Fprintf(b, "\t%q\n", path)
	}
	b.WriteString("\t\"unsafe\"\n\n\t\"evenkeel.dev/fastc\"\n)\n")
	b.WriteString(body.String())
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return nil, fmt.Errorf("%s: the generated file is not Go: %w", g.Decl.Path, err)
	}
	return text, nil
}

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
	return slices.DeleteFunc([]string{"errors", "runtime", "runtime/cgo", "syscall"}, func(p string) bool {
		return !uses[path.Base(p)]
	}), nil
}

func Comment(text string) string {
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

// GoTypes writes the declared types, and assertions about the mirrors.
func (g *File) GoTypes(b io.Writer) {
	mirrors := map[*declfile.Type]*match.Mirror{}
	for _, mr := range g.Match.Mirrors {
		mirrors[mr.Decl] = mr
	}
	for _, t := range g.Match.Types {
		doc := t.Decl.Doc
		if len(doc) == 0 {
			doc = []string{"// " + t.Name + " is C's " + t.Decl.CText() + "."}
		}
		fmt.Fprintf(b, "\n%s\ntype %s ", strings.Join(doc, "\n"), t.Name)
		switch t.Kind {
		case declfile.GoMirror:
			mr := mirrors[t.Decl]
			fmt.Fprintf(b, "struct {\n%s\n}\n", strings.Join(mr.Lines, "\n"))
			goAsserts(b, mr)
		case declfile.GoOpaque:
			fmt.Fprintln(b, "struct{ _ cgo.Incomplete }")
		case declfile.GoBool:
			fmt.Fprintln(b, "bool")
		default:
			fmt.Fprintln(b, t.Num.GoName())
		}
	}
}

// goAsserts has the Go compiler refuse a mirror with another layout.
func goAsserts(b io.Writer, mr *match.Mirror) {
	n := mr.Decl.Name
	fmt.Fprintf(b, "\n// The compiler refuses these when %s is not laid out as %s.\nvar (\n", n, mr.Decl.CText())
	fmt.Fprintf(b, "\t_ = [1]struct{}{}[unsafe.Sizeof(%s{})-%d]\n", n, mr.Size)
	for _, f := range mr.Offsets {
		fmt.Fprintf(b, "\t_ = [1]struct{}{}[unsafe.Offsetof(%s{}.%s)-%d]\n", n, f.GoName, f.Offset)
	}
	fmt.Fprint(b, ")\n")
}

// wrapper writes a function's wrapper, and its Site:
//
//	func Sum(a []int32) (n int64, err error) {
//		if !(len(a) > 0) {                          Requires, Checks
//			return n, errors.New("...")
//		}
//		runtime.Gosched()                           Yields
//		var fastc_f C.struct_fastc_Sum_frame        Fields
//		fastc_f.arg0 = unsafe.Pointer(unsafe.SliceData(a))    Sets
//		fastc_errno := fastc.Call(shim, &fastc_f)   or Slow, with a copy of the frame if by a condition
//		runtime.KeepAlive(&fastc_f)                 Pointers: what the frame points to lives until here
//		if fastc_errno < 0 { ... }                  Fails, and C left errno as it was
//		if fastc_errno != 0 { ... }                 Fails, with errno
//		return int64(fastc_f.ret), nil              Values
//	}
//
// No parameter begins with fastc_ (declfile.Reserved).
func (g *File) wrapper(b *strings.Builder, p *match.Plan) {
	f := p.Func
	full := g.Decl.Pkg + "." + f.Name
	if f.Budget != nil {
		options := ""
		if *f.Budget != 0 {
			options = fmt.Sprintf("Budget: %d /* %v */", *f.Budget, *f.Budget)
		}
		fmt.Fprintf(b, "\n// %s counts the calls of [%s] and holds its budget.\n", f.SiteName(), f.Name)
		fmt.Fprintf(b, "var %s = fastc.MustSite(unsafe.Pointer(C.%s), %q, fastc.Options{%s})\n", f.SiteName(),
			g.Shim(f), full, options)
	}
	b.WriteString("\n")
	for _, l := range f.Doc {
		b.WriteString(l + "\n")
	}
	if len(f.Doc) > 0 {
		b.WriteString("//\n")
	}
	b.WriteString(Wrapped(sentence(p)))
	fmt.Fprintf(b, "func %s(%s)%s {\n", f.Name, declfile.GoParams(f), declfile.GoResults(f))
	for _, c := range requirements(p) {
		require(b, p, full, c)
	}
	switch {
	case f.Yields == nil:
	case f.Yields.Text == "":
		b.WriteString("\truntime.Gosched()\n")
	default:
		fmt.Fprintf(b, "\tif %s {\n\t\truntime.Gosched()\n\t}\n", f.Yields.Text)
	}
	arg := "nil"
	if len(p.Fields) > 0 {
		fmt.Fprintf(b, "\tvar fastc_f C.struct_%s\n", frame(f))
		arg = "unsafe.Pointer(&fastc_f)"
	}
	for _, s := range p.Sets {
		b.WriteString("\t" + s + "\n")
	}
	g.call(b, f, arg)
	if p.Pointers {
		b.WriteString("\truntime.KeepAlive(&fastc_f)\n")
	}
	returns(b, p, full)
	b.WriteString("}\n")
}

func (g *File) call(b *strings.Builder, f *declfile.Func, arg string) {
	call := func(how, arg string) string {
		if f.Budget != nil {
			return fmt.Sprintf("%s.%s(%s)", f.SiteName(), how, arg)
		}
		return fmt.Sprintf("fastc.%s(unsafe.Pointer(C.%s), %s)", how, g.Shim(f), arg)
	}
	set := ""
	if f.Fails != nil {
		set = "fastc_errno := "
	}
	switch {
	case f.AlwaysSlow():
		fmt.Fprintf(b, "\t%s%s\n", set, call("Slow", arg))
	case f.Slow == nil:
		fmt.Fprintf(b, "\t%s%s\n", set, call("Call", arg))
	default:
		if f.Fails != nil {
			b.WriteString("\tvar fastc_errno int32\n")
			set = "fastc_errno = "
		}
		fmt.Fprintf(b, "\tif %s {\n", f.Slow.Text)
		if arg == "nil" {
			fmt.Fprintf(b, "\t\t%s%s\n", set, call("Slow", arg))
		} else { // Slow's frame is on the heap: a copy keeps the other one on the stack
			fmt.Fprintf(b, "\t\tfastc_slow := fastc_f\n\t\t%s%s\n\t\tfastc_f = fastc_slow\n", set,
				call("Slow", "unsafe.Pointer(&fastc_slow)"))
		}
		fmt.Fprintf(b, "\t} else {\n\t\t%s%s\n\t}\n", set, call("Call", arg))
	}
}

func require(b *strings.Builder, p *match.Plan, full, cond string) {
	text := full + ": requires " + cond
	fmt.Fprintf(b, "\tif !(%s) {\n", cond)
	if p.Func.HasError {
		var values []string
		for _, r := range p.Func.Results {
			value := r.Name
			if value == "" || value == "_" {
				value = "*new(" + r.Typ.String() + ")"
			}
			values = append(values, value)
		}
		fmt.Fprintf(b, "\t\treturn %s\n", strings.Join(append(values, fmt.Sprintf("errors.New(%q)", text)), ", "))
	} else {
		fmt.Fprintf(b, "\t\tpanic(%q)\n", text)
	}
	b.WriteString("\t}\n")
}

func returns(b *strings.Builder, p *match.Plan, full string) {
	values := p.Values
	join := func(last string) string { return strings.Join(append(slices.Clone(values), last), ", ") }
	if !p.Func.HasError {
		if len(values) > 0 {
			fmt.Fprintf(b, "\treturn %s\n", strings.Join(values, ", "))
		}
		return
	}
	if p.Func.Fails == nil {
		fmt.Fprintf(b, "\treturn %s\n", join("nil"))
		return
	}
	fmt.Fprintf(b, "\tif fastc_errno < 0 {\n\t\treturn %s\n\t}\n",
		join(fmt.Sprintf("errors.New(%q)", full+": "+p.Func.Call.CName+" failed, and left errno as it was")))
	fmt.Fprintf(b, "\tif fastc_errno != 0 {\n\t\treturn %s\n\t}\n\treturn %s\n", join("syscall.Errno(fastc_errno)"),
		join("nil"))
}
