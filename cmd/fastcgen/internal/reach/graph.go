package reach

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// graph is the call graph of several files of assembly.
type graph struct {
	nodes map[string]*node
	taken map[string]bool // names whose address code or data holds
	weak  map[string]bool
	units int

	found func(symbol string) (kind, bool)
}

type node struct {
	calls    map[string]bool // keys of nodes
	indirect bool
}

type unit struct {
	*graph
	function, global map[string]bool
}

func (g *graph) add(text string) {
	g.units++
	u := &unit{g, map[string]bool{}, map[string]bool{}}
	for l := range strings.Lines(text) {
		u.declare(statement(l))
	}
	var at *node
	for l := range strings.Lines(text) {
		word, rest := statement(l)
		name, isLabel := strings.CutSuffix(word, ":")
		switch {
		case word == "":
		case isLabel:
			if u.function[name] {
				at = u.node(name)
			}
		case word == ".set":
			name, of, _ := strings.Cut(rest, ",")
			if of = strings.TrimSpace(of); u.function[name] || u.function[of] {
				u.node(name).calls[u.key(of)] = true
			}
		case slices.Contains(addresses, word):
			u.take(rest)
		case word[0] != '.' && at != nil:
			u.instruction(at, word, rest)
		}
	}
}

// addresses are the directives that put an address into a variable.
var addresses = []string{".quad", ".xword", ".8byte", ".dword", ".long", ".word"}

func (u *unit) declare(word, rest string) {
	name, kind, _ := strings.Cut(rest, ",")
	switch word {
	case ".globl", ".global":
		u.global[name] = true
	case ".weak":
		u.global[name], u.weak[name] = true, true
	case ".type":
		u.function[name] = strings.HasSuffix(kind, "function")
	}
}

// key tells static functions of one name in two files apart.
func (u *unit) key(name string) string {
	if u.function[name] && !u.global[name] {
		return fmt.Sprint(name, "#", u.units)
	}
	return name
}

func (u *unit) node(name string) *node {
	n := u.nodes[u.key(name)]
	if n == nil {
		n = &node{calls: map[string]bool{}}
		u.nodes[u.key(name)] = n
	}
	return n
}

// The instructions that call on amd64, arm64, ppc64le and riscv64: by name, through the pointer in
// an operand, and through the count register of ppc64le. Its blr without an operand returns.
var (
	byName    = []string{"call", "callq", "jmp", "jmpq", "bl", "b", "tail", "j", "jal"}
	byOperand = []string{"blr", "br", "jalr", "jr"}
	byCount   = []string{"bctrl", "bctr"}
)

func (u *unit) instruction(at *node, op, rest string) {
	switch {
	case slices.Contains(byCount, op), slices.Contains(byOperand, op) && rest != "" && rest != "ra",
		slices.Contains(byName, op) && strings.HasPrefix(rest, "*"):
		at.indirect = true
	case slices.Contains(byName, op):
		if names := symbols(rest); len(names) > 0 && !strings.HasPrefix(names[0], ".L") {
			at.calls[u.key(names[0])] = true
		}
		return
	}
	u.take(rest)
}

// take notes the names in operands, and registers, which reach skips.
func (u *unit) take(operands string) {
	for _, name := range symbols(operands) {
		u.taken[u.key(name)] = true
	}
}

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

func statement(l string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.ReplaceAll(strings.TrimSpace(l), "\t", " "), " ")
	rest, _, _ = strings.Cut(rest, " #")
	rest, _, _ = strings.Cut(rest, "//")
	return word, strings.TrimSpace(rest)
}

// reach returns the undefined symbols that a function reaches by calls by name, and those to which
// only a pointer may lead, the nearest first.
//
// A call through a pointer may lead to every function whose address is taken. So may a function of
// the C library that calls its argument, such as qsort.
func (g *graph) reach(from string) (byName, byPointer []string) {
	seen, indirect := map[string]bool{}, false
	walk := func(queue []string) (undefined []string) {
		for ; len(queue) > 0; queue = queue[1:] {
			key := queue[0]
			if seen[key] {
				continue
			}
			seen[key] = true
			n := g.nodes[key]
			if n == nil {
				undefined = append(undefined, key)
				indirect = indirect || slices.Contains(callers, libcName(key))
				continue
			}
			indirect = indirect || n.indirect
			queue = append(queue, sorted(n.calls)...)
		}
		return undefined
	}
	if static := from + "#1"; g.nodes[static] != nil { // the preamble is the first file
		from = static
	}
	byName = walk([]string{from})
	if !indirect {
		return byName, nil
	}
	return byName, walk(slices.DeleteFunc(sorted(g.taken), func(key string) bool {
		k, ok := g.found(key)
		return g.nodes[key] == nil && (!ok || k == library)
	}))
}

// sorted makes the order the same in each run.
func sorted(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
