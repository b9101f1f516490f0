package tidy

import (
	"errors"
	"go/scanner"
)

// CheckSyntax finds Go source that does not parse: the other rules do not see it.
func CheckSyntax(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if f.err == nil {
			continue
		}
		line, msg := 1, f.err.Error()
		if list, ok := errors.AsType[scanner.ErrorList](f.err); ok && len(list) > 0 {
			line, msg = list[0].Pos.Line, list[0].Msg
		}
		found = append(found, f.atLine(line, "does not parse: "+msg, "mend it, or move it below testdata"))
	}
	return found
}
