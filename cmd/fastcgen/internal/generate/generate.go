// Package generate runs the stages of fastcgen, and tries what they made on the compilers of C and
// Go.
//
//	declaration file                                    generated file, warnings
//	      |                                                   ^
//	    declfile -> cc ----------> match ----------------> emit
//	      |     C's types by DWARF   plans, mirrors           |
//	      |                                                   v
//	      +-------------------------------------> trials, reach (C compiler, Go's type checker)
//
// The trials find whether C takes the shims (tryC), how much C writes to an array (unchecked,
// overrun), and whether the conditions in directives are Go (conditions).
package generate

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
	"evenkeel.dev/cmd/fastcgen/internal/match"
	"evenkeel.dev/cmd/fastcgen/internal/reach"
)

// File makes the Go file for the declaration file at path.
func File(ctx context.Context, path, out string) (text []byte, warnings []string, err error) {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("no file %s: name the declaration file, as in fastcgen dot.go", path)
	} else if err != nil {
		return nil, nil, err
	}
	d, err := declfile.Parse(path, src)
	if err != nil {
		return nil, nil, err
	}
	temp, err := os.MkdirTemp("", "fastcgen-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temp)
	pkg, err := cc.Load(ctx, d, out, temp)
	if err != nil {
		return nil, nil, err
	}
	if err := pkg.Clashes(d).Err(); err != nil {
		return nil, nil, err
	}
	tc, err := cc.NewToolchain(ctx, pkg)
	if err != nil {
		return nil, nil, err
	}
	g, err := checked(ctx, tc, d, pkg)
	if err != nil {
		return nil, nil, err
	}
	if text, err = g.Text(); err != nil {
		return nil, nil, err
	}
	return text, reach.Warnings(ctx, tc, pkg, d, g.Trial(), g.Shim(d.Funcs[0])), nil
}

