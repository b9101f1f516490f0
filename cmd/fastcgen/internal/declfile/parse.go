package declfile

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a declaration file. One run reports all problems below the header. A function with a problem
// stays in part, so that its name is known to the rest. Either a declaration reads a directive, or
// strays refuses it.
func Parse(path string, src []byte) (*File, error) {
	p := &fileParser{fset: token.NewFileSet(), d: &File{Path: path}, done: map[*ast.Comment]bool{}}
	file, err := parser.ParseFile(p.fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, Syntax(err)
	}
	p.file = file
	if p.header(); len(p.bad) > 0 {
		return nil, p.bad
	}
	p.imports()
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.GenDecl:
			p.general(decl)
		case *ast.FuncDecl:
			p.function(decl)
		}
	}
	p.strays()
	p.clashes()
	if err := p.bad.Err(); err != nil {
		return nil, err
	}
	return p.d, nil
}

// ImportsC reports whether f uses cgo.
func ImportsC(f *ast.File) bool {
	return slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
}

// header reads what stands above the imports. The build constraint has to be false without the tag
// fastcgen and possible with it. The tag is alone or joined by &&.
func (p *fileParser) header() {
	p.d.Pkg, p.d.PkgAt = p.file.Name.Name, p.at(p.file.Name.Pos())
	p.d.Doc = commentLines(p.file.Doc)
	x, at, err := BuildConstraint(p.file)
	if err != nil {
		p.refuse(at, err.Error(), "write //go:build fastcgen")
		return
	}
	p.d.Build = x
	if p.d.Build == nil || p.d.Build.Eval(func(tag string) bool { return tag != DeclarationTag }) ||
		p.d.Build.Eval(func(string) bool { return false }) {
		p.refuse(p.file.Package, "Go would compile this file", "write //go:build fastcgen above the package clause, "+
			"or have fastcgen -init write the declarations of an ordinary file")
	} else if !asks(p.d.Build) {
		p.refuse(p.file.Package, "fastcgen is hidden in the //go:build line",
			"write //go:build fastcgen, or fastcgen && OTHERS")
	}
}

// Imports returns the imports of f, each with the comment above it.
func Imports(f *ast.File) iter.Seq2[*ast.ImportSpec, *ast.CommentGroup] {
	return func(yield func(*ast.ImportSpec, *ast.CommentGroup) bool) {
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.IMPORT {
				continue
			}
			for _, spec := range g.Specs {
				if s := spec.(*ast.ImportSpec); !yield(s, cmp.Or(s.Doc, g.Doc)) {
					return
				}
			}
		}
	}
}

func (p *fileParser) imports() {
	seen := false
	for s, doc := range Imports(p.file) {
		switch {
		case s.Path.Value != `"C"`:
			p.refuse(s.Pos(), "imports "+s.Path.Value, `leave it out: a declaration file imports only "C"`)
		case seen:
			p.refuse(s.Pos(), `a second import "C"`, "put both preambles above one")
		case doc == nil:
			seen = true
			p.refuse(s.Pos(), `no preamble above import "C"`, "write a comment with the #include lines right above it")
		default:
			seen = true
			p.d.Preamble, p.d.PreambleAt = ReadPreamble(p.fset, doc)
		}
	}
	if !seen {
		p.refuse(p.file.Name.Pos(), `no import "C"`, `write it, under a comment with the #include lines`)
	}
}

func (p *fileParser) general(g *ast.GenDecl) {
	switch g.Tok {
	case token.VAR, token.CONST:
		p.refuse(g.Pos(), "a "+g.Tok.String()+" in a declaration file",
			"move it to an ordinary file of the package, which may import C")
	case token.TYPE:
		for _, spec := range g.Specs {
			s := spec.(*ast.TypeSpec)
			doc := s.Doc
			if doc == nil && !g.Lparen.IsValid() {
				doc = g.Doc
			}
			p.typeSpec(s, doc)
		}
	}
}

