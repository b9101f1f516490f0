package main

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
)

// probe is a line of C whose debugging information answers a question about a declaration.
type probe struct {
	variable string // declared by the line
	text     string
	at       name // what is asked for, and where
	missing  string
	do       string
}

// probes returns the lines for the functions, types and constants of a declaration file.
func probes(d *declaration) []probe {
	var list []probe
	add := func(kind, format string, n name, missing, do string) {
		v := fmt.Sprintf("fastc_%s_%d", kind, len(list))
		list = append(list, probe{v, fmt.Sprintf(format, v, n.text), n, missing, do})
	}
	constant := func(uses []name) {
		for _, n := range uses {
			add("const", "__typeof__(%[2]s) %[1]s = (%[2]s);", n, "C.%s is no constant that C knows", "include the header that defines it")
		}
	}
	for _, t := range d.types {
		add("type", "%[2]s *%[1]s;", name{t.cText(), t.at}, "C does not know the type %s", "include the header that declares it")
	}
	for _, c := range d.consts {
		constant(c.uses)
	}
	for _, f := range d.funcs {
		add("func", "__typeof__(&%[2]s) %[1]s;", name{f.call.cName, f.call.at}, "C does not know the function %s",
			"include the header that declares it")
		for _, c := range f.conditions() {
			constant(c.uses)
		}
		args := slices.AppendSeq(f.call.args[:len(f.call.args):len(f.call.args)], maps.Values(f.inouts))
		for _, a := range args {
			if a.kind == argC {
				constant([]name{{a.text, a.at}})
			}
		}
	}
	return list
}

// ask compiles the probes and reads the answers.
func ask(ctx context.Context, tc *toolchain, d *declaration) (*cFacts, error) {
	list := probes(d)
	source := strings.Builder{}
	source.WriteString(cPreamble(d))
	for _, p := range list {
		source.WriteString(lineMark(d, p.at.at.Line) + p.text + "\n")
	}
	object, err := tc.compile(ctx, source.String(), "-g", "-O0")
	if err != nil {
		return nil, blame(ctx, tc, d, list, err)
	}
	data, err := readDWARF(object)
	if err != nil {
		return nil, err
	}
	return answers(data, list)
}

// meant matches the name that a compiler thinks was meant.
var meant = regexp.MustCompile(`did you mean '([A-Za-z_]\w*)'`)

// blame finds out which probes the C compiler did not like.
func blame(ctx context.Context, tc *toolchain, d *declaration, list []probe, all error) error {
	var bad problems
	if _, err := tc.compile(ctx, cPreamble(d)); err != nil {
		return preambleProblems(d, err)
	}
	for _, p := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		_, err := tc.compile(ctx, cPreamble(d)+lineMark(d, p.at.at.Line)+p.text+"\n")
		if err == nil {
			continue
		}
		said := firstLine(err.Error())
		if c := complaints(err); len(c) > 0 {
			said = c[0].text
		}
		do := p.do
		if m := meant.FindStringSubmatch(said); m != nil {
			do = "write " + m[1] + " in place of " + p.at.text
		}
		macro := "#ifndef " + p.at.text + "\n#error\n#endif\n"
		if _, err := tc.compile(ctx, cPreamble(d)+macro); err == nil && strings.HasPrefix(p.variable, "fastc_func_") {
			do = "it is a macro: wrap it in a static inline function in the preamble"
		}
		bad.add(p.at.at, fmt.Sprintf(p.missing, p.at.text)+" ("+said+")", do)
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler failed:\n%w", d.path, all)
	}
	return bad
}

// preambleProblems places what the C compiler said about the preamble.
func preambleProblems(d *declaration, err error) error {
	list := complaints(err)
	if len(list) == 0 {
		return fmt.Errorf("%s: the C compiler failed:\n%w", d.path, err)
	}
	var bad problems
	for _, c := range list {
		at, what := d.preambleAt, "the C compiler says: "+c.text
		if c.file == filepath.Base(d.path) {
			at.Line, at.Column = c.line, 1
		} else {
			what += fmt.Sprintf(" (%s:%d)", c.file, c.line)
		}
		bad.add(at, what, "mend the preamble, or its #cgo lines")
	}
	return bad
}

// answers reads the types of the probes' variables.
func answers(data *dwarf.Data, list []probe) (*cFacts, error) {
	var bad problems
	facts := &cFacts{funcs: map[string]dwarf.Type{}, types: map[string]dwarf.Type{}, odd: map[dwarf.Type]oddity{}, consts: map[string]dwarf.Type{}}
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
			return facts, bad.err()
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
			bad.add(p.at.at, p.at.text+" has a type in C that fastcgen cannot read ("+err.Error()+")", wrapIt)
			continue
		}
		ptr, isPtr := t.(*dwarf.PtrType)
		switch {
		case strings.HasPrefix(variable, "fastc_func_") && isPtr:
			facts.funcs[p.at.text] = ptr.Type
		case strings.HasPrefix(variable, "fastc_const_"):
			facts.consts[p.at.text] = t
		case strings.HasPrefix(variable, "fastc_type_") && isPtr:
			facts.types[p.at.text] = ptr.Type
		}
	}
}

// readDWARF reads the debugging information of an object file.
func readDWARF(name string) (*dwarf.Data, error) {
	if f, err := elf.Open(name); err == nil {
		defer f.Close()
		return f.DWARF()
	}
	if f, err := macho.Open(name); err == nil {
		defer f.Close()
		return f.DWARF()
	}
	return nil, fmt.Errorf("the C compiler writes objects that are neither ELF nor Mach-O: run fastcgen on Linux, a BSD or macOS")
}
