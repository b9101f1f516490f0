package decl

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// ReadPreamble takes the C out of the comment above import "C": its text, with a line for each of
// the file's, and where it begins.
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

// WithoutCgoLines empties the #cgo lines of a preamble: those of the package's files count for all.
func WithoutCgoLines(preamble string) string {
	lines := strings.Split(preamble, "\n")
	for i, l := range lines {
		if f := strings.Fields(l); len(f) > 0 && f[0] == "#cgo" {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// CPreamble returns the preamble for the C compiler, with the line numbers of the declaration
// file and without #cgo lines.
func CPreamble(d *File) string {
	return LineMark(d, d.PreambleAt.Line) + WithoutCgoLines(d.Preamble) + "\n"
}

// LineMark tells the C compiler which line of the declaration file comes next.
func LineMark(d *File, line int) string {
	return fmt.Sprintf("#line %d %s\n", line, strconv.Quote(filepath.Base(d.Path)))
}

// CText returns the type as C writes it.
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
