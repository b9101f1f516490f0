package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unchecked refuses arrays of which nothing says how much C writes to them. To find out whether the
// compiler knows, each is tried with one element,
// which is not the last of its frame: there compilers take it for an array without a length.
func unchecked(ctx context.Context, tc *toolchain, g *generator) error {
	type trial struct {
		p *plan
		a outArray
	}
	var trials []trial
	b := &strings.Builder{}
	b.WriteString(cPreamble(g.d) + lineMark(g.d, g.d.preambleAt.Line) + "#include <stddef.h>\n#include <stdint.h>\n" + overflowIsError)
	for _, p := range g.m.plans {
		for _, a := range p.arrays {
			if _, said := p.fn.writes[a.result.name]; said {
				continue
			}
			trials = append(trials, trial{p, a})
			fields := append([]string{}, p.fields...)
			fields[a.field] = a.one
			fmt.Fprintf(b, "#line %d \"trial\"\nvoid fastc_trial_%[1]d(void *p) { struct { %s; char end; } *fastc_f = p; (%s)(%s); }\n",
				len(trials), strings.Join(fields, "; "), p.fn.call.cName, strings.Join(p.args, ", "))
		}
	}
	if len(trials) == 0 {
		return nil
	}
	seen := map[int]bool{}
	if _, err := tc.strictly(ctx, b.String()); err != nil {
		for _, c := range complaints(err) {
			if c.file == "trial" {
				seen[c.line] = true
			}
		}
		if len(seen) == 0 {
			return fmt.Errorf("%s: the C compiler does not take the generated code:\n%w", g.d.path, err)
		}
	}
	var bad problems
	for i, t := range trials {
		name := t.a.result.name
		do := fmt.Sprintf("add //fastc:writes %s %d if that is the most that it writes", name, g.m.length(t.a.result.typ))
		switch {
		case !seen[i+1]:
			bad.add(t.a.result.at, fmt.Sprintf("nothing in C says how many elements %s writes to %s", t.p.fn.call.cName, name), do)
		case tc.silent:
			bad.add(t.a.result.at, fmt.Sprintf("-w among the flags keeps the C compiler from saying when %s writes more to %s than it holds", t.p.fn.call.cName, name), do)
		}
	}
	return bad.err()
}

// overrun refuses inline functions of which the C compiler sees that they write more to an array than its
// declaration and //fastc:writes say. For that each array stands alone in a trial, where its end is known,
// and all that the function calls is compiled into the trial.
func overrun(ctx context.Context, tc *toolchain, g *generator) error {
	var trials []outArray
	var calls []*plan
	b := &strings.Builder{}
	b.WriteString(cPreamble(g.d) + lineMark(g.d, g.d.preambleAt.Line) + "#include <stddef.h>\n#include <stdint.h>\nvoid fastc_see(void *);\n")
	for _, p := range g.m.plans {
		for _, a := range p.arrays {
			if _, said := p.fn.writes[a.result.name]; !said {
				continue // unchecked has refused it, or C's declaration says it
			}
			trials, calls = append(trials, a), append(calls, p)
			args := slices.Clone(p.args)
			args[a.arg] = "(void *)fastc_alone"
			one, rest, _ := strings.Cut(p.fields[a.field], "out"+strconv.Itoa(a.arg))
			fmt.Fprintf(b, "#line %d \"trial\"\n__attribute__((flatten)) void fastc_trial_%[1]d(void *p) { struct { %s; } *fastc_f = p; %s; __builtin_memset(fastc_alone, 0, sizeof fastc_alone); (%s)(%s); fastc_see(fastc_alone); }\n",
				len(trials), strings.Join(p.fields, "; "), one+"fastc_alone"+rest, p.fn.call.cName, strings.Join(args, ", "))
		}
	}
	if len(trials) == 0 {
		return nil
	}
	_, err := tc.object(ctx, b.String(), "-Wno-error", "-O3", "-Werror=array-bounds", "-Werror=stringop-overflow", "-x", "c", "-")
	if err == nil {
		return nil
	}
	var bad problems
	for _, m := range inlinedTrial.FindAllStringSubmatch(err.Error(), -1) {
		n, _ := strconv.Atoi(m[1])
		a, p := trials[n-1], calls[n-1]
		bad.add(p.fn.writes[a.result.name].at, fmt.Sprintf("%s writes more than %d elements to %s, as the C compiler sees (%s)",
			p.fn.call.cName, g.m.length(a.result.typ), a.result.name, warningName.ReplaceAllString(m[2], "")), "declare the array as long as what C writes")
	}
	return bad.err() // what else the compiler says is not about the arrays
}

// inlinedTrial matches what gcc says of a function that it compiled into a trial.
var inlinedTrial = regexp.MustCompile(`inlined from 'fastc_trial_(\d+)' at trial:\d+:\d+:\n[^\n]*?error: ([^\n]*)`)
