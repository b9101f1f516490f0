package reach

import (
	"context"
	"fmt"
	"go/ast"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
)

// A package may export Go functions to C (//export), as long as no leaf function gets to them: that would
// end the process. So they are part of the graph of calls, as functions that lead into Go. cgo copies the
// preamble of a file with an //export into a header of its own, but not that of the generated file, where an
// //export is refused.

// exports returns the names in C of the functions that a package exports.
func exports(pkg *cc.Package) map[string]bool {
	names := map[string]bool{}
	for _, f := range pkg.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if name, ok := strings.CutPrefix(c.Text, "//export "); ok {
					names[strings.TrimSpace(name)] = true
				}
			}
		}
	}
	return names
}

// lead adds the exported functions to a graph: cgo writes them, and each leads into Go.
func (g *callGraph) lead(exports map[string]bool) {
	if g.nodes == nil { // nothing could be looked into
		return
	}
	for name := range exports {
		n := g.node(name, name)
		n.function, n.calls["_cgoexp_"+name] = true, true
	}
}

// Handed writes in C, to go behind source, what Go does with the addresses of exported functions, for the graph to follow them:
// C.set(C.callback(C.back)) becomes a call set(back). An address that goes another way, or to a function that
// the preamble does not have, may be in any pointer whose contents are not known.
func Handed(ctx context.Context, tc *cc.Toolchain, pkg *cc.Package, source string) string {
	exported := exports(pkg)
	var b strings.Builder
	seen := map[string]bool{}
	add := func(text string) {
		if !seen[text] {
			seen[text] = true
			b.WriteString(strings.ReplaceAll(text, "fastc_hand", fmt.Sprintf("fastc_hand_%d", len(seen))))
		}
	}
	for _, f := range pkg.Files {
		called := map[ast.Expr]bool{} // an exported function that Go calls through C is no address
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				called[ast.Unparen(n.Fun)] = true
				name, ok := cc.PlainC(n.Fun)
				for i, a := range n.Args {
					back := exportedIn(a, exported)
					if !ok || back == "" {
						continue
					}
					args := strings.Split(strings.Repeat("0,", len(n.Args)), ",")[:len(n.Args)]
					args[i] = "(void *)" + back
					call := fmt.Sprintf("void fastc_hand(void) { (void)%s(%s); }\n", name, strings.Join(args, ", "))
					if _, err := tc.Compile(ctx, source+call, "-fsyntax-only"); err == nil {
						add(call)
						return false
					}
				}
			case *ast.SelectorExpr:
				if name, ok := cc.PlainC(n); ok && exported[name] && !called[n] {
					add(fmt.Sprintf("extern char fastc_hand_of[] __asm__(\"%s\"); void *fastc_hand = fastc_hand_of;\n", name))
				}
			}
			return true
		})
	}
	return b.String()
}

// exportedIn returns the exported function whose address an argument is: C.back, or a conversion of it.
func exportedIn(e ast.Expr, exported map[string]bool) string {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		e = ast.Unparen(call.Args[0])
	}
	if name, ok := cc.PlainC(e); ok && exported[name] {
		return name
	}
	return ""
}
