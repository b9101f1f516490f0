package tidy

import (
	"go/ast"
	"go/types"
	"regexp"
)

// saysDefault matches a comment that names the default of a field.
var saysDefault = regexp.MustCompile(`(?i)\bdefault|\b(zero|nil|empty)\b`)

// CheckOptions finds exported fields of an Options struct, in a public package, whose comment
// does not name their default.
func CheckOptions(t *Tree) []Finding {
	var found []Finding
	for _, pkg := range publicPackages(t) {
		for _, f := range pkg.files {
			if f.Test() {
				continue
			}
			ast.Inspect(f.Go, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || spec.Name.Name != "Options" {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					found = append(found, checkFields(f, s)...)
				}
				return false
			})
		}
	}
	return found
}

func checkFields(f *File, s *ast.StructType) []Finding {
	var found []Finding
	for _, field := range s.Fields.List {
		name := types.ExprString(field.Type) // embedded
		exported := true
		if len(field.Names) > 0 {
			name, exported = field.Names[0].Name, ast.IsExported(field.Names[0].Name)
		}
		if exported && !saysDefault.MatchString(field.Doc.Text()+field.Comment.Text()) {
			found = append(found, f.at(field.Pos(), "Options."+name+" does not name its default",
				`say in its comment what the zero value means ("default 1s", "nil: slog.Default()"), its limit and its unit`))
		}
	}
	return found
}
