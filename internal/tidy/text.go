package tidy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	maxReadmeLines = 150
	maxSourceLines = 500
)

// CheckReadme finds a README.md that has outgrown its page.
func CheckReadme(t *Tree) []Finding {
	f := t.file("README.md")
	if f == nil || f.Lines() <= maxReadmeLines {
		return nil
	}
	return []Finding{f.atLine(maxReadmeLines+1, fmt.Sprintf("%d lines, over %d", f.Lines(), maxReadmeLines),
		"move what is over to docs")}
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
		if !containsAny(f.Text, pathRoots) {
			continue
		}
		n := 0
		for line := range strings.Lines(f.Text) {
			n++
			if !containsAny(line, pathRoots) {
				continue
			}
			if m := machinePath.FindStringSubmatch(line); m != nil {
				found = append(found, f.atLine(n, "names "+m[1]+", a path on one machine", "make it relative, or say it in words"))
			}
		}
	}
	return found
}

func containsAny(s string, subs []string) bool {
	return slices.ContainsFunc(subs, func(sub string) bool { return strings.Contains(s, sub) })
}
