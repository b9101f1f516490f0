// Package cc asks the C compiler what the C names of a declaration file are, the second stage of
// fastcgen.
//
// A probe is a line of C that declares a variable of the type in question. The variable's debugging
// information (DWARF) is the answer:
//
//	//fastc:call v_dot(...)   ->   __typeof__(v_dot) *fastc_func_0;   ->   *dwarf.FuncType
//	type Point C.struct_v_point -> struct v_point *fastc_type_1;      ->   *dwarf.StructType
//
// Invariant: the compiler runs with the flags of go build, and with no flag that makes it do more
// than compile (checkFlags). Nothing is linked or run.
package cc

import (
	"context"
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/declfile"
)

type probe struct {
	variable string
	text     string
	at       declfile.Name
	missing  string
	do       string
}

func probes(d *declfile.File) []probe {
	var list []probe
	add := func(kind, format string, n declfile.Name, missing, do string) {
		v := fmt.Sprintf("fastc_%s_%d", kind, len(list))
		list = append(list, probe{v, fmt.Sprintf(format, v, n.Text), n, missing, do})
	}
	constant := func(uses []declfile.Name) {
		for _, n := range uses {
			add("const", "__typeof__(%[2]s) %[1]s = (%[2]s);", n, "C does not know the constant C.%s",
				"include the header that defines it")
		}
	}
	for _, t := range d.Types {
		add("type", "%[2]s *%[1]s;", declfile.Name{Text: t.CText(), At: t.At}, "C does not know the type %s",
			"include the header that declares it")
	}
	for _, f := range d.Funcs {
		add("func", "__typeof__(%[2]s) *%[1]s;", declfile.Name{Text: f.Call.CName, At: f.Call.At},
			"C does not know the function %s",
			"include the header that declares it")
		for _, c := range f.Conditions() {
			constant(c.Uses)
		}
		args := slices.AppendSeq(f.Call.Args[:len(f.Call.Args):len(f.Call.Args)], maps.Values(f.Inouts))
		for _, a := range args {
			if a.Kind == declfile.ArgC {
				constant([]declfile.Name{{Text: a.Text, At: a.At}})
			}
		}
	}
	return list
}

// Ask compiles all probes at once and reads the answers. Line marks place the compiler's messages.
func Ask(ctx context.Context, tc *Toolchain, d *declfile.File) (*Facts, error) {
	list := probes(d)
	source := strings.Builder{}
	source.WriteString(declfile.CPreamble(d))
	for _, p := range list {
		source.WriteString(declfile.LineMark(d, p.at.At.Line) + p.text + "\n")
	}
	object, err := tc.Compile(ctx, source.String(), "-g", "-O0")
	if err != nil {
		return nil, blame(ctx, tc, d, list, err)
	}
	data, err := readDWARF(object)
	if err != nil {
		return nil, err
	}
	return answers(data, list)
}

var meant = regexp.MustCompile(`did you mean '([A-Za-z_]\w*)'`)

// blame compiles the preamble alone, then each probe with it, to find what the compiler refused.
func blame(ctx context.Context, tc *Toolchain, d *declfile.File, list []probe, all error) error {
	var bad declfile.Problems
	if _, err := tc.Compile(ctx, declfile.CPreamble(d)); err != nil {
		return preambleProblems(err, d)
	}
	for _, p := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		_, err := tc.Compile(ctx, declfile.CPreamble(d)+declfile.LineMark(d, p.at.At.Line)+p.text+"\n")
		if err == nil {
			continue
		}
		said := FirstLine(err.Error())
		if c := Complaints(err); len(c) > 0 {
			said = c[0].Text
		}
		do := p.do
		if m := meant.FindStringSubmatch(said); m != nil {
			do = "write " + m[1] + " in place of " + p.at.Text
		}
		macro := "#ifndef " + p.at.Text + "\n#error\n#endif\n"
		if _, err := tc.Compile(ctx, declfile.CPreamble(d)+macro); err == nil &&
			strings.HasPrefix(p.variable, "fastc_func_") {
			do = "it is a macro: wrap it in a static inline function in the preamble"
		}
		bad.Add(p.at.At, fmt.Sprintf(p.missing, p.at.Text)+" ("+said+")", do)
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler failed:\n%w", d.Path, all)
	}
	return bad
}

// preambleProblems places messages about other files, such as headers, at the preamble.
func preambleProblems(err error, d *declfile.File) error {
	var bad declfile.Problems
	for _, c := range Complaints(err) {
		at, what := d.PreambleAt, "the C compiler says: "+c.Text
		if c.File == filepath.Base(d.Path) {
			at.Line, at.Column = c.Line, 1
		} else {
			what += fmt.Sprintf(" (%s:%d)", c.File, c.Line)
		}
		bad.Add(at, what, "mend the preamble, or its #cgo lines")
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler failed:\n%w", d.Path, err)
	}
	return bad
}

// answers reads the types of the probes' variables. fastc_func_0 and fastc_type_1 are pointers,
// fastc_const_2 has the type itself.
func answers(data *dwarf.Data, list []probe) (*Facts, error) {
	var bad declfile.Problems
	facts := &Facts{
		Funcs: map[string]dwarf.Type{}, Types: map[string]dwarf.Type{}, Odd: map[dwarf.Type]Oddity{},
		Consts: map[string]dwarf.Type{},
	}
	byVariable := map[string]probe{}
	for _, p := range list {
		byVariable[p.variable] = p
	}
	r := data.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			return nil, err
		}
		if e == nil {
			return facts, bad.Err()
		}
		facts.note(data, e)
		variable, _ := e.Val(dwarf.AttrName).(string)
		p, ok := byVariable[variable]
		off, hasType := e.Val(dwarf.AttrType).(dwarf.Offset)
		if e.Tag != dwarf.TagVariable || !ok || !hasType {
			continue
		}
		t, err := data.Type(off)
		if err != nil {
			bad.Add(p.at.At, p.at.Text+" has a type in C that fastcgen cannot read ("+err.Error()+")", WrapIt)
			continue
		}
		ptr, isPtr := t.(*dwarf.PtrType)
		switch {
		case strings.HasPrefix(variable, "fastc_func_") && isPtr:
			facts.Funcs[p.at.Text] = ptr.Type
		case strings.HasPrefix(variable, "fastc_const_"):
			facts.Consts[p.at.Text] = t
		case strings.HasPrefix(variable, "fastc_type_") && isPtr:
			facts.Types[p.at.Text] = ptr.Type
		}
	}
}

func readDWARF(name string) (*dwarf.Data, error) {
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		return f.DWARF()
	}
	if f, err := macho.Open(name); err == nil {
		defer f.Close()
		return f.DWARF()
	}
	return nil, fmt.Errorf("the C compiler writes objects that are neither ELF nor Mach-O: run fastcgen on Linux, a " +
		"BSD or macOS")
}
