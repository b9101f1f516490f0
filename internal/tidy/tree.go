package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// module is the path of the root module; a nested module adds its directory to it.
const module = "evenkeel.dev"

// Tree is a repository as the rules see it. It is read once and not changed after.
type Tree struct {
	Files []*File // sorted by path
	dirs  map[string]bool
}

// File is one file of a [Tree].
type File struct {
	Path string    // slash-separated, relative to the root of the tree
	Text string    // empty for a binary file
	Go   *ast.File // nil unless this is Go source, outside testdata, that parses
	err  error     // why Go source does not parse
	fset *token.FileSet
}

// Ignored returns a function that reports whether git ignores a path below dir: what a build
// or a run leaves behind is not the house's. Outside a git work tree it returns nil, and every
// file counts.
func Ignored(dir string) func(path string) bool {
	cmd := exec.Command("git", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	set := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		set[strings.TrimSuffix(name, "/")] = true
	}
	return func(path string) bool { return set[path] }
}

// Load reads the tree below the root of fsys, whatever the build tags of a file. It leaves out
// vendor, hidden directories except .ci and .github, and the paths for which ignored, unless
// nil, returns true. What is below testdata is text, not Go source.
func Load(fsys fs.FS, ignored func(path string) bool) (*Tree, error) {
	t := &Tree{dirs: map[string]bool{}}
	fset := token.NewFileSet()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ignored != nil && ignored(name) || d.IsDir() && skipDir(d.Name()):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			t.dirs[name] = true
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		f := &File{Path: name, fset: fset}
		t.Files = append(t.Files, f)
		return f.read(fsys)
	})
	slices.SortFunc(t.Files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return t, err
}

func skipDir(name string) bool {
	hidden := strings.HasPrefix(name, ".") && name != "." && name != ".ci" && name != ".github"
	return hidden || name == "vendor"
}

// read fills in f's text and, for Go source, its syntax.
func (f *File) read(fsys fs.FS) error {
	text, err := fs.ReadFile(fsys, f.Path)
	if err != nil {
		return err
	}
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 { // git's test for a binary file
		return nil
	}
	f.Text = string(text)
	if strings.HasSuffix(f.Path, ".go") && !f.Testdata() {
		if f.Go, f.err = parser.ParseFile(f.fset, f.Path, text, parser.ParseComments|parser.SkipObjectResolution); f.err != nil {
			f.Go = nil
		}
	}
	return nil
}

// Dir returns the directory of f, "." at the root.
func (f *File) Dir() string { return path.Dir(f.Path) }

// Test reports whether f is a Go test file.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Testdata reports whether f is below a testdata directory.
func (f *File) Testdata() bool { return hasElement(f.Dir(), "testdata") }

// Lines returns the number of lines of text in f.
func (f *File) Lines() int {
	return strings.Count(strings.TrimSuffix(f.Text, "\n")+"\n", "\n")
}

// lineWith returns the number of the first line of f for which ok holds, or 1.
func (f *File) lineWith(ok func(line string) bool) int {
	return max(slices.IndexFunc(strings.Split(f.Text, "\n"), ok), 0) + 1
}

// file returns the file at the slash-separated path name, or nil.
func (t *Tree) file(name string) *File {
	i := slices.IndexFunc(t.Files, func(f *File) bool { return f.Path == name })
	if i < 0 {
		return nil
	}
	return t.Files[i]
}

// source returns the Go files of t that parse, in order.
func (t *Tree) source() []*File {
	return slices.DeleteFunc(slices.Clone(t.Files), func(f *File) bool { return f.Go == nil })
}

// nested reports whether dir belongs to a nested module.
func (t *Tree) nested(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if t.file(dir+"/go.mod") != nil {
			return true
		}
	}
	return false
}

// hasElement reports whether elem is one of the elements of the slash-separated path name.
func hasElement(name, elem string) bool {
	return slices.Contains(strings.Split(name, "/"), elem)
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
