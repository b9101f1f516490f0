package tidy

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// CheckTests finds tests skipped without a reason, and //go:norace.
func CheckTests(t *Tree) []Finding {
	var found []Finding
	for _, f := range t.source() {
		found = append(found, checkSkips(f)...)
		for _, group := range f.Go.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:norace") {
					found = append(found, f.at(c.Pos(), "hides from the race detector with //go:norace", "mend the race"))
				}
			}
		}
	}
	return found
}

func checkSkips(f *File) []Finding {
	var found []Finding
	params := testParams(f.Go)
	ast.Inspect(f.Go, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		on, method, _ := strings.Cut(types.ExprString(call.Fun), ".")
		if params[on] && (method == "SkipNow" || method == "Skip" && noReason(call.Args)) {
			found = append(found, f.at(call.Pos(), "skips without a reason", on+`.Skip("needs ...") with the thing that is missing`))
		}
		return true
	})
	return found
}

func noReason(args []ast.Expr) bool {
	return !slices.ContainsFunc(args, func(e ast.Expr) bool {
		lit, ok := e.(*ast.BasicLit)
		return !ok || len(lit.Value) > len(`""`)
	})
}

// testParams returns the names of f's parameters of type *testing.T, B or F, or testing.TB.
func testParams(f *ast.File) map[string]bool {
	names := localNames(f)
	params := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		typ := field.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		sel, ok := typ.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"testing.T", "testing.B", "testing.F", "testing.TB"}, qualified(names, sel)) {
			for _, id := range field.Names {
				params[id.Name] = true
			}
		}
		return true
	})
	return params
}
