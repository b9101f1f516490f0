// Package initial writes the first declaration file for functions that a package calls by ordinary
// cgo (fastcgen -init).
//
//	call.go    the files' preambles and calls C.f(...), and which argument is whose length
//	guess.go   the Go types of parameters and results, from the C types
//	write.go   the declaration file
//
// Invariant: a declaration is written only if C's types and the calls leave one meaning. Otherwise
// the file has a question above the declaration in a comment.
package initial

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

const initSuffix = "_leaf.go"

type initializer struct {
	out      string
	files    []*cgoFile
	pkg      *cc.Package
	preamble string // of all files

	declared []*guess
	asked    []*guess // declared in a comment, with a question
	left     []*guess // to ordinary cgo
}

// Run writes the declarations of the C functions that the files call to a file named after the
// first of them. It says on stderr what is left to decide, and which calls stay as they are.
func Run(ctx context.Context, names []string, stderr io.Writer) error {
	in := &initializer{out: strings.TrimSuffix(names[0], ".go") + initSuffix}
	if err := in.names(names); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "fastcgen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := in.read(ctx, names, temp); err != nil {
		return err
	}
	if err := in.guess(ctx); err != nil {
		return err
	}
	for _, u := range in.left {
		fmt.Fprintf(stderr, "%s: C.%s stays as it is: %s\n", u.at, u.cName, u.refused)
	}
	if len(in.declared)+len(in.asked) == 0 {
		return fmt.Errorf("%s calls no C function that could be declared: nothing is written", strings.Join(names, " "))
	}
	if err := os.WriteFile(in.out, in.text(), 0o644); err != nil {
		return err
	}
	next := "Read it"
	if len(in.declared) == 0 {
		next = "Decide some of them"
	}
	fmt.Fprintf(stderr, "fastcgen: %s declares %s; left to decide, in comments: %d; left to cgo: %d. "+
		"%s, then run fastcgen %[1]s\n", in.out, declfile.Plural(len(in.declared), "function"), len(in.asked),
		len(in.left), next)
	return nil
}

// names refuses what -init cannot read or write.
func (in *initializer) names(names []string) error {
	for _, out := range []string{in.out, declfile.OutputName(in.out)} {
		if _, err := os.Lstat(out); err == nil {
			return fmt.Errorf("%s is there and stays as it is: rename it, and move over what you want", out)
		}
	}
	for _, n := range names {
		if filepath.Dir(n) != filepath.Dir(names[0]) {
			return fmt.Errorf("%s and %s are in two folders: run -init for each package", names[0], n)
		}
		if strings.HasSuffix(n, "_test.go") {
			return fmt.Errorf("%s: a test file cannot use cgo: name the file that does", n)
		}
	}
	return nil
}

func (in *initializer) read(ctx context.Context, names []string, temp string) error {
	var tags []string
	for _, n := range names {
		src, err := os.ReadFile(n)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no file %s: name the Go file that calls C, as in fastcgen -init p.go", n)
		} else if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, n, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return declfile.Syntax(err)
		}
		at := fset.PositionFor(f.Name.Pos(), false)
		switch {
		case strings.HasPrefix(string(src), declfile.Header):
			return declfile.Problems{{At: at, What: "fastcgen generated this file", Do: "name the file that calls C"}}
		case declfile.IsDeclaration(f):
			return declfile.Problems{{At: at, What: "this is a declaration file already", Do: "run fastcgen " + n}}
		case !declfile.ImportsC(f):
			return declfile.Problems{{At: at, What: `no import "C"`, Do: "name the file that calls C"}}
		}
		build, _, _ := declfile.BuildConstraint(f)
		tags = append(tags, declfile.UserTags(build)...)
	}
	pkg, err := cc.ReadPackage(ctx, names[0], tags, in.out, temp)
	if err != nil {
		return err
	}
	in.pkg = pkg
	for _, n := range names {
		i := slices.IndexFunc(pkg.Files, func(f *ast.File) bool {
			return filepath.Base(pkg.Fset.PositionFor(f.Package, false).Filename) == filepath.Base(n)
		})
		if i < 0 {
			return fmt.Errorf("%s: its name or its //go:build line leaves this platform out: run fastcgen where it "+
				"holds", n)
		}
		in.files = append(in.files, readCgo(n, pkg.Fset, pkg.Files[i]))
	}
	return nil
}

// guess asks the C compiler for the types of all names that are called. Conversions look like
// calls.
func (in *initializer) guess(ctx context.Context) error {
	tc, err := cc.NewToolchain(ctx, in.pkg)
	if err != nil {
		return err
	}
	var forC string
	forC, in.preamble = preamblesOf(in.files)
	first := token.Position{Filename: in.files[0].path, Line: 1, Column: 1}
	d := &declfile.File{Path: in.files[0].path, Preamble: forC, PreambleAt: first}
	var list []*guess
	byName := map[string]*guess{}
	for _, c := range in.calls() {
		u := byName[c.name]
		if u == nil {
			u = &guess{cName: c.name, at: c.at}
			byName[c.name] = u
			list = append(list, u)
			d.Funcs = append(d.Funcs, &declfile.Func{Call: declfile.Call{CName: u.typeText(), At: c.at}})
		}
		u.calls = append(u.calls, c)
	}
	facts, err := cc.Ask(ctx, tc, d)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(u *guess) bool { return functionOf(facts, u.typeText()) == nil })
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{},
	}
	in.pkg.TypeCheck(info, func(error) {})
	newGuesser(facts, info, in.pkg, list).all()
	for _, u := range list {
		switch {
		case u.refused != "":
			in.left = append(in.left, u)
		case len(u.unknown) > 0:
			in.asked = append(in.asked, u)
		default:
			in.declared = append(in.declared, u)
		}
	}
	return nil
}

func (in *initializer) constraint() string {
	parts := []string{declfile.DeclarationTag}
	for _, f := range in.files {
		parts = append(parts, platformTags(filepath.Base(f.path))...)
		for _, t := range declfile.Terms(f.build) {
			parts = append(parts, declfile.TermText(t))
		}
	}
	var once []string
	for _, p := range parts {
		if p != declfile.GeneratedTag && !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	return strings.Join(once, " && ")
}
