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

	found func(symbol string) (Kind, bool)
}

type node struct {
	name     string // its key also has the file's number if it is static
	calls    map[string]bool
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
		n = &node{name: name, calls: map[string]bool{}}
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

type step struct {
	key     string
	from    *step
	pointer bool
	sure    bool // no step up to here is by a pointer
}

// reach returns the ways from a function to the undefined symbols that it reaches, the nearest
// first.
//
// All calls by name come first. If a function on the way calls through a pointer, that may lead to
// every function whose address is taken. A function of the C library that calls its argument, such
// as qsort, counts as a call through a pointer.
func (g *graph) reach(from string) (undefined []*step) {
	seen := map[string]bool{}
	var queue []*step
	push := func(key string, s *step, pointer bool) {
		if !seen[key] {
			seen[key] = true
			queue = append(queue, &step{key, s, pointer, !pointer && (s == nil || s.sure)})
		}
	}
	if static := from + "#1"; g.nodes[static] != nil { // the preamble is the first file
		from = static
	}
	push(from, nil, false)
	var calling *step
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if n := g.nodes[s.key]; n == nil {
			undefined = append(undefined, s)
			if calling == nil && slices.Contains(callers, libcName(s.key)) {
				calling = s.from
			}
		} else {
			for _, key := range sorted(n.calls) {
				push(key, s, false)
			}
			if n.indirect && calling == nil {
				calling = s
			}
		}
		if len(queue) > 0 || calling == nil {
			continue
		}
		for _, key := range sorted(g.taken) {
			if k, ok := g.found(key); g.nodes[key] != nil || ok && k != Library {
				push(key, calling, true)
			}
		}
	}
	return undefined
}

// way writes one: -> for a call, ~> for a call through a pointer that may go there.
func (g *graph) way(s *step) string {
	name := s.key
	if n := g.nodes[s.key]; n != nil {
		name = n.name
	}
	switch {
	case s.from == nil:
		return name
	case s.pointer:
		return g.way(s.from) + " ~> " + name
	}
	return g.way(s.from) + " -> " + name
}

// sorted makes the order the same in each run.
func sorted(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
