package tidy

import (
	"fmt"
	"go/token"
)

// Finding is one breach of a rule.
type Finding struct {
	Path string // slash-separated, relative to the root of the tree
	Line int    // from 1
	What string // what is wrong
	Do   string // what to do about it
}

// String returns "file:line: what is wrong: what to do".
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.What, f.Do)
}

func (f *File) at(pos token.Pos, what, do string) Finding {
	return f.atLine(f.fset.Position(pos).Line, what, do)
}

func (f *File) atLine(line int, what, do string) Finding {
	return Finding{Path: f.Path, Line: line, What: what, Do: do}
}
