package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// tryC compiles the generated C. Problems are placed in the declaration file.
func tryC(ctx context.Context, tc *toolchain, g *generator) error {
	_, err := tc.strictly(ctx, g.trial())
	if err == nil {
		return nil
	}
	var bad, changed problems
	for _, c := range complaints(err) {
		if c.file != filepath.Base(g.d.path) {
			continue
		}
		p := problemOf(g.d, c)
		if strings.Contains(c.text, stale) {
			changed = append(changed, p)
		} else {
			bad = append(bad, p)
		}
	}
	if len(bad) == 0 {
		bad = changed
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.d.path, err)
	}
	return bad
}

// warningName is what compilers put behind a warning that is an error.
var warningName = regexp.MustCompile(` \[-W[^\]]*\]$`)

// problemOf makes a problem of a complaint about generated C.
func problemOf(d *declaration, c complaint) problem {
	at := d.preambleAt
	at.Line, at.Column = c.line, 1
	if _, ours, ok := strings.Cut(c.text, saidByUs); ok {
		ours = strings.ReplaceAll(ours, `\"`, `"`)
		what, do, _ := strings.Cut(strings.TrimRight(ours, `"`), "; ")
		return problem{at, what, do}
	}
	text := warningName.ReplaceAllString(c.text, "")
	if strings.Contains(c.text, "stringop-overflow") {
		for _, f := range d.funcs {
			if f.call.at.Line == c.line {
				at = f.call.at
			}
		}
		return problem{at, "C writes beyond a result: " + text, "declare the array as long as what C writes"}
	}
	return problem{at, "the C compiler says: " + text, "mend what this line says about C"}
}
