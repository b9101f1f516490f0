package main

import (
	"slices"
	"strconv"
	"strings"
)

// value is what a register, an argument or a place in memory holds, as far as assembly tells.
// Places in memory and arguments are named by the value that is read from them.
type value struct {
	kind valueKind
	name string // of a symbol, or of the function that has the argument or the local variable
	at   int64  // an offset, or the number of an argument
}

type valueKind int

const (
	valUnknown  valueKind = iota
	valAddress            // of a function or variable, at bytes on
	valContent            // of a variable, at bytes on
	valElement            // of a variable, at an offset that is computed
	valField              // of the struct that a pointer points to, at bytes on; the name says where the pointer is from
	valArgument           // of a function; the name * stands for all that are called through pointers
	valResult             // of a function, likewise
	valLocal              // variable of a function, at that place of its frame
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

// add reads the assembly of one compiled file.
func (g *callGraph) add(text string) {
	if g.nodes == nil {
		g.nodes, g.holds, g.inner = map[string]*graphNode{}, map[value]map[value]bool{}, map[string]map[int64]bool{}
		g.pointers = map[value]string{}
	}
	g.units++
	a := &assembly{g: g, unit: g.units, function: map[string]bool{}, labels: map[string]bool{}, global: map[string]bool{}, machine: machineOf(text)}
	for l := range strings.SplitSeq(text, "\n") {
		a.declare(statement(l))
	}
	for _, name := range a.common {
		a.body(name)
	}
	var at *body
	for l := range strings.SplitSeq(text, "\n") {
		word, rest := statement(l)
		if name, ok := label(word); ok {
			if at == nil || !at.node.function || !strings.HasPrefix(name, ".L") {
				at = a.body(name)
			}
			at.arrive(name)
			continue
		}
		switch {
		case word == "" || at == nil && word[0] != '.':
		case word == ".set":
			a.alias(rest)
		case word == ".section" || word == ".data" || word == ".text" || word == ".bss":
			at = nil
		case at != nil && word[0] == '.' && !at.node.function:
			at.data(word, rest)
		case at != nil && word[0] != '.' && at.node.function:
			at.instruction(word, rest)
		}
	}
}

// declare notes what a line says about names.
func (a *assembly) declare(word, rest string) {
	first, kind, _ := strings.Cut(rest, ",")
	first = strings.TrimSpace(first)
	switch word {
	case ".globl", ".global", ".weak":
		a.global[first] = true
	case ".local":
		a.labels[first] = true
	case ".comm", ".lcomm": // a variable without contents
		a.common = append(a.common, first)
	case ".type":
		if strings.HasSuffix(kind, "function") {
			a.function[first] = true
		}
	default:
		if name, ok := label(word); ok {
			a.labels[name] = true
		}
	}
}

// key returns the name of a symbol's node: what is static in one file is another thing in the next.
func (a *assembly) key(name string) string {
	if a.labels[name] && !a.global[name] {
		return name + "#" + strconv.Itoa(a.unit)
	}
	return name
}

// alias notes a second name of a function.
func (a *assembly) alias(rest string) {
	name, of, _ := strings.Cut(rest, ",")
	if of = strings.TrimSpace(of); a.function[name] || a.function[of] {
		n := a.g.node(a.key(name), name)
		n.function, n.calls[a.key(of)] = true, true
	}
}

// body is a function or variable that is being read.
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

func (a *assembly) body(name string) *body {
	b := &body{assembly: a, node: a.g.node(a.key(name), name), name: a.key(name), registers: map[string]value{}, jumps: map[string]map[string]value{}, passed: map[int64]int{}, written: map[string]bool{}}
	b.node.function = a.function[name]
	return b
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

// dataSize is how many bytes a number takes in data.
var dataSize = map[string]int64{
	".quad": 8, ".xword": 8, ".8byte": 8, ".dword": 8, ".long": 4, ".4byte": 4, ".int": 4,
	".value": 2, ".short": 2, ".hword": 2, ".2byte": 2, ".byte": 1, ".1byte": 1,
}

// data reads a directive that fills a variable.
func (b *body) data(word, rest string) {
	size := dataSize[word]
	if word == ".word" {
		size = 4 // on all 64-bit processors but amd64, whose compilers write .value
	}
	switch {
	case size > 0:
		for item := range strings.SplitSeq(rest, ",") {
			if name, offset, ok := symbol(strings.TrimSpace(item)); ok {
				key := b.key(name)
				b.node.holds[b.size] = value{valAddress, key, offset}
				b.g.point(key, offset)
			} else if strings.Trim(item, " 0") != "" {
				b.node.holds[b.size] = value{}
			}
			b.size += size
		}
	case word == ".zero" || word == ".skip" || word == ".space":
		n, _, _ := strings.Cut(rest, ",")
		b.size += number10(n)
	case strings.HasPrefix(word, ".str") || strings.HasPrefix(word, ".asci"):
		text, _ := strconv.Unquote(rest) // one with other escapes counts for nothing: its tables are seen less sharply
		b.size += int64(len(text))
		if word != ".ascii" {
			b.size++
		}
	}
	b.node.size = b.size
}

func number10(s string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	return n
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

// point notes that code or data takes the address of a place within a variable, or of a function.
func (g *callGraph) point(key string, offset int64) {
	if g.inner[key] == nil {
		g.inner[key] = map[int64]bool{}
	}
	g.inner[key][offset] = true
}

// hold notes that a place may hold v.
func (g *callGraph) hold(place, v value) {
	if place == v || place.kind == valUnknown || v.kind == valUnknown {
		return
	}
	if g.holds[place] == nil {
		g.holds[place] = map[value]bool{}
	}
	g.holds[place][v] = true
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

// through returns what stands at an offset from a pointer.
func (g *callGraph) through(pointer value, offset int64) value {
	name, known := g.pointers[pointer]
	if !known {
		g.origins = append(g.origins, pointer)
		name = strconv.Itoa(len(g.origins) - 1)
		g.pointers[pointer] = name
	}
	return value{valField, name, offset}
}

// origin returns the pointer to the struct that v is a field of.
func (g *callGraph) origin(v value) value {
	n, _ := strconv.Atoi(v.name)
	return g.origins[n]
}
