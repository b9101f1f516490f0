package initial

import (
	"context"
	"debug/elf"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/generate"
)

type cgoFile struct {
	path      string
	file      *ast.File
	build     constraint.Expr
	preambles []cgoPreamble
}

// cgoPreamble is the comment above one import "C", without #cgo lines.
type cgoPreamble struct {
	text string
	at   token.Position
}

type cgoCall struct {
	name  string
	at    token.Position
	args  []ast.Expr
	errno bool
}

type cgoUses struct {
	calls     []*cgoCall
	values    map[string]token.Position // names that are not called
	allocated map[string]bool           // types of which Go has values
}

var cgoOwn = map[string]bool{
	"CString": true, "CBytes": true, "GoString": true, "GoStringN": true, "GoBytes": true, "malloc": true, "free": true,
}

func importsC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
}

// IsOrdinary reports whether f is an ordinary cgo file, without directives.
func IsOrdinary(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, decl.DirectivePrefix) || decl.NearDirective.MatchString(c.Text) {
				return false
			}
		}
	}
	return importsC(f) && !decl.IsDeclaration(f) && slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Body != nil
	})
}

func readCgo(path string, fset *token.FileSet, f *ast.File) *cgoFile {
	c := &cgoFile{path: path, file: f}
	c.build, _, _ = decl.BuildConstraint(f)
	for _, declared := range f.Decls {
		g, ok := declared.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, spec := range g.Specs {
			s := spec.(*ast.ImportSpec)
			doc := s.Doc
			if doc == nil {
				doc = g.Doc
			}
			if s.Path.Value != `"C"` || doc == nil {
				continue
			}
			text, at := decl.ReadPreamble(fset, doc)
			c.preambles = append(c.preambles, cgoPreamble{decl.WithoutCgoLines(text), at})
		}
	}
	return c
}

func platformTags(base string) []string {
	var tags []string
	parts := strings.Split(strings.TrimSuffix(base, ".go"), "_")
	for i := len(parts) - 1; i > 0 && len(tags) < 2 && decl.NamesPlatform("x_"+parts[i]+".go"); i-- {
		tags = append(tags, parts[i])
	}
	slices.Reverse(tags)
	return tags
}

func (u *cgoUses) collect(fset *token.FileSet, f *ast.File, calls bool) {
	var stack []ast.Node
	parent := func(n int) ast.Node {
		for i := len(stack) - 2; i >= 0; i-- {
			if _, ok := stack[i].(*ast.ParenExpr); ok {
				continue
			}
			if n--; n == 0 {
				return stack[i]
			}
		}
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		name, isC := decl.PlainC(n)
		if !isC {
			return true
		}
		at := fset.PositionFor(n.Pos(), false)
		call, ok := parent(1).(*ast.CallExpr)
		if !ok || ast.Unparen(call.Fun) != n {
			if _, star := parent(1).(*ast.StarExpr); !star {
				u.allocated[name] = true
			}
			if _, seen := u.values[name]; !seen {
				u.values[name] = at
			}
			return true
		}
		u.allocated[name] = true // when it is a conversion to a type
		if !calls || cgoOwn[name] {
			return true
		}
		u.calls = append(u.calls, &cgoCall{name: name, at: at, args: call.Args, errno: hasErrno(parent(2))})
		return true
	})
}

func hasErrno(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return len(n.Rhs) == 1 && len(n.Lhs) == 2
	case *ast.ValueSpec:
		return len(n.Values) == 1 && len(n.Names) == 2
	}
	return false
}

// typeCheck finds types without other packages and without C.
func typeCheck(pkg *cc.Package) *types.Info {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{FakeImportC: true, Importer: unsafeImporter{}, Error: func(error) {}}
	_, _ = conf.Check("p", pkg.Fset, pkg.Files, info)
	return info
}

type unsafeImporter struct{ generate.EmptyImporter }

func (i unsafeImporter) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return i.EmptyImporter.Import(path)
}

