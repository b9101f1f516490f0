// Package tidy has tests of what no linter finds: links between pages, and what every public package owes its reader.
package tidy

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// tree is the repository.
var tree = os.DirFS("../..")

// walk calls visit with the paths of all files that end in suffix, except those in testdata and in hidden folders.
func walk(t *testing.T, suffix string, visit func(name string)) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || base != "." && strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case strings.HasSuffix(name, suffix):
			visit(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadme keeps README.md at a page of 120 lines and 600 words. Comments do not count, because
// readers do not see them.
func TestReadme(t *testing.T) {
	text := regexp.MustCompile(`(?s)<!--.*?-->`).ReplaceAllString(read(t, "README.md"), "")
	if lines, words := strings.Count(text, "\n"), len(strings.Fields(text)); lines > 120 || words > 600 {
		t.Errorf("README.md has %d lines and %d words, more than 120 or 600: move something to docs", lines, words)
	}
}

var (
	linkTarget = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)|^ {0,3}\[[^\]^]+\]:\s*<?([^\s>]+)|(?:href|src)="([^"]+)"`)
	scheme     = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+.\-]*:|//)`)
	codeSpan   = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	htmlAnchor = regexp.MustCompile(`(?:id|name)="([^"]+)"`)
)

// TestLinks follows the relative links of all pages to files and headings.
func TestLinks(t *testing.T) {
	pages := map[string][]string{} // lines
	walk(t, ".md", func(name string) { pages[name] = prose(read(t, name)) })
	for page, lines := range pages {
		for n, line := range lines {
			for _, m := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
				target := m[1] + m[2] + m[3]
				if scheme.MatchString(target) {
					continue
				}
				name, anchor, _ := strings.Cut(target, "#")
				to := page
				if name != "" {
					name, _ = url.PathUnescape(name)
					to = path.Join(path.Dir(page), name)
				}
				if _, err := fs.Stat(tree, to); err != nil {
					t.Errorf("%s:%d: link to %s: no such file", page, n+1, target)
				} else if anchor != "" && pages[to] != nil && !slices.Contains(anchors(pages[to]), anchor) {
					t.Errorf("%s:%d: link to %s: no such heading", page, n+1, target)
				}
			}
		}
	}
}

// prose returns the lines of a page with those of fenced code emptied.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, line := range lines {
		mark := strings.TrimSpace(line)
		switch {
		case fence != "" && strings.HasPrefix(mark, fence):
			fence = ""
		case fence == "" && (strings.HasPrefix(mark, "```") || strings.HasPrefix(mark, "~~~")):
			fence = mark[:3]
		case fence == "":
			continue
		}
		lines[i] = ""
	}
	return lines
}

// anchors returns the anchors that GitHub gives to the headings of a page, and those that the page sets in HTML.
func anchors(lines []string) []string {
	var names []string
	seen := map[string]int{}
	for _, line := range lines {
		if m := heading.FindStringSubmatch(line); m != nil {
			name := strings.Map(anchorRune, linkText.ReplaceAllString(m[1], "$1"))
			if seen[name]++; seen[name] > 1 {
				name += "-" + strconv.Itoa(seen[name]-1)
			}
			names = append(names, name)
		}
		for _, m := range htmlAnchor.FindAllStringSubmatch(line, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

func anchorRune(r rune) rune {
	switch {
	case r == ' ':
		return '-'
	case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
		return unicode.ToLower(r)
	}
	return -1
}

// closed matches the folders of packages that users cannot import, or that are not for them.
var closed = regexp.MustCompile(`^(cmd|bench|e2e|examples|tools)/|(^|/)internal/`)

// TestReferences: the page of a JSON form has the name of every field of its Go types.
func TestReferences(t *testing.T) {
	for page, dirs := range map[string][]string{
		"compare-json.md": {"cmd/evenkeel/internal/compare/"},
		"run-json.md":     {"cmd/evenkeel/internal/runfile/", "loadgen/"},
		"history-json.md": {"internal/history/json.go", "internal/history/key.go", "internal/history/hour.go"},
		"explain-json.md": {"reqtrace/", "internal/verdict/", "internal/across/", "cmd/evenkeel/internal/explain/"},
	} {
		text := read(t, "docs/reference/"+page)
		fields := 0
		walk(t, ".go", func(name string) {
			in := func(dir string) bool {
				return strings.HasPrefix(name, dir) &&
					!strings.Contains(name[len(dir):], "/")
			}
			if strings.HasSuffix(name, "_test.go") || !slices.ContainsFunc(dirs, in) {
				return
			}
			for _, m := range regexp.MustCompile("`json:\"([a-z][^,\"]*)").FindAllStringSubmatch(read(t, name), -1) {
				fields++
				if !regexp.MustCompile("`([a-z]+\\.)?" + regexp.QuoteMeta(m[1]) + "[`.]").MatchString(text) {
					t.Errorf("docs/reference/%s does not mention the field %s of %s", page, m[1], name)
				}
			}
		})
		if fields < 10 {
			t.Errorf("docs/reference/%s: %d fields in %v: name the folders of its types", page, fields, dirs)
		}
	}
}

// publicPackages returns the files of each public package by folder, with its tests.
func publicPackages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	walk(t, ".go", func(name string) {
		if closed.MatchString(name) {
			return
		}
		f, err := parser.ParseFile(files, name, read(t, name), parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name != "main" {
			packages[path.Dir(name)] = append(packages[path.Dir(name)], f)
		}
	})
	return packages
}

// TestPackages wants a line in the root's doc.go for each public package, and in the root module
// also a package comment in a doc.go and an Example that runs.
func TestPackages(t *testing.T) {
	packages := publicPackages(t)
	rootComment := packages["."][0].Doc.Text()
	delete(packages, ".")
	for dir, files := range packages {
		if !strings.Contains(rootComment, "[evenkeel.dev/"+dir+"]") {
			t.Errorf("doc.go does not name %s: say in a line what it is for, as [evenkeel.dev/%[1]s]", dir)
		}
		if strings.HasPrefix(dir, "contrib/") {
			continue
		}
		if !strings.HasPrefix(read(t, dir+"/doc.go"), "// Package "+path.Base(dir)+" ") {
			t.Errorf("%s/doc.go does not start with a package comment: write what, when, caveats", dir)
		}
		runs := func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput }
		if !slices.ContainsFunc(doc.Examples(files...), runs) {
			t.Errorf("%s has no Example that runs: write one that ends in // Output:", dir)
		}
	}
}

// saysDefault matches a comment that names the default of a field.
var saysDefault = regexp.MustCompile(`(?i)\bdefault|\b(zero|nil|empty)\b`)

// TestOptions wants the comment of each exported field of an Options struct to name its default.
func TestOptions(t *testing.T) {
	for dir, files := range publicPackages(t) {
		if strings.HasPrefix(dir, "contrib/") {
			continue
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || spec.Name.Name != "Options" {
					return true
				}
				for _, field := range spec.Type.(*ast.StructType).Fields.List {
					name := types.ExprString(field.Type) // embedded
					if len(field.Names) > 0 {
						name = field.Names[0].Name
					}
					if ast.IsExported(name) && !saysDefault.MatchString(field.Doc.Text()+field.Comment.Text()) {
						t.Errorf("%s: Options.%s does not name its default: say what the zero value means", dir, name)
					}
				}
				return false
			})
		}
	}
}
