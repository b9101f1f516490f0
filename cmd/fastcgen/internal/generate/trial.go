package generate

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// tryC compiles the generated C. Problems are placed in the declaration file.
func tryC(ctx context.Context, tc *cc.Toolchain, g *emit.File) error {
	_, err := tc.Strictly(ctx, g.Trial())
	if err == nil {
		return nil
	}
	var bad, changed decl.Problems
	for _, c := range cc.Complaints(err) {
		if c.File != filepath.Base(g.Decl.Path) {
			continue
		}
		p := problemOf(g.Decl, c)
		// C has just been asked: it says of its own types what it did not say then
		if strings.Contains(c.Text, emit.Stale) {
			p.What = "the C compiler has another type for this function than its debugging information (an attribute " +
				"such as ms_abi, or va_list)"
			p.Do = cc.WrapIt
			changed = append(changed, p)
		} else {
			bad = append(bad, p)
		}
	}
	if len(bad) == 0 {
		bad = changed
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.Decl.Path, err)
	}
	return bad
}

// warningName is what compilers put behind a warning that is an error.
var warningName = regexp.MustCompile(` \[-W[^\]]*\]$`)

func problemOf(d *decl.File, c cc.Complaint) decl.Problem {
	at := d.PreambleAt
	at.Line, at.Column = c.Line, 1
	if _, ours, ok := strings.Cut(c.Text, match.SaidByUs); ok {
		ours = strings.ReplaceAll(ours, `\"`, `"`)
		what, do, _ := strings.Cut(strings.TrimRight(ours, `"`), "; ")
		return decl.Problem{At: at, What: what, Do: do}
	}
	text := warningName.ReplaceAllString(c.Text, "")
	if strings.Contains(c.Text, "stringop-overflow") {
		for _, f := range d.Funcs {
			if f.Call.At.Line == c.Line {
				at = f.Call.At
			}
		}
		return decl.Problem{
			At: at, What: "C writes beyond a result: " + text,
			Do: "declare the array as long as what C writes",
		}
	}
	return decl.Problem{At: at, What: "the C compiler says: " + text, Do: "mend what this line says about C"}
}
