package generate

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/emit"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// trial is a result array and the call that fills it.
type trial struct {
	p *match.Plan
	a match.OutArray
}

// trialsOf returns the arrays of which //fastc:writes says, or does not say, how much C writes.
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

// trialSource begins the C of trials.
func trialSource(g *emit.File, more string) *strings.Builder {
	b := &strings.Builder{}
	b.WriteString(decl.CPreamble(g.Decl) + decl.LineMark(g.Decl, g.Decl.PreambleAt.Line) +
		"#include <stddef.h>\n#include <stdint.h>\n" + more)
	return b
}

// unchecked refuses arrays of which nothing says how much C writes to them. Debugging information
// does not tell "uint8_t sum[static 32]" from "uint8_t *sum", but the compiler compares it with
// what a call passes. So unchecked compiles a call with an array of one element. If the compiler
// complains, it will also complain about a result that is too short.
//
// The element is not the last of its frame, where compilers take it for an array without a length.
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
	var bad decl.Problems
	for i, t := range trials {
		name := t.a.Result.Name
		do := fmt.Sprintf("add //fastc:writes %s %d if that is the most that it writes", name,
			g.Match.Length(t.a.Result.Typ))
		switch {
		case !seen[i+1]:
			bad.Add(t.a.Result.At, fmt.Sprintf("nothing in C says how many elements %s writes to %s",
				t.p.Func.Call.CName, name), do)
		case tc.Silent:
			bad.Add(t.a.Result.At, fmt.Sprintf("-w among the flags keeps the C compiler from saying when %s writes "+
				"more to %s than it holds", t.p.Func.Call.CName, name), do)
		}
	}
	return bad.Err()
}

// overrun refuses inline functions that write more to an array than its declaration and
// //fastc:writes say. Each array is alone in a trial, into which gcc compiles all that the function
// calls (flatten). At -O3 gcc unrolls loops into stores that it compares with the array's end.
// clang says nothing here.
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
	var bad decl.Problems
	for _, m := range inlinedTrial.FindAllStringSubmatch(err.Error(), -1) {
		n, _ := strconv.Atoi(m[1])
		a, p := trials[n-1].a, trials[n-1].p
		bad.Add(p.Func.Writes[a.Result.Name].At, fmt.Sprintf("%s writes more than %d elements to %s, as the C "+
			"compiler sees (%s)",
			p.Func.Call.CName, g.Match.Length(a.Result.Typ), a.Result.Name, warningName.ReplaceAllString(m[2], "")),
			"declare the array as long as what C writes")
	}
	return bad.Err() // what else the compiler says is not about the arrays
}

// inlinedTrial matches what gcc says of a function that it compiled into a trial.
var inlinedTrial = regexp.MustCompile(`inlined from 'fastc_trial_(\d+)' at trial:\d+:\d+:\n[^\n]*?error: ([^\n]*)`)
