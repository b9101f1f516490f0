package golden_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evenkeel.dev/internal/golden"
)

// TestMessages holds the texts of log lines and errors that an operator of a service reads, so that a
// change of one is read as prose. A log line has at most 120 characters, without its attributes.
func TestMessages(t *testing.T) {
	var list []string
	for _, dir := range []string{"aio", "httpd", "gcgate", "reqtrace/recorder", "internal/history"} {
		err := filepath.WalkDir("../../"+dir, func(name string, d fs.DirEntry, err error) error {
			if d != nil && d.Name() == "aiosuite" {
				return fs.SkipDir
			}
			if err == nil && filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
				list = append(list, messages(t, name, dir)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(list)
	golden.Check(t, "messages.golden.txt", strings.Join(slices.Compact(list), "\n")+"\n")
}

func messages(t *testing.T, name, dir string) (list []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isLog(call.Fun) {
			for _, arg := range call.Args[:min(len(call.Args), 3)] { // a kind and a period may precede it
				if text, _ := literal(arg); len(text) > 120 {
					t.Errorf("%s: a log line of %d characters, make it 120: %s", name, len(text), text)
				}
			}
		}
		x, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := literal(x)
		if ok && len(strings.Fields(text)) > 3 && !strings.Contains(text, "\n") {
			list = append(list, dir+"\t"+text)
		}
		return !ok
	})
	return list
}

func isLog(f ast.Expr) bool {
	s, ok := f.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{
		"Debug", "Info", "Warn", "Error", "warn", "lasting", "ongoing", "over", "Began", "Over",
	}, s.Sel.Name)
}

// literal returns the text of a string literal, or of a sum of some with others.
func literal(x ast.Expr) (text string, ok bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		left, okLeft := literal(x.X)
		right, okRight := literal(x.Y)
		return left + right, x.Op == token.ADD && (okLeft || okRight)
	}
	return "", false
}
