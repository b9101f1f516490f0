package decl

import (
	"go/ast"
	"go/token"
)

type fileParser struct {
	fset *token.FileSet
	file *ast.File
	src  string
	d    *File
	bad  Problems
	done map[*ast.Comment]bool // the directives that were read
}

func (p *fileParser) at(pos token.Pos) token.Position { return p.fset.PositionFor(pos, false) }

func (p *fileParser) refuse(pos token.Pos, what, do string) { p.bad.Add(p.at(pos), what, do) }
