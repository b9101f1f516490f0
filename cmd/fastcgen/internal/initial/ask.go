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
)

type cNames struct {
	functions map[string]bool // and variables, which have an address too
	types     map[string]bool
	unknown   map[string]string // with what the C compiler said
}

// askNames asks the C compiler what names are, by lines that only one kind of name gets through.
// The names are cgo's (struct_x, uchar).
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

// askPreamble returns what a preamble defines for other files, and the static variables of the
// functions that Go calls. A copy of the preamble would define them again.
func askPreamble(
	ctx context.Context, tc *cc.Toolchain, preamble string, functions []string,
) (global, state []string, err error) {
	b := &strings.Builder{}
	b.WriteString(preamble)
	for i, name := range functions {
		fmt.Fprintf(b, "void *const fastc_keep_%d = (void *)%s;\n", i, name)
	}
	object, err := tc.Compile(ctx, b.String(), "-O0", "-g0")
	if err != nil {
		return nil, nil, err
	}
	f, err := elf.Open(object)
	if err != nil {
		return nil, nil, nil // Mach-O: the linker tells
	}
	defer f.Close()
	symbols, _ := f.Symbols()
	for _, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		isData := kind == elf.STT_OBJECT || kind == elf.STT_COMMON
		switch {
		case kind != elf.STT_FUNC && !isData, s.Section == elf.SHN_UNDEF, strings.HasPrefix(s.Name, "fastc_keep_"):
		case elf.ST_BIND(s.Info) == elf.STB_GLOBAL:
			global = append(global, s.Name)
		case isData && int(s.Section) < len(f.Sections) && f.Sections[s.Section].Flags&elf.SHF_WRITE != 0 &&
			!strings.HasPrefix(f.Sections[s.Section].Name, ".data.rel.ro"):
			name, _, _ := strings.Cut(s.Name, ".") // counter.0 is one within a function
			state = append(state, name)
		}
	}
	slices.Sort(global)
	slices.Sort(state)
	return global, state, nil
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

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
