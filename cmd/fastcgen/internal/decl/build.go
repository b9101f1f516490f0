package decl

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/token"
	"io"
	"slices"
	"strings"
)

// BuildConstraint returns the //go:build line of a file, nil if it has none.
func BuildConstraint(f *ast.File) (constraint.Expr, token.Pos, error) {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				x, err := constraint.Parse(c.Text)
				return x, c.Pos(), err
			}
		}
	}
	return nil, token.NoPos, nil
}

// IsDeclaration reports whether f is a declaration file.
func IsDeclaration(f *ast.File) bool {
	x, _, err := BuildConstraint(f)
	return err == nil && asks(x)
}

// Terms returns the constraints that && joins in x, which may be nil.
func Terms(x constraint.Expr) []constraint.Expr {
	if and, ok := x.(*constraint.AndExpr); ok {
		return append(Terms(and.X), Terms(and.Y)...)
	}
	if x == nil {
		return nil
	}
	return []constraint.Expr{x}
}

// asks reports whether the declaration's tag is a term of a constraint.
func asks(x constraint.Expr) bool {
	return slices.ContainsFunc(Terms(x), func(t constraint.Expr) bool { return t.String() == DeclarationTag })
}

// TermText writes a term to be joined by &&.
func TermText(x constraint.Expr) string {
	if _, ok := x.(*constraint.OrExpr); ok {
		return "(" + x.String() + ")"
	}
	return x.String()
}

// BuildLine replaces the declaration's tag by the generated file's.
func BuildLine(x constraint.Expr) string {
	var list []string
	for _, t := range Terms(x) {
		text := TermText(t)
		if text == DeclarationTag {
			text = GeneratedTag
		}
		list = append(list, text)
	}
	return strings.Join(list, " && ")
}

// UserTags returns the tags that a file asks for and that go build gets with -tags, as in fastcgen
// && libdeflate. Those of the platform and the toolchain are as they are.
func UserTags(x constraint.Expr) []string {
	var tags []string
	for _, t := range Terms(x) {
		tag, ok := t.(*constraint.TagExpr)
		if ok && !slices.Contains([]string{"unix", "cgo", "gc", "gccgo"}, tag.Tag) &&
			!strings.HasPrefix(tag.Tag, "go1.") && !NamesPlatform("x_"+tag.Tag+".go") {
			tags = append(tags, tag.Tag)
		}
	}
	return tags
}

// NamesPlatform reports whether the go command reads an operating system or architecture out of
// the name of a Go file.
func NamesPlatform(base string) bool {
	nowhere := build.Default
	nowhere.GOOS, nowhere.GOARCH = "none", "none"
	nowhere.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}
	match, err := nowhere.MatchFile(".", base)
	return err == nil && !match
}

const outputSuffix = "_fastc.go"

// OutputName returns the name of the file generated from a declaration file.
func OutputName(name string) string {
	return strings.TrimSuffix(name, ".go") + outputSuffix
}

// CheckName refuses names that the go command gives a meaning.
func CheckName(base string) error {
	switch {
	case !strings.HasSuffix(base, ".go"):
		return fmt.Errorf("%s: not a Go file: a declaration file's name ends in .go", base)
	case strings.HasSuffix(base, "_test.go"):
		return fmt.Errorf("%s: a test file cannot use cgo: rename it", base)
	case strings.HasSuffix(base, outputSuffix):
		return fmt.Errorf("%s: generated: name the declaration file that it was made from", base)
	case NamesPlatform(base):
		return fmt.Errorf("%s: a platform in the name of the file is lost in that of the generated one: rename it "+
			"and write the platform into its //go:build line", base)
	}
	return nil
}
