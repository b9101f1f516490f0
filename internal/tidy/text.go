package tidy

import (
	"errors"
	"fmt"
	"go/scanner"
	"regexp"
	"slices"
	"strings"
)

const (
	maxReadmeLines = 120
	maxReadmeWords = 600 // comments aside, which readers don't see
	maxSourceLines = 500
)

var htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)

// CheckReadme finds a README.md that has outgrown its page.
func CheckReadme(t *Tree) (found []Finding) {
	f := t.file("README.md")
	if f == nil {
		return nil
	}
	const do = "move what is over to docs"
	if f.Lines() > maxReadmeLines {
		found = append(found, f.atLine(maxReadmeLines+1, fmt.Sprintf("%d lines, over %d", f.Lines(), maxReadmeLines), do))
	}
	if n := len(strings.Fields(htmlComment.ReplaceAllString(f.Text, ""))); n > maxReadmeWords {
		found = append(found, f.atLine(1, fmt.Sprintf("%d words, over %d", n, maxReadmeWords), do))
	}
	return found
}

// CheckSize finds Go files, tests aside, in which something else wants to live alone.
func CheckSize(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.source() {
		if !f.Test() && f.Lines() > maxSourceLines {
			found = append(found, f.atLine(maxSourceLines+1, fmt.Sprintf("%d lines, over %d", f.Lines(), maxSourceLines),
				"split off what wants to live alone"))
		}
	}
	return found
}

// machinePath matches an absolute path into someone's machine. What comes before it keeps the
// paths of URLs, of variables and of longer file names out.
var machinePath = regexp.MustCompile(`(?:^|[^\w.\-/~})*])(/(?:work|root|home|Users)/[\w.\-]*)`)

// pathRoots are the beginnings of what machinePath matches. They are looked for first: most of
// the text has none, and a regular expression takes ten times as long.
var pathRoots = []string{"/work" + "/", "/root" + "/", "/home" + "/", "/Users" + "/"}

// CheckPaths finds text that holds only on the machine where it was written.
func CheckPaths(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.Files {
		if !slices.ContainsFunc(pathRoots, func(root string) bool { return strings.Contains(f.Text, root) }) {
			continue
		}
		for n, line := range strings.Split(f.Text, "\n") {
			if m := machinePath.FindStringSubmatch(line); m != nil {
				found = append(found, f.atLine(n+1, "names "+m[1]+", a path on one machine", "make it relative, or say it in words"))
			}
		}
	}
	return found
}

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
