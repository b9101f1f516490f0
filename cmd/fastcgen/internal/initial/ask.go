package initial

import (
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/decl"
	"evenkeel.dev/cmd/fastcgen/internal/reach"
)

// cNames says what the names that Go uses are in C.
type cNames struct {
	functions map[string]bool // and variables, which have an address too
	types     map[string]bool
	unknown   map[string]string // with what the C compiler said
}

// askNames asks the C compiler what names are, as cgo does: each in two lines that only one kind of
// name gets through. The names are cgo's (struct_x, uchar).
func askNames(ctx context.Context, tc *cc.Toolchain, preamble string, names []string) (*cNames, error) {
	n := &cNames{functions: map[string]bool{}, types: map[string]bool{}, unknown: map[string]string{}}
	if _, err := tc.Compile(ctx, preamble, "-fsyntax-only"); err != nil {
		return nil, err
	}
	b := &strings.Builder{}
	b.WriteString(preamble)
	for i, name := range names {
		c := (&decl.Type{CName: name}).CText()
		fmt.Fprintf(b, "#line %d \"known\"\nvoid fastc_known_%[1]d(void) { __typeof__(%s) *fastc_p; }\n", i+1, c)
		fmt.Fprintf(b, "#line %d \"type\"\nvoid fastc_type_%[1]d(void) { %s *fastc_p; }\n", i+1, c)
		fmt.Fprintf(b, "#line %d \"function\"\nvoid fastc_function_%[1]d(void) { __typeof__(&(%s)) fastc_p; }\n", i+1,
			c)
	}
	flags := []string{"-fsyntax-only"}
	if out, err := tc.Run(ctx, "", append(slices.Clone(tc.CC), "--version")...); err == nil &&
		strings.Contains(out, "clang") {
		flags = append(flags, "-ferror-limit=0")
	}
	said := map[string]map[int]string{"known": {}, "type": {}, "function": {}}
	if _, err := tc.Compile(ctx, b.String(), flags...); err != nil {
		for _, c := range cc.Complaints(err) {
			if lines := said[c.File]; lines != nil && lines[c.Line] == "" {
				lines[c.Line] = c.Text
			}
		}
	}
	for i, name := range names {
		unknown, notType := said["known"][i+1], said["type"][i+1] != ""
		switch {
		case unknown != "":
			n.unknown[name] = unknown
		case !notType:
			n.types[name] = true
		case said["function"][i+1] == "":
			n.functions[name] = true
		}
	}
	return n, nil
}

// ownOfPreamble is what a preamble defines, and a copy of it would define again.
type ownOfPreamble struct {
	global    []string            // functions and variables that other files see
	variables map[string][]string // static ones that can change, by the functions that get to them
}

// askPreamble compiles a preamble with what the calls need of it and looks into the object.
func askPreamble(ctx context.Context, tc *cc.Toolchain, preamble string, functions []string) (*ownOfPreamble, error) {
	b := &strings.Builder{}
	b.WriteString(preamble)
	for i, name := range functions {
		fmt.Fprintf(b, "void *const fastc_keep_%d = (void *)%s;\n", i, name)
	}
	object, err := tc.Compile(ctx, b.String(), "-O0", "-g0")
	if err != nil {
		return nil, err
	}
	own, changing := &ownOfPreamble{variables: map[string][]string{}}, map[string]bool{}
	f, err := elf.Open(object)
	if err != nil {
		return own, nil // Mach-O: the linker tells
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return own, nil
	}
	for _, s := range symbols {
		kind, bind := elf.ST_TYPE(s.Info), elf.ST_BIND(s.Info)
		if kind != elf.STT_FUNC && kind != elf.STT_OBJECT && kind != elf.STT_COMMON || s.Section == elf.SHN_UNDEF ||
			strings.HasPrefix(s.Name, "fastc_keep_") {
			continue
		}
		switch {
		case bind == elf.STB_GLOBAL:
			own.global = append(own.global, s.Name)
		case kind != elf.STT_FUNC && bind == elf.STB_LOCAL && changeable(f, s):
			changing[s.Name] = true
		}
	}
	slices.Sort(own.global)
	if len(changing) == 0 {
		return own, nil
	}
	text, err := tc.Assembly(ctx, b.String(), "-x", "c", "-")
	if err != nil {
		return nil, err
	}
	graph := &reach.Graph{}
	graph.Add(text)
	for _, name := range functions {
		for _, found := range graph.Names(name) {
			if changing[found] {
				variable, _, _ := strings.Cut(found, ".") // counter.0 is one within a function
				own.variables[name] = append(own.variables[name], variable)
			}
		}
	}
	return own, nil
}

// changeable reports whether a variable's section can be written to by the program.
func changeable(f *elf.File, s elf.Symbol) bool {
	if int(s.Section) >= len(f.Sections) {
		return true
	}
	section := f.Sections[s.Section]
	return section.Flags&elf.SHF_WRITE != 0 && !strings.HasPrefix(section.Name, ".data.rel.ro")
}

// preamblesOf returns the preambles of files as one, each text once, for C and for the declaration
// file.
func preamblesOf(files []*cgoFile) (c, text string) {
	var forC, forGo strings.Builder
	seen := map[string]bool{}
	for _, f := range files {
		for _, p := range f.preambles {
			body := strings.Trim(p.text, "\n")
			if seen[body] {
				continue
			}
			seen[body] = true
			fmt.Fprintf(&forC, "#line %d %s\n%s\n", p.at.Line, strconv.Quote(filepath.Base(f.path)), p.text)
			forGo.WriteString(strings.TrimRight(body, " \t\n") + "\n")
		}
	}
	return forC.String(), collapsed(forGo.String())
}

// collapsed leaves one of several empty lines, which #cgo lines leave behind.
func collapsed(text string) string {
	var lines []string
	for l := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if strings.TrimSpace(l) != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, strings.TrimRight(l, " \t"))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// preamblesFail places what the C compiler said about the preambles in the files that they stand
// in.
func preamblesFail(files []*cgoFile, err error) error {
	var bad decl.Problems
	for _, c := range cc.Complaints(err) {
		at, what := files[0].at(), "the C compiler says: "+c.Text
		found := false
		for _, f := range files {
			if c.File == filepath.Base(f.path) {
				at.Filename, at.Line, at.Column, found = f.path, c.Line, 1, true
			}
		}
		if !found {
			what += fmt.Sprintf(" (%s:%d)", c.File, c.Line)
		}
		do := "mend the preamble, or the package's #cgo lines"
		if len(files) > 1 {
			do += "; preambles that do not go together need a -init each"
		}
		bad.Add(at, what, do)
	}
	if len(bad) == 0 {
		return fmt.Errorf("%s: the C compiler failed:\n%w", files[0].path, err)
	}
	return bad
}

// sortedNames returns the names of a map in order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
