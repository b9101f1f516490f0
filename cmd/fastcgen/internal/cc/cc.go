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
			"include the header that declares it, or wrap a macro in a static inline function in the preamble")
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

// Ask compiles all probes at once and reads the answers. To the compiler, a probe's number is its
// line in a file "probe".
func Ask(ctx context.Context, tc *Toolchain, d *declfile.File) (*Facts, error) {
	list := probes(d)
	source := strings.Builder{}
	source.WriteString(declfile.CPreamble(d))
	for i, p := range list {
		fmt.Fprintf(&source, "#line %d \"probe\"\n%s\n", i+1, p.text)
	}
	object, err := tc.Compile(ctx, source.String(), "-g", "-O0")
	if err != nil {
		return nil, blame(d, list, err)
	}
	data, err := readDWARF(object)
	if err != nil {
		return nil, err
	}
	return answers(data, list)
}

var meant = regexp.MustCompile(`did you mean '([A-Za-z_]\w*)'`)

// blame tells the probes that the compiler refused, once each, or what is wrong with the preamble.
// It places messages about other files, such as headers, at the preamble.
func blame(d *declfile.File, list []probe, err error) error {
	var ofProbes, ofPreamble declfile.Problems
	seen := map[int]bool{}
	for _, c := range Complaints(err) {
		if c.File == "probe" && c.Line <= len(list) {
			if p := list[c.Line-1]; !seen[c.Line] {
				do := p.do
				if m := meant.FindStringSubmatch(c.Text); m != nil {
					do = "write " + m[1] + " in place of " + p.at.Text
				}
				ofProbes.Add(p.at.At, fmt.Sprintf(p.missing, p.at.Text)+" ("+c.Text+")", do)
			}
			seen[c.Line] = true
			continue
		}
		at, what := d.PreambleAt, "the C compiler says: "+c.Text
		if c.File == filepath.Base(d.Path) {
			at.Line, at.Column = c.Line, 1
		} else {
			what += fmt.Sprintf(" (%s:%d)", c.File, c.Line)
		}
		ofPreamble.Add(at, what, "mend the preamble, or its #cgo lines")
	}
	switch {
	case len(ofPreamble) > 0:
		return ofPreamble
	case len(ofProbes) > 0:
		return ofProbes
	}
	return fmt.Errorf("%s: the C compiler failed:\n%w", d.Path, err)
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
