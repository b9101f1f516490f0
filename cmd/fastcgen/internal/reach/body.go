package reach

import (
	"slices"
	"strconv"
	"strings"
)

// assembly reads one file of it into a graph.
type assembly struct {
	g        *callGraph
	unit     int
	function map[string]bool
	labels   map[string]bool
	global   map[string]bool
	common   []string
	machine  func(b *body, op string, operands []string) // nil: of a processor whose instructions are not read
}

// key returns the name of a symbol's node: what is static in one file is another thing in the next.
func (a *assembly) key(name string) string {
	if a.labels[name] && !a.global[name] {
		return name + "#" + strconv.Itoa(a.unit)
	}
	return name
}

// body is a function or variable that is being read.
//
// For a function it is a small machine: registers holds what each register contains, as far as it is known, at the
// instruction that is read next. An instruction that machine.go does not know overwrites its target with
// nothing known, so that ignorance never makes a pointer out of something else. A call overwrites all registers.
//
// At a label two states meet, the one of the line above and the ones of jumps to it: a register holds either, which is
// a place of its own that holds both (either). That is what "n ? quiet : loud" compiles to.
type body struct {
	*assembly
	node *graphNode
	name string

	size int64 // of a variable so far

	registers map[string]value
	jumps     map[string]map[string]value // by labels
	merged    int64                       // count of values that are one of two
	passed    map[int64]int               // the arguments' registers written since the last call, and how wide
	written   map[string]bool             // the registers written so far
}

// jump notes what the registers hold where code goes on at a label; always says that it does not go on
// behind the jump.
func (b *body) jump(to string, always bool) {
	if b.jumps[to] == nil {
		b.jumps[to] = map[string]value{}
	}
	for r, v := range b.registers {
		b.jumps[to][r] = b.either(b.jumps[to][r], v)
	}
	if always {
		clear(b.registers)
	}
}

// arrive adds what the registers hold where a label was jumped to. Jumps back are not seen: what a loop
// needs is in the frame.
func (b *body) arrive(label string) {
	for r, v := range b.jumps[label] {
		b.registers[r] = b.either(b.registers[r], v)
	}
}

// either returns a value that is one or the other.
func (b *body) either(v, w value) value {
	switch {
	case v.kind == valUnknown || v == w:
		return w
	case w.kind == valUnknown:
		return v
	}
	b.merged--
	both := value{valLocal, b.name, b.merged << 33}
	b.g.hold(both, v)
	b.g.hold(both, w)
	return both
}

// instruction reads one, of a processor that is not known as a list of the symbols in it.
func (b *body) instruction(op, rest string) {
	if b.machine != nil {
		b.machine(b, op, operands(rest))
		return
	}
	switch {
	case slices.Contains([]string{"blr", "br", "bctr", "bctrl", "jalr"}, op):
		b.callThrough(value{}, -1)
	case op == "bl" || op == "b" || op == "tail" || op == "call":
		name, _, _ := strings.Cut(rest, "@")
		if name, _, ok := symbol(name); ok && !strings.HasPrefix(name, ".L") {
			b.call(name)
		}
	default:
		for item := range strings.SplitSeq(rest, ",") {
			if name, offset, ok := symbol(strings.TrimSpace(item)); ok && b.labels[name] {
				b.g.point(b.key(name), offset)
				b.node.refers[b.key(name)] = true
			}
		}
	}
}

// operands splits what stands behind an instruction at commas outside of brackets.
func operands(rest string) []string {
	var list []string
	depth, start := 0, 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				list = append(list, strings.TrimSpace(rest[start:i]))
				start = i + 1
			}
		}
	}
	return append(list, strings.TrimSpace(rest[start:]))
}

// symbol reads NAME, NAME+8 or 8+NAME, as compilers write an address.
func symbol(s string) (name string, offset int64, ok bool) {
	s, _, _ = strings.Cut(s, "@")
	left, right, sum := strings.Cut(s, "+")
	if !sum {
		if i := strings.LastIndexByte(s, '-'); i > 0 {
			left, right = s[:i], s[i:]
		}
	}
	if left != "" && strings.ContainsRune("0123456789-", rune(left[0])) {
		left, right = right, left
	}
	left = strings.Trim(left, ` "`)
	if left == "" || strings.ContainsRune("0123456789-$%#*", rune(left[0])) {
		return "", 0, false
	}
	return left, number10(right), true
}

func number10(s string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	return n
}

// read returns what a register holds. One of the arguments' that nothing wrote to is an argument.
func (b *body) read(register string, width int) value {
	if n := argumentNumber(register); n >= 0 && !b.written[register] {
		if b.node.takes == nil {
			b.node.takes = map[int64]int{}
		}
		if _, known := b.node.takes[n]; !known {
			b.node.takes[n] = width
		}
		return value{valArgument, b.name, n}
	}
	return b.registers[register]
}

// write puts v into a register; width is 12 for a number that is one of 4 and of 8 bytes.
func (b *body) write(register string, v value, width int) {
	b.registers[register], b.written[register] = v, true
	if n := argumentNumber(register); n >= 0 {
		b.passed[n] = width
	}
	if v.kind == valAddress {
		b.g.point(v.name, v.at)
		b.node.refers[v.name] = true
	}
}

// call notes a call of a function by its name.
func (b *body) call(name string) {
	key := b.key(name)
	b.node.calls[key] = true
	b.pass(key)
	b.done(key)
}

// callThrough notes a call through a pointer, which stands in an argument's register perhaps.
func (b *body) callThrough(v value, number int64) {
	s := site{from: v, passes: map[int64]int{}}
	for n, width := range b.passed {
		if n != number {
			s.passes[n] = width
		}
	}
	if b.machine == nil {
		s.passes = nil
	}
	b.node.sites = append(b.node.sites, s)
	b.pass("*")
	b.done("*")
}

// pass notes what a function gets.
func (b *body) pass(key string) {
	for n := range b.passed {
		for register, v := range b.registers {
			if argumentNumber(register) == n {
				b.g.hold(value{valArgument, key, n}, v)
				if v.kind == valAddress {
					b.node.hands = append(b.node.hands, hand{key, v.name})
				}
			}
		}
	}
}

// done forgets what a call overwrites, and notes what it gives.
func (b *body) done(key string) {
	clear(b.registers)
	clear(b.passed)
	for _, r := range resultRegisters {
		b.registers[r], b.written[r] = value{valResult, key, 0}, true
	}
}

// ends notes what the function gives.
func (b *body) ends() {
	for _, r := range resultRegisters {
		b.g.hold(value{valResult, b.name, 0}, b.registers[r])
	}
}
