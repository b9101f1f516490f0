package main

import (
	"context"
	"debug/dwarf"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outArray is a result that C fills through a pointer to its first element.
type outArray struct {
	result param
	arg    int    // of the C call
	field  int    // of the frame
	one    string // the field with a single element
}

// begin fills a result before the call.
func (m *matcher) begin(q param, g *goType, c dwarf.Type, field string, a callArg) {
	refuse := func(what, do string) { m.bad.add(a.at, what, do) }
	switch a.kind {
	case argLen, argCap:
		if g.kind != goNumber || g.num.class == float || g.num.size < 4 {
			refuse(fmt.Sprintf("%s for %s, which is %s", a, q.name, g), "write a parameter in place of "+a.String())
			return
		}
		fields, args := len(m.p.fields), len(m.p.args)
		m.length(0, a, unqualified(c), field) // the field is there, and no argument of the call
		if len(m.p.args) > args {
			m.p.fields, m.p.args = m.p.fields[:fields], m.p.args[:args]
		}
	case argParam:
		p := m.f.param(a.text)
		if p.typ.String() != q.typ.String() {
			refuse(fmt.Sprintf("%s begins as %s, which is %s and not %s", q.name, a, p.typ, q.typ), "declare "+a.text+" "+q.typ.String())
			return
		}
		switch g.kind {
		case goNumber:
			m.p.sets = append(m.p.sets, "f."+field+" = C."+g.num.cName()+"("+a.text+")")
		case goBool:
			m.p.sets = append(m.p.sets, "f."+field+" = C._Bool("+a.text+")")
		case goPointer:
			m.p.sets = append(m.p.sets, "f."+field+" = C.uintptr_t(uintptr(unsafe.Pointer("+a.text+")))")
		default:
			m.p.sets = append(m.p.sets, "*(*"+g.String()+")(unsafe.Pointer(&f."+field+")) = "+a.text)
		}
	default:
		what := m.literal(a, c)
		last := len(m.p.args) - 1
		cast := ""
		if g.kind == goPointer {
			cast = "(uintptr_t)"
		}
		m.p.begins = append(m.p.begins, "fastc_f->"+field+" = "+cast+m.p.args[last])
		m.p.args = m.p.args[:last]
		if what != "" {
			refuse(what+" for "+q.name+", which is "+m.facts.describe(c), "write a value of that type")
		}
	}
}

// text copies a string that C keeps.
func (m *matcher) text(r *param, g *goType, ptr *dwarf.PtrType, c dwarf.Type) string {
	cName := m.f.call.cName
	n, ok := m.facts.number(ptr.Type)
	is := fmt.Sprintf("the result is %s, and %s returns %s", g, cName, m.facts.describe(c))
	switch {
	case !ok || n.enum != nil || !n.plainChar && n.number != number{unsigned, 1}:
		m.bad.add(r.at, is, m.suggestResult(c))
	case !isConst(ptr.Type):
		m.bad.add(r.at, is+": a string that the caller has to free, perhaps", "wrap "+cName+" in a static inline function in the preamble that returns const char *, if C keeps the string")
	case !m.f.copies:
		m.bad.add(r.at, is+": Go cannot know how long what it points to stays", "put //fastc:copy above "+m.f.name+": Go gets a copy")
	}
	m.numberSize(ptr.Type)
	m.p.fields = append(m.p.fields, "const void *ret", "size_t ret_len")
	m.p.retField, m.p.copied = true, true
	value := "string(unsafe.Slice((*byte)(f.ret), int(f.ret_len)))"
	if g.name != "string" {
		value = g.name + value[len("string"):]
	}
	return value
}

// unchecked refuses arrays of which nothing says how much C writes to them. To find out whether the
// compiler knows, each is tried with one element,
// which is not the last of its frame: there compilers take it for an array without a length.
func (g *generator) unchecked(ctx context.Context, tc *toolchain) error {
	type trial struct {
		p *plan
		a outArray
	}
	var trials []trial
	b := &strings.Builder{}
	b.WriteString(cPreamble(g.d) + lineMark(g.d, g.d.preambleAt.Line) + "#include <stddef.h>\n#include <stdint.h>\n" + overflowIsError)
	for _, p := range g.plans {
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
		do := fmt.Sprintf("add //fastc:writes %s %d if that is the most that it writes", name, g.r.length(t.a.result.typ))
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
func (g *generator) overrun(ctx context.Context, tc *toolchain) error {
	var trials []outArray
	var calls []*plan
	b := &strings.Builder{}
	b.WriteString(cPreamble(g.d) + lineMark(g.d, g.d.preambleAt.Line) + "#include <stddef.h>\n#include <stdint.h>\nvoid fastc_see(void *);\n")
	for _, p := range g.plans {
		for _, a := range p.arrays {
			if _, said := p.fn.writes[a.result.name]; !said {
				continue // unchecked has refused it, or C's declaration says it
			}
			trials, calls = append(trials, a), append(calls, p)
			args := slices.Clone(p.args)
			args[a.arg] = "(void *)fastc_alone"
			one, rest, _ := strings.Cut(p.fields[a.field], "out"+itoa(a.arg))
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
			p.fn.call.cName, g.r.length(a.result.typ), a.result.name, warningName.ReplaceAllString(m[2], "")), "declare the array as long as what C writes")
	}
	return bad.err() // what else the compiler says is not about the arrays
}

// inlinedTrial matches what gcc says of a function that it compiled into a trial.
var inlinedTrial = regexp.MustCompile(`inlined from 'fastc_trial_(\d+)' at trial:\d+:\d+:\n[^\n]*?error: ([^\n]*)`)

// length returns the number of elements of an array.
func (r *resolver) length(t *goType) int64 {
	g, _ := r.resolve(t, 0)
	return g.n
}

// overflowIsError makes what compilers see of writes beyond a result an error, also when C's
// declaration has changed since.
const overflowIsError = `#if defined(__clang__)
#pragma clang diagnostic error "-Warray-bounds"
#elif __GNUC__ >= 7
#pragma GCC diagnostic error "-Wstringop-overflow"
#endif
`