func (p *fileParser) typeSpec(s *ast.TypeSpec, doc *ast.CommentGroup) {
	const do = "write type NAME C.NAME, as in type Point C.struct_point"
	cName, ofC := PlainC(s.Type)
	switch {
	case s.TypeParams != nil, s.Assign.IsValid():
		p.refuse(s.Pos(), s.Name.Name+" is generic or an alias", do)
		return
	case !ofC:
		p.refuse(s.Type.Pos(), s.Name.Name+" is not a type of C",
			do+"; Go types belong in an ordinary file of the package")
		return
	}
	t := &Type{Name: s.Name.Name, CName: cName, Doc: commentLines(doc), At: p.at(s.Name.Pos())}
	for _, dir := range p.directives(doc) {
		if dir.word != "opaque" || dir.rest != "" || t.Opaque {
			p.bad.Add(dir.at, strings.TrimRight("//fastc:"+dir.word+" "+dir.rest, " ")+" on a type",
				"leave it out: a type takes one //fastc:opaque")
		}
		t.Opaque = true
	}
	p.d.Types = append(p.d.Types, t)
}

func (p *fileParser) clashes() {
	seen := map[string]token.Position{}
	for _, n := range p.d.Declared() {
		if first, ok := seen[n.Text]; ok {
			p.bad.Add(n.At, n.Text+" is declared at line "+strconv.Itoa(first.Line)+" too", "rename one")
		}
		seen[n.Text] = n.At
		if Reserved(n.Text) {
			p.bad.Add(n.At, n.Text+" hides what the generated code uses by that name", "rename it")
		}
	}
	if len(p.d.Funcs) == 0 && len(p.bad) == 0 {
		p.refuse(p.file.Name.Pos(), "declares no function", "declare one under a //fastc:call line")
	}
}

type fileParser struct {
	fset *token.FileSet
	file *ast.File
	d    *File
	bad  Problems
	done map[*ast.Comment]bool
}

func (p *fileParser) at(pos token.Pos) token.Position { return p.fset.PositionFor(pos, false) }

func (p *fileParser) refuse(pos token.Pos, what, do string) { p.bad.Add(p.at(pos), what, do) }

// ReadPreamble returns the C in the comment above import "C", with a line for each of the file's.
func ReadPreamble(fset *token.FileSet, doc *ast.CommentGroup) (text string, at token.Position) {
	at = fset.PositionFor(doc.Pos(), false)
	line, b := at.Line, strings.Builder{}
	for _, c := range doc.List {
		for ; line < fset.PositionFor(c.Pos(), false).Line; line++ {
			b.WriteByte('\n')
		}
		body := strings.TrimPrefix(c.Text[2:], " ")
		if c.Text[1] == '*' {
			body = strings.TrimSuffix(body, "*/")
		}
		b.WriteString(body)
		line += strings.Count(body, "\n")
	}
	return strings.ReplaceAll(b.String(), "\r", ""), at
}

// WithoutCgoLines empties the #cgo lines of a preamble, because those of all files count.
func WithoutCgoLines(preamble string) string {
	lines := strings.Split(preamble, "\n")
	for i, l := range lines {
		if f := strings.Fields(l); len(f) > 0 && f[0] == "#cgo" {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// CPreamble returns the preamble for the C compiler, with line numbers.
func CPreamble(d *File) string {
	return LineMark(d, d.PreambleAt.Line) + WithoutCgoLines(d.Preamble) + "\n"
}

// LineMark tells the C compiler which line of the declaration file comes next.
func LineMark(d *File, line int) string {
	return fmt.Sprintf("#line %d %s\n", line, strconv.Quote(filepath.Base(d.Path)))
}

func (t *Type) CText() string {
	for _, tag := range []string{"struct", "enum", "union"} {
		if rest, ok := strings.CutPrefix(t.CName, tag+"_"); ok {
			return tag + " " + rest
		}
	}
	if c, ok := cgoNames[t.CName]; ok {
		return c
	}
	return t.CName
}

// cgoNames are cgo's names for types of several words.
var cgoNames = map[string]string{
	"schar": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
	"ulong": "unsigned long", "longlong": "long long", "ulonglong": "unsigned long long",
}
