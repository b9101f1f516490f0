package tidy

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	linkTargets = []*regexp.Regexp{
		regexp.MustCompile(`\]\(\s*<?([^)\s>]+)`),               // [text](target) and ![text](target)
		regexp.MustCompile(`^ {0,3}\[[^\]^]+\]:\s*<?([^\s>]+)`), // [name]: target
		regexp.MustCompile(`(?:href|src)="([^"]+)"`),            // HTML
	}
	codeSpan   = regexp.MustCompile("`[^`]*`")
	scheme     = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+.\-]*:|//)`)
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	htmlAnchor = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
)

// CheckLinks finds links in Markdown, relative to their file, that lead to no file of the tree
// or to no heading of the page.
func CheckLinks(t *Tree) []Finding {
	var found []Finding
	known := map[*File][]string{}
	for _, f := range t.Files {
		if !isPage(f) {
			continue
		}
		for n, line := range prose(f) {
			line = codeSpan.ReplaceAllString(line, "")
			for _, re := range linkTargets {
				for _, m := range re.FindAllStringSubmatch(line, -1) {
					if what := broken(t, f, m[1], known); what != "" {
						found = append(found, f.atLine(n+1, "link to "+m[1]+": "+what, "mend the link, or write what it leads to"))
					}
				}
			}
		}
	}
	return found
}

func isPage(f *File) bool { return strings.HasSuffix(f.Path, ".md") && !f.Testdata() }

// broken returns what is wrong with a link from f to target, or "". It looks up anchors in those that are known, and adds to them.
func broken(t *Tree, f *File, target string, known map[*File][]string) string {
	if scheme.MatchString(target) {
		return ""
	}
	name, anchor, _ := strings.Cut(target, "#")
	to := f
	if name != "" {
		if s, err := url.PathUnescape(name); err == nil {
			name = s
		}
		name = path.Join(f.Dir(), name)
		if to = t.file(name); to == nil && !t.dirs[name] {
			return "no such file"
		}
	}
	if anchor == "" || to == nil || !isPage(to) {
		return ""
	}
	if known[to] == nil {
		known[to] = anchors(to)
	}
	if !slices.Contains(known[to], anchor) {
		return "no such heading"
	}
	return ""
}

// prose returns the lines of f with those of fenced code emptied.
func prose(f *File) []string {
	lines := strings.Split(f.Text, "\n")
	fence := ""
	for i, line := range lines {
		mark := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(mark, "```"), strings.HasPrefix(mark, "~~~"):
			fence = mark[:3]
			lines[i] = ""
		}
	}
	return lines
}

// anchors returns the anchors that GitHub gives to the headings of f, and those that f sets in HTML.
func anchors(f *File) []string {
	var names []string
	seen := map[string]int{}
	for _, line := range prose(f) {
		if m := heading.FindStringSubmatch(line); m != nil {
			name := slug(m[1])
			if n := seen[name]; n > 0 {
				names = append(names, name+"-"+strconv.Itoa(n))
			} else {
				names = append(names, name)
			}
			seen[name]++
		}
		for _, m := range htmlAnchor.FindAllStringSubmatch(line, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// slug returns a heading as GitHub writes it in an anchor.
func slug(text string) string {
	text = linkText.ReplaceAllString(text, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
