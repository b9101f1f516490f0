package decl

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"io"
	"slices"
	"strings"
)

// IsDeclaration reports whether f is another declaration file.
func IsDeclaration(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < f.Package && constraint.IsGoBuild(c.Text) {
				x, err := constraint.Parse(c.Text)
				return err == nil && asksFor(x, DeclarationTag)
			}
		}
	}
	return false
}

// asksFor reports whether a constraint holds nowhere but under a tag.
func asksFor(x constraint.Expr, tag string) bool {
	switch x := x.(type) {
	case *constraint.TagExpr:
		return x.Tag == tag
	case *constraint.AndExpr:
		return asksFor(x.X, tag) || asksFor(x.Y, tag)
	case *constraint.OrExpr:
		return asksFor(x.X, tag) && asksFor(x.Y, tag)
	}
	return false
}

// UserTags returns the tags that a declaration file asks for and that go build gets with -tags,
// as in fastcgen && libdeflate. Those of the platform and the toolchain are as they are.
func UserTags(x constraint.Expr) []string {
	switch x := x.(type) {
	case *constraint.AndExpr:
		return append(UserTags(x.X), UserTags(x.Y)...)
	case *constraint.TagExpr:
		given := slices.Contains([]string{"unix", "cgo", "gc", "gccgo"}, x.Tag) || strings.HasPrefix(x.Tag, "go1.")
		if !given && !NamesPlatform("x_"+x.Tag+".go") {
			return []string{x.Tag}
		}
	}
	return nil
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

// BuildLine replaces the declaration's tag by the generated file's.
func BuildLine(x constraint.Expr) string {
	switch x := x.(type) {
	case *constraint.TagExpr:
		if x.Tag == DeclarationTag {
			return (&constraint.TagExpr{Tag: GeneratedTag}).String()
		}
	case *constraint.AndExpr:
		return operand(x.X) + " && " + operand(x.Y)
	}
	return x.String()
}

// plainOperand reports whether buildLine finds the declaration's tag in a constraint.
func plainOperand(x constraint.Expr) bool {
	switch x := x.(type) {
	case *constraint.TagExpr:
		return x.Tag == DeclarationTag
	case *constraint.AndExpr:
		return plainOperand(x.X) || plainOperand(x.Y)
	}
	return false
}

// operand is buildLine for a part of an && expression.
func operand(x constraint.Expr) string {
	if _, ok := x.(*constraint.OrExpr); ok {
		return "(" + x.String() + ")"
	}
	return BuildLine(x)
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
