// Package initial writes the first declaration file for functions that a package calls by ordinary
// cgo (fastcgen -init).
//
//	read.go    the files' preambles, their calls C.f(...), and what the names are in C
//	origin.go  what an argument is, according to the call: &x[0], len(x), &n
//	param.go   parameters and results of one function, from its C type and its arguments
//	guess.go   all functions, with names and types
//	write.go   the declaration file, and what the other stages say of it
//
// Invariant: a declaration is written only if the calls leave one meaning. Otherwise the file has a
// question above the declaration in a comment. What the other stages refuse becomes a question too.
package initial

import (
	"context"
	"debug/dwarf"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
)

const initSuffix = "_leaf.go"

type initializer struct {
	out     string
	paths   []string
	files   []*cgoFile
	pkg     *cc.Package
	tc      *cc.Toolchain
	own     string
	list    []*guess
	warned  []string
	notable []string // about the files: values, generated code
}

func (f *cgoFile) at() token.Position { return token.Position{Filename: f.path, Line: 1, Column: 1} }

// Run writes the declarations of the C functions that the files call to out. An empty out means a
// file named after the first of them. Run says on stderr what is left to decide.
func Run(ctx context.Context, names []string, out string, stderr io.Writer) error {
	in := &initializer{out: out, paths: names}
	if in.out == "" {
		in.out = strings.TrimSuffix(names[0], ".go") + initSuffix
	}
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
	text, err := in.settle(ctx)
	if err != nil {
		return err
	}
	in.report(stderr)
	if text == nil {
		return fmt.Errorf("%s calls no C function that could be declared: nothing is written", strings.Join(names, " "))
	}
	if err := writeNew(in.out, text); err != nil {
		return err
	}
	counts := in.counts()
	next := "Read it, then run fastcgen " + in.out
	if counts[isDeclared] == 0 {
		next = "Decide some of them, then run fastcgen " + in.out
	}
	fmt.Fprintf(stderr, "fastcgen: %s declares %s; left to decide, in comments: %d; left to cgo: %d. %s\n",
		in.out, decl.Plural(counts[isDeclared], "function"), counts[isAsked], counts[isLeft], next)
	return nil
}

// names refuses what -init cannot read or write.
func (in *initializer) names(names []string) error {
	if filepath.Dir(in.out) != filepath.Dir(names[0]) {
		return fmt.Errorf("-o %s: the declarations belong into the folder of %s, whose package they are of", in.out,
			names[0])
	}
	if err := decl.CheckName(filepath.Base(in.out)); err != nil {
		return err
	}
	for _, out := range []string{in.out, decl.OutputName(in.out)} {
		if _, err := os.Lstat(out); err == nil {
			return fmt.Errorf("%s is there and stays as it is: write to another file with -o, "+
				"and move over what you want", out)
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
			return decl.Syntax(err)
		}
		at := fset.PositionFor(f.Name.Pos(), false)
		switch {
		case strings.HasPrefix(string(src), emit.Header):
			return decl.Problems{{At: at, What: "fastcgen generated this file", Do: "name the file that calls C"}}
		case decl.IsDeclaration(f):
			return decl.Problems{{At: at, What: "this is a declaration file already", Do: "run fastcgen " + n}}
		case !importsC(f):
			return decl.Problems{{At: at, What: `no import "C"`, Do: "name the file that calls C"}}
		}
		tags = append(tags, decl.UserTags(readCgo(n, fset, f).build)...)
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
		c := readCgo(n, pkg.Fset, pkg.Files[i])
		in.files = append(in.files, c)
		if ast.IsGenerated(c.file) {
			in.notable = append(in.notable, fmt.Sprintf("%s is generated: its calls change where it is generated from",
				n))
		}
	}
	in.tc, err = cc.NewToolchain(ctx, pkg)
	return err
}

