// Package match compares each declared function and type with C's, the third stage of fastcgen.
//
// For a function it makes a [Plan]: the fields of the frame, the Go statements that fill them, the
// arguments of the C call, and the Go expressions that read the results.
//
//	func Divide(a, b int32) (q, r int32, err error)      //fastc:call v_div(a, b, &q, &r)
//
//	Go: sets                      the frame       C: args             C writes, Go reads: values
//	fastc_f.arg0 = C.int32_t(a)   int32_t arg0    fastc_f->arg0
//	fastc_f.arg1 = C.int32_t(b)   int32_t arg1    fastc_f->arg1
//	                              int32_t out2    &fastc_f->out2      int32(fastc_f.out2)
//	                              int32_t out3    &fastc_f->out3      int32(fastc_f.out3)
//
// For a struct it makes a [Mirror], a Go struct whose fields have C's offsets.
//
// Invariant: Go and C mean the same bits. The generated file asserts this again, because C may
// change. Each refusal names an edit that gets further, so match tries an edit before it suggests it
// ([CanMirror]).
package match

import (
	"debug/dwarf"
	"fmt"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

// Result is how each declared type and each function is laid out.
type Result struct {
	Types   []*declfile.GoType
	Mirrors []*Mirror
	Plans   []*Plan
}

// Match compares the declarations with C. It lays out the mirrors last, because one may hold a type
// that is declared later.
func Match(facts *cc.Facts, d *declfile.File) (*Result, error) {
	r := &resolver{facts: facts, declared: map[string]*declfile.GoType{}}
	m := &Result{}
	for _, t := range d.Types {
		r.declare(t)
	}
	for _, g := range r.order {
		if g.Kind == declfile.GoMirror {
			m.Mirrors = append(m.Mirrors, r.mirror(g.Decl))
		}
	}
	if len(r.bad) > 0 {
		return nil, r.bad
	}
	m.Types = r.order
	for _, f := range d.Funcs {
		if p := r.match(f); p != nil {
			m.Plans = append(m.Plans, p)
		}
	}
	return m, r.bad.Err()
}

func (r *resolver) declare(t *declfile.Type) {
	c := r.facts.Types[t.CText()]
	if c == nil {
		r.bad.Add(t.At, "the C compiler gave no debugging information for "+t.CText(),
			"declare a function that uses it, or leave it out")
		return
	}
	g := &declfile.GoType{Name: t.Name, Decl: t}
	n, isNumber := r.facts.Number(c)
	switch b := cc.Bare(c).(type) {
	case *dwarf.StructType:
		switch {
		case b.Incomplete || t.Opaque:
			g.Kind = declfile.GoOpaque
		case b.Kind == "struct":
			g.Kind = declfile.GoMirror
		default:
			r.bad.Add(t.At, t.CText()+" is a union, which Go does not have",
				"put //fastc:opaque above it to pass pointers to it")
			return
		}
	case *dwarf.VoidType:
		g.Kind = declfile.GoOpaque
	case *dwarf.BoolType:
		g.Kind = declfile.GoBool
	default:
		if !isNumber {
			r.bad.Add(t.At, t.CText()+" is "+r.facts.Describe(c)+", no struct, enum or number that Go has",
				"leave it out")
			return
		}
		g.Kind, g.Num = declfile.GoNumber, n.Number
		if n.PlainChar {
			g.Num = declfile.Number{Class: declfile.Unsigned, Size: 1}
		}
	}
	if t.Opaque && g.Kind != declfile.GoOpaque {
		r.bad.Add(t.At, "//fastc:opaque on "+t.CText()+", which is no struct or union", "leave it out")
	}
	r.declared[t.Name] = g
	r.order = append(r.order, g)
}

// match makes a function's plan, or nil if something was refused. Each argument adds to Args once.
// It adds to Fields and Sets only if Go hands a value over.
func (r *resolver) match(f *declfile.Func) *Plan {
	m := &matcher{r, f, &Plan{Func: f, Outs: map[string]string{}}, nil}
	fn, ok := cc.Bare(r.facts.Funcs[f.Call.CName]).(*dwarf.FuncType)
	if !ok {
		m.bad.Add(f.Call.At, f.Call.CName+" is not a function in C", "name a function")
		return nil
	}
	m.c, m.p.Sig, m.p.Result = fn, cc.TypeText(r.facts.Funcs[f.Call.CName], ""),
		cc.TypeText(cc.Unqualified(fn.ReturnType), "")
	if n := len(fn.ParamType); n > 0 {
		if _, ok := fn.ParamType[n-1].(*dwarf.DotDotDotType); ok {
			m.bad.Add(f.Call.At, f.Call.CName+" has variable arguments, or no prototype",
				"wrap it in a static inline function with fixed parameters in the preamble")
			return nil
		}
	}
	if want, have := len(fn.ParamType), len(f.Call.Args); want != have {
		m.bad.Add(f.Call.At, fmt.Sprintf("%s takes %s, and //fastc:call passes %d", f.Call.CName,
			declfile.Plural(want, "argument"), have),
			"pass what C declares: "+cc.TypeText(fn, f.Call.CName))
		return nil
	}
	before := len(r.bad)
	if m.nameless() {
		return nil
	}
	for i, a := range f.Call.Args {
		m.argument(i, a, fn.ParamType[i])
	}
	m.results(fn.ReturnType)
	m.floats()
	if len(r.bad) > before {
		return nil
	}
	return m.p
}

// floats finds floating-point constants of C in conditions of Go, because cgo makes 0 of 1e-9.
func (m *matcher) floats() {
	for _, c := range m.f.Conditions() {
		for _, n := range c.Uses {
			if k, ok := m.facts.Number(m.facts.Consts[n.Text]); ok && k.Class == declfile.Float {
				m.bad.Add(n.At, "C."+n.Text+" is a floating-point constant, of which cgo keeps six decimals",
					"write the number; as an argument in //fastc:call it is exact")
			}
		}
	}
}
