package reach

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Graph holds what functions and variables refer to, as the assembly of several compiled files says
// it.
type Graph struct {
	nodes map[string]*node // by key
	taken map[string]bool  // keys of what may be called through a pointer: functions whose address is taken
	weak  map[string]bool  // names that the linker may leave undefined: then the code does without them
	units int              // files read so far

	noteworthy func(symbol string) bool // functions outside of the files whose address counts; nil: none
}

// node is a function or a variable.
type node struct {
	name     string // C's; the key of a static one has the number of its file too
	function bool
	calls    map[string]bool // keys, by name
	refers   map[string]bool // keys of that whose address it holds or takes
	indirect bool            // it calls through a pointer
}

// unit is one file of assembly on its way into a graph.
type unit struct {
	*Graph
	number   string
	function map[string]bool // by names
	defined  map[string]bool
	global   map[string]bool
}

// Add reads the assembly of one compiled file.
func (g *Graph) Add(text string) {
	if g.nodes == nil {
		g.nodes = map[string]*node{}
	}
	if g.taken == nil {
		g.taken = map[string]bool{}
	}
	if g.weak == nil {
		g.weak = map[string]bool{}
	}
	g.units++
	u := &unit{g, strconv.Itoa(g.units), map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for l := range strings.SplitSeq(text, "\n") {
		u.declare(statement(l))
	}
	var at *node
	for l := range strings.SplitSeq(text, "\n") {
		word, rest := statement(l)
		if name, ok := label(word); ok {
			local := strings.HasPrefix(name, ".L") || '0' <= name[0] && name[0] <= '9' // a place within a function
			if at == nil || !at.function || !local {
				at = u.node(name)
			}
			continue
		}
		switch {
		case word == "":
		case word == ".set":
			name, of, _ := strings.Cut(rest, ",")
			if of = strings.TrimSpace(of); u.function[name] || u.function[of] {
				u.node(name).calls[u.key(of)] = true
			}
		case word == ".section" || word == ".data" || word == ".text" || word == ".bss":
			at = nil
		case at == nil:
		case !at.function && slices.Contains(addresses, word):
			u.refer(at, rest, true)
		case at.function && word[0] != '.':
			u.instruction(at, word, rest)
		}
	}
}

// addresses are the directives that put an address into a variable.
var addresses = []string{".quad", ".xword", ".8byte", ".dword", ".long", ".word"}

// declare notes what a line says about names.
func (u *unit) declare(word, rest string) {
	first, kind, _ := strings.Cut(rest, ",")
	first = strings.TrimSpace(first)
	switch word {
	case ".globl", ".global":
		u.global[first] = true
	case ".weak":
		u.global[first], u.weak[first] = true, true
	case ".local", ".comm", ".lcomm":
		u.defined[first] = true
	case ".type":
		if strings.HasSuffix(kind, "function") {
			u.function[first] = true
		}
	case ".set":
		u.defined[first] = true
	default:
		if name, ok := label(word); ok {
			u.defined[name] = true
		}
	}
}

// key returns the name of a symbol's node: what is static in one file is another thing in the next.
func (u *unit) key(name string) string {
	if u.defined[name] && !u.global[name] {
		return name + "#" + u.number
	}
	return name
}

func (u *unit) node(name string) *node {
	key := u.key(name)
	n := u.nodes[key]
	if n == nil {
		n = &node{name: name, calls: map[string]bool{}, refers: map[string]bool{}}
		u.nodes[key] = n
	}
	n.function = n.function || u.function[name]
	return n
}

// The instructions that call, of amd64, arm64, ppc64le and riscv64: by name, through the pointer in
// an operand, and through the count register of ppc64le, where blr without an operand returns.
var (
	byName    = []string{"call", "callq", "jmp", "jmpq", "bl", "b", "tail", "j", "jal"}
	byOperand = []string{"blr", "br", "jalr", "jr"}
	byCount   = []string{"bctrl", "bctr"}
)

// instruction reads one.
func (u *unit) instruction(at *node, op, rest string) {
	switch {
	case slices.Contains(byCount, op), slices.Contains(byOperand, op) && rest != "" && rest != "ra",
		slices.Contains(byName, op) && strings.HasPrefix(rest, "*"):
		at.indirect = true
		u.refer(at, rest, false)
	case slices.Contains(byName, op):
		if names := symbols(rest); len(names) > 0 && !strings.HasPrefix(names[0], ".L") {
			at.calls[u.key(names[0])] = true
		}
	default:
		u.refer(at, rest, false)
	}
}

// refer notes the symbols in operands. Operands have registers too, and marks of the assembler. So
// a name counts where it is defined here, or may be a function that is looked for. Data has only
// symbols.
func (u *unit) refer(at *node, operands string, data bool) {
	for _, name := range symbols(operands) {
		if u.defined[name] || data || u.noteworthy != nil && u.noteworthy(name) {
			key := u.key(name)
			at.refers[key] = true
			if !u.defined[name] || u.function[name] {
				u.taken[key] = true
			}
		}
	}
}

// symbols returns what may be names in operands, without the relocation behind an @.
func symbols(operands string) []string {
	var names []string
	for part := range strings.FieldsFuncSeq(operands, func(r rune) bool {
		return !(r == '_' || r == '.' || r == '$' || r == '@' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' ||
			'A' <= r && r <= 'Z')
	}) {
		part, _, _ = strings.Cut(strings.TrimPrefix(part, "$"), "@")
		if part != "" && (part[0] < '0' || part[0] > '9') {
			names = append(names, part)
		}
	}
	return names
}

// statement cuts a line of assembly into its first word and the rest, without comments.
func statement(l string) (word, rest string) {
	l = strings.TrimSpace(l)
	word, rest, _ = strings.Cut(strings.ReplaceAll(l, "\t", " "), " ")
	if !strings.HasPrefix(word, ".s") && !strings.HasPrefix(word, ".asci") { // whose strings may hold the marks
		rest, _, _ = strings.Cut(rest, " #")
		rest, _, _ = strings.Cut(rest, "//")
	}
	return word, strings.TrimSpace(rest)
}

// label returns the name that a line gives to what follows.
func label(word string) (string, bool) {
	name, ok := strings.CutSuffix(word, ":")
	return strings.Trim(name, `"`), ok && name != "" && !strings.ContainsAny(name, "/#")
}

// root returns the key of what a file of Go calls: a static function of the preamble, which is the
// first file, or a global one.
func (g *Graph) root(name string) string {
	if key := name + "#1"; g.nodes[key] != nil {
		return key
	}
	return name
}

// sorted makes what is found the same in each run.
func sorted(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