func (in *initializer) guess(ctx context.Context) error {
	preamble, own := preamblesOf(in.files)
	in.own = own
	uses := &cgoUses{values: map[string]token.Position{}, allocated: map[string]bool{}}
	for _, f := range in.pkg.Files {
		uses.collect(in.pkg.Fset, f, slices.ContainsFunc(in.files, func(c *cgoFile) bool { return c.file == f }))
	}
	asked := map[string]bool{}
	for _, c := range uses.calls {
		asked[c.name] = true
	}
	for name := range uses.values {
		asked[name] = true
	}
	for name := range uses.allocated {
		asked[name] = true
	}
	names, err := askNames(ctx, in.tc, preamble, sortedNames(asked))
	if err != nil {
		do := "mend the preamble, or the package's #cgo lines"
		if len(in.files) > 1 {
			do += "; preambles that do not go together need a -init each"
		}
		return cc.PreambleProblems(err, in.files[0].at(), do, in.paths...)
	}
	d := &decl.File{Path: in.files[0].path, Preamble: preamble, PreambleAt: in.files[0].at()}
	var functions []string
	for _, name := range sortedNames(asked) {
		switch c := (&decl.Type{CName: name}); {
		case names.types[name]:
			d.Types = append(d.Types, c)
		case names.functions[name]:
			functions = append(functions, name)
			d.Funcs = append(d.Funcs, &decl.Func{Call: decl.Call{CName: name}})
		}
	}
	facts, err := cc.Ask(ctx, in.tc, d)
	if err != nil {
		return err
	}
	for _, name := range functions {
		b, _ := facts.Bare(facts.Funcs[name])
		if _, ok := b.(*dwarf.FuncType); !ok {
			delete(names.functions, name)
		}
	}
	functions = slices.DeleteFunc(functions, func(n string) bool { return !names.functions[n] })
	global, state, err := askPreamble(ctx, in.tc, preamble, functions)
	if err != nil {
		return err
	}
	if err := in.twice(global, state); err != nil {
		return err
	}
	g := newGuesser(facts, uses, typeCheck(in.pkg), in.pkg, names)
	in.list = g.all()
	for _, name := range functions {
		if at, ok := uses.values[name]; ok {
			in.notable = append(in.notable, fmt.Sprintf("%s: C.%s as a value is C's own: a function that fastcgen "+
				"makes has no address in C", at, name))
		}
	}
	for _, c := range uses.calls {
		if said := names.unknown[c.name]; said != "" {
			in.notable = append(in.notable, fmt.Sprintf("%s: C does not know the function %s (%s): a macro, or of "+
				"another preamble", c.at, c.name, said))
		}
	}
	return nil
}

// twice refuses what a program may have once only, because the declaration file copies the
// preamble.
func (in *initializer) twice(global, state []string) error {
	var bad decl.Problems
	for _, name := range global {
		bad.Add(in.mentions(name), "the preamble defines "+name+", and its copy in the declaration file would define "+
			"it again", "write static in front of it, or move it to a .c file of the package")
	}
	for _, name := range state {
		bad.Add(in.mentions(name), "the preamble has the variable "+name+", and its copy in the declaration file "+
			"would have another one of that name", "move it to a .c file of the package")
	}
	return bad.Err()
}

func (in *initializer) mentions(name string) token.Position {
	word := regexp.MustCompile(`\b` + name + `\b`)
	for _, f := range in.files {
		for _, p := range f.preambles {
			for i, l := range strings.Split(p.text, "\n") {
				if word.MatchString(l) {
					return token.Position{Filename: f.path, Line: p.at.Line + i, Column: 1}
				}
			}
		}
	}
	return in.files[0].at()
}

func (in *initializer) report(stderr io.Writer) {
	for _, s := range in.notable {
		fmt.Fprintf(stderr, "%s\n", s)
	}
	for _, s := range in.warned {
		fmt.Fprintf(stderr, "%s\n", s)
	}
	outside := 0 // functions of which nothing else is asked
	for _, u := range in.list {
		at := u.sites[0].at
		switch {
		case u.refused != "":
			fmt.Fprintf(stderr, "%s: C.%s stays as it is: %s\n", at, u.cName, u.refused)
		case u.outside && len(u.questions) == 1:
			outside++
		case len(u.questions) > 0:
			for _, q := range u.questions {
				fmt.Fprintf(stderr, "%s: C.%s is left to you: %s\n", at, u.cName, q)
			}
		case u.slow != "":
			fmt.Fprintf(stderr, "%s: C.%s is declared //fastc:slow: %s\n", at, u.cName, u.slow)
		}
	}
	if outside > 0 {
		fmt.Fprintf(stderr, "fastcgen: %s that reach code outside this package, which fastcgen cannot look into, left "+
			"to you: take the declarations of those that neither wait, take long nor call back into Go\n",
			decl.Plural(outside, "function"))
	}
}

func (in *initializer) counts() (n [3]int) {
	for _, u := range in.list {
		n[u.state()]++
	}
	return n
}

func (in *initializer) constraint() string {
	parts := []string{decl.DeclarationTag}
	add := func(s string) {
		if !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	for _, f := range in.files {
		for _, tag := range platformTags(filepath.Base(f.path)) {
			add(tag)
		}
		for _, t := range decl.Terms(f.build) {
			if text := decl.TermText(t); text != decl.GeneratedTag {
				add(text)
			}
		}
	}
	return strings.Join(parts, " && ")
}