func short(at token.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

type cNames struct {
	functions map[string]bool
	types     map[string]bool
	unknown   map[string]string
}

// askNames asks the C compiler what names are, by lines that only one kind of name gets through.
func askNames(ctx context.Context, tc *cc.Toolchain, preamble string, names []string) (*cNames, error) {
	n := &cNames{functions: map[string]bool{}, types: map[string]bool{}, unknown: map[string]string{}}
	if _, err := tc.Compile(ctx, preamble, "-fsyntax-only"); err != nil {
		return nil, err
	}
	b := &strings.Builder{}
	b.WriteString(preamble)
	for i, name := range names {
		c := (&decl.Type{CName: name}).CText()
		fmt.Fprintf(b, "#line %d \"known\"\nvoid fastc_known_%[1]d(void) { __typeof__(%s) *fastc_p; }\n", i+1, c)
		fmt.Fprintf(b, "#line %d \"type\"\nvoid fastc_type_%[1]d(void) { %s *fastc_p; }\n", i+1, c)
		fmt.Fprintf(b, "#line %d \"function\"\nvoid fastc_function_%[1]d(void) { __typeof__(&(%s)) fastc_p; }\n", i+1,
			c)
	}
	flags := []string{"-fsyntax-only"}
	if out, err := tc.Run(ctx, "", append(slices.Clone(tc.CC), "--version")...); err == nil &&
		strings.Contains(out, "clang") {
		flags = append(flags, "-ferror-limit=0")
	}
	said := map[string]map[int]string{"known": {}, "type": {}, "function": {}}
	if _, err := tc.Compile(ctx, b.String(), flags...); err != nil {
		for _, c := range cc.Complaints(err) {
			if lines := said[c.File]; lines != nil && lines[c.Line] == "" {
				lines[c.Line] = c.Text
			}
		}
	}
	for i, name := range names {
		unknown, notType := said["known"][i+1], said["type"][i+1] != ""
		switch {
		case unknown != "":
			n.unknown[name] = unknown
		case !notType:
			n.types[name] = true
		case said["function"][i+1] == "":
			n.functions[name] = true
		}
	}
	return n, nil
}

// askPreamble returns what a preamble defines for other files, and the static variables that the
// functions use. A copy of the preamble would define them again.
func askPreamble(
	ctx context.Context, tc *cc.Toolchain, preamble string, functions []string,
) (global, state []string, err error) {
	b := &strings.Builder{}
	b.WriteString(preamble)
	for i, name := range functions {
		fmt.Fprintf(b, "void *const fastc_keep_%d = (void *)%s;\n", i, name)
	}
	object, err := tc.Compile(ctx, b.String(), "-O0", "-g0")
	if err != nil {
		return nil, nil, err
	}
	f, err := elf.Open(object)
	if err != nil {
		return nil, nil, nil // Mach-O: the linker refuses it
	}
	defer f.Close()
	symbols, _ := f.Symbols()
	for _, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		isData := kind == elf.STT_OBJECT || kind == elf.STT_COMMON
		switch {
		case kind != elf.STT_FUNC && !isData, s.Section == elf.SHN_UNDEF, strings.HasPrefix(s.Name, "fastc_keep_"):
		case elf.ST_BIND(s.Info) == elf.STB_GLOBAL:
			global = append(global, s.Name)
		case isData && int(s.Section) < len(f.Sections) && f.Sections[s.Section].Flags&elf.SHF_WRITE != 0 &&
			!strings.HasPrefix(f.Sections[s.Section].Name, ".data.rel.ro"):
			name, _, _ := strings.Cut(s.Name, ".") // counter.0 is one within a function
			state = append(state, name)
		}
	}
	slices.Sort(global)
	slices.Sort(state)
	return global, state, nil
}

// preamblesOf joins preambles, each text once, for C and for the declaration file.
func preamblesOf(files []*cgoFile) (c, text string) {
	var forC, forGo strings.Builder
	seen := map[string]bool{}
	for _, f := range files {
		for _, p := range f.preambles {
			body := strings.Trim(p.text, "\n")
			if seen[body] {
				continue
			}
			seen[body] = true
			fmt.Fprintf(&forC, "#line %d %s\n%s\n", p.at.Line, strconv.Quote(filepath.Base(f.path)), p.text)
			forGo.WriteString(strings.TrimRight(body, " \t\n") + "\n")
		}
	}
	return forC.String(), collapsed(forGo.String())
}

func collapsed(text string) string {
	var lines []string
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if strings.TrimSpace(l) != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, strings.TrimRight(l, " \t"))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