func checked(ctx context.Context, tc *cc.Toolchain, d *declfile.File, pkg *cc.Package) (*emit.File, error) {
	facts, err := cc.Ask(ctx, tc, d)
	if err != nil {
		return nil, err
	}
	m, err := match.Match(facts, d)
	if err != nil {
		return nil, err
	}
	g := &emit.File{Decl: d, ImportPath: pkg.ImportPath, Match: m}
	if err := conditions(g, pkg).Err(); err != nil {
		return nil, err
	}
	for _, try := range []func(context.Context, *cc.Toolchain, *emit.File) error{tryC, unchecked, overrun} {
		if err := try(ctx, tc, g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func conditions(g *emit.File, pkg *cc.Package) declfile.Problems {
	const synthetic = "conditions"
	b := &strings.Builder{}
	fmt.Fprintf(b, "package %s\n\nimport (\n\"C\"\n\"runtime/cgo\"\n\"unsafe\"\n)\n", g.Decl.Pkg)
	g.GoTypes(b)
	for _, f := range g.Decl.Funcs {
		for _, c := range f.Conditions() {
			fmt.Fprintf(b, "func _(%s) { _ = bool(/*line %s:%d:%d*/%s) }\n", declfile.GoParams(f),
				filepath.Base(g.Decl.Path), c.At.Line, c.At.Column, c.Text)
		}
	}
	fset := pkg.Fset
	file, err := parser.ParseFile(fset, synthetic, b.String(), parser.SkipObjectResolution)
	if err != nil {
		return declfile.Problems{{
			At: g.Decl.PkgAt, What: "the conditions cannot be read: " + err.Error(),
			Do: "write plain expressions",
		}}
	}
	var bad declfile.Problems
	pkg.TypeCheck(nil, func(err error) {
		e, ok := err.(types.Error)
		if at := fset.Position(e.Pos); ok && fset.PositionFor(e.Pos, false).Filename == synthetic &&
			at.Filename != synthetic {
			at.Filename = g.Decl.Path
			bad.Add(at, e.Msg, "mend the expression: it sees the parameters and the package's declarations")
		}
	}, file)
	return bad
}

// tryC compiles the generated C. Problems are placed in the declaration file.
func tryC(ctx context.Context, tc *cc.Toolchain, g *emit.File) error {
	_, err := tc.Strictly(ctx, g.Trial())
	if err == nil {
		return nil
	}
	var bad, changed declfile.Problems
	for _, c := range cc.Complaints(err) {
		if c.File != filepath.Base(g.Decl.Path) {
			continue
		}
		p := problemOf(g.Decl, c)
		// cc.Ask saw these types of C a moment ago, so they have not changed
		if strings.Contains(c.Text, emit.Stale) {
			p.What = "the C compiler has another type for this function than its debugging information (an attribute " +
				"such as ms_abi, or va_list)"
			p.Do = cc.WrapIt
			changed = append(changed, p)
		} else {
			bad = append(bad, p)
		}
	}
	if len(bad) == 0 {
		bad = changed
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.Decl.Path, err)
	}
	return bad
}

// warningName is what compilers put behind a warning that is an error.
var warningName = regexp.MustCompile(` \[-W[^\]]*\]$`)

func problemOf(d *declfile.File, c cc.Complaint) declfile.Problem {
	at := d.PreambleAt
	at.Line, at.Column = c.Line, 1
	if _, ours, ok := strings.Cut(c.Text, match.SaidByUs); ok {
		ours = strings.ReplaceAll(ours, `\"`, `"`)
		what, do, _ := strings.Cut(strings.TrimRight(ours, `"`), "; ")
		return declfile.Problem{At: at, What: what, Do: do}
	}
	text := warningName.ReplaceAllString(c.Text, "")
	p := declfile.Problem{At: at, What: "the C compiler says: " + text, Do: "mend what this line says about C"}
	if strings.Contains(c.Text, "stringop-overflow") {
		p.Do = "declare the array as long as what C writes"
	}
	return p
}

type trial struct {
	p *match.Plan
	a match.OutArray
}

// trialsOf returns the arrays with a //fastc:writes, or those without one.
func trialsOf(g *emit.File, said bool) (list []trial) {
	for _, p := range g.Match.Plans {
		for _, a := range p.Arrays {
			if _, ok := p.Func.Writes[a.Result.Name]; ok == said {
				list = append(list, trial{p, a})
			}
		}
	}
	return list
}

func trialSource(g *emit.File, more string) *strings.Builder {
	b := &strings.Builder{}
	b.WriteString(declfile.CPreamble(g.Decl) + declfile.LineMark(g.Decl, g.Decl.PreambleAt.Line) +
		"#include <stddef.h>\n#include <stdint.h>\n" + more)
	return b
}

// unchecked refuses arrays whose length C does not tell. DWARF has the same type for "uint8_t
// sum[static 32]" and "uint8_t *sum", but the compiler compares the first with what a call passes.
// So unchecked compiles a call with an array of one element. If the compiler complains, it will
// also complain about a result that is too short.
//
// The element is not the last of its frame. Compilers take a last one for an array without a
// length.
func unchecked(ctx context.Context, tc *cc.Toolchain, g *emit.File) error {
	trials := trialsOf(g, false)
	if len(trials) == 0 {
		return nil
	}
	b := trialSource(g, emit.OverflowIsError)
	for i, t := range trials {
		fields := slices.Clone(t.p.Fields)
		fields[t.a.Field] = t.a.One
		fmt.Fprintf(b, "#line %d \"trial\"\nvoid fastc_trial_%[1]d(void *p) { struct { %s; char end; } *fastc_f "+
			"= p; (%s)(%s); }\n",
			i+1, strings.Join(fields, "; "), t.p.Func.Call.CName, strings.Join(t.p.Args, ", "))
	}
	seen := map[int]bool{}
	if _, err := tc.Strictly(ctx, b.String()); err != nil {
		for _, c := range cc.Complaints(err) {
			if c.File == "trial" {
				seen[c.Line] = true
			}
		}
		if len(seen) == 0 {
			return fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.Decl.Path, err)
		}
	}
	var bad declfile.Problems
	for i, t := range trials {
		name := t.a.Result.Name
		do := fmt.Sprintf("add //fastc:writes %s %d if that is the most that it writes", name, t.a.Len)
		if !seen[i+1] {
			bad.Add(t.a.Result.At, fmt.Sprintf("nothing in C says how many elements %s writes to %s",
				t.p.Func.Call.CName, name), do)
		}
	}
	return bad.Err()
}

// overrun refuses inline functions that write more to an array than declared. In each trial gcc
// compiles all that the function calls into one function (flatten). At -O3 gcc unrolls loops into
// stores that it compares with the array's end. clang says nothing here.
func overrun(ctx context.Context, tc *cc.Toolchain, g *emit.File) error {
	trials := trialsOf(g, true)
	if len(trials) == 0 {
		return nil
	}
	b := trialSource(g, "void fastc_see(void *);\n")
	for i, t := range trials {
		args := slices.Clone(t.p.Args)
		args[t.a.Arg] = "(void *)fastc_alone"
		one, rest, _ := strings.Cut(t.p.Fields[t.a.Field], "out"+strconv.Itoa(t.a.Arg))
		fmt.Fprintf(b, "#line %d \"trial\"\n__attribute__((flatten)) void fastc_trial_%[1]d(void *p) { struct { "+
			"%s; } *fastc_f = p; %s; __builtin_memset(fastc_alone, 0, sizeof fastc_alone); (%s)(%s); "+
			"fastc_see(fastc_alone); }\n",
			i+1, strings.Join(t.p.Fields, "; "), one+"fastc_alone"+rest, t.p.Func.Call.CName, strings.Join(args, ", "))
	}
	_, err := tc.Object(ctx, b.String(), "-Wno-error", "-O3", "-Werror=array-bounds", "-Werror=stringop-overflow", "-x",
		"c", "-")
	if err == nil {
		return nil
	}
	var bad declfile.Problems
	for _, m := range inlinedTrial.FindAllStringSubmatch(err.Error(), -1) {
		n, _ := strconv.Atoi(m[1])
		a, p := trials[n-1].a, trials[n-1].p
		bad.Add(p.Func.Writes[a.Result.Name].At, fmt.Sprintf("%s writes more than %d elements to %s, as the C "+
			"compiler sees (%s)",
			p.Func.Call.CName, a.Len, a.Result.Name, warningName.ReplaceAllString(m[2], "")),
			"declare the array as long as what C writes")
	}
	return bad.Err()
}

var inlinedTrial = regexp.MustCompile(`inlined from 'fastc_trial_(\d+)' at trial:\d+:\d+:\n[^\n]*?error: ([^\n]*)`)
