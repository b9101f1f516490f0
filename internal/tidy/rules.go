package tidy

import (
	"fmt"
	"go/token"
)

// Rule is one rule of the house, under the name by which the test runs it.
type Rule struct {
	Name   string
	Number int // of the rule in CONTRIBUTING.md that it holds
	Check  func(*Tree) []Finding
}

// Rules are all the rules, in the order in which the test runs them.
var Rules = []Rule{
	{"arrows", 1, CheckArrows},
	{"needed", 1, CheckNeeded},
	{"modules", 1, CheckModules},
	{"docs", 2, CheckDocs},
	{"options", 3, CheckOptions},
	{"library", 4, CheckLibraries},
	{"lowlevel", 6, CheckLowLevel},
	{"size", 7, CheckSize},
	{"readme", 7, CheckReadme},
	{"tests", 8, CheckTests},
	{"syntax", 11, CheckSyntax},
	{"links", 11, CheckLinks},
	{"paths", 11, CheckPaths},
}

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
