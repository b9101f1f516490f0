package reach

import (
	"strconv"
	"strings"
)

// Statement cuts a line of assembly into its first word and the rest, without comments.
func Statement(l string) (word, rest string) {
	l = strings.TrimSpace(l)
	word, rest, _ = strings.Cut(strings.ReplaceAll(l, "\t", " "), " ")
	if !strings.HasPrefix(word, ".s") && !strings.HasPrefix(word, ".asci") { // whose strings may hold the marks
		rest, _, _ = strings.Cut(rest, " #")
		rest, _, _ = strings.Cut(rest, "//")
	}
	return word, strings.TrimSpace(rest)
}

// Label returns the name that a line gives to what follows.
func Label(word string) (string, bool) {
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
		a.declare(Statement(l))
	}
	for _, name := range a.common {
		a.body(name)
	}
	var at *body
	for l := range strings.SplitSeq(text, "\n") {
		word, rest := Statement(l)
		if name, ok := Label(word); ok {
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
		if name, ok := Label(word); ok {
			a.labels[name] = true
		}
	}
}

// alias notes a second name of a function.
func (a *assembly) alias(rest string) {
	name, of, _ := strings.Cut(rest, ",")
	if of = strings.TrimSpace(of); a.function[name] || a.function[of] {
		n := a.g.node(a.key(name), name)
		n.function, n.calls[a.key(of)] = true, true
	}
}

func (a *assembly) body(name string) *body {
	b := &body{assembly: a, node: a.g.node(a.key(name), name), name: a.key(name), registers: map[string]value{}, jumps: map[string]map[string]value{}, passed: map[int64]int{}, written: map[string]bool{}}
	b.node.function = a.function[name]
	return b
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
