package reach

import (
	"strings"
)

// machineOf returns the reader for the instructions in text, as compilers write them without
// optimization: variables are in the frame, and each expression loads what it needs. What a reader
// does not know it takes for an instruction that overwrites its target.
func machineOf(text string) func(b *body, op string, operands []string) {
	switch {
	case strings.Contains(text, "%rbp") || strings.Contains(text, "%rsp"):
		return amd64
	case strings.Contains(text, "x29") || strings.Contains(text, "[sp"):
		return arm64
	}
	return nil
}

// place is an operand in memory: at offset from what a register holds, or from a value.
type place struct {
	base   string
	value  value
	offset int64
	direct bool // what stands there is the value itself: an entry of the global offset table
}

// holds returns the value that stands at p.
func (b *body) holds(p place) value {
	v := p.value
	if from, ok := frameOf[p.base]; ok {
		return value{valLocal, b.name, from + p.offset}
	}
	if p.base != "" {
		v = b.read(p.base, 8)
	}
	switch {
	case p.direct || v.kind == valElement:
		return v
	case v.kind == valAddress:
		return value{valContent, v.name, v.at + p.offset}
	}
	return b.g.through(v, p.offset)
}

// address returns where p is.
func (b *body) address(p place) value {
	v := p.value
	if _, ok := frameOf[p.base]; ok {
		b.node.addressed = true
		return value{}
	}
	if p.base != "" {
		v = b.read(p.base, 8)
	}
	switch v.kind {
	case valAddress:
		return value{valAddress, v.name, v.at + p.offset}
	case valElement:
		return v
	}
	return value{}
}

// store puts what a register holds into a place.
func (b *body) store(place value, register string) {
	if registerWidth[register] == 8 {
		b.g.hold(place, b.read(registerOf[register], 8))
	} else {
		b.read(registerOf[register], registerWidth[register])
	}
}

// sum returns what two registers make together: an element of a variable when one holds its address.
func (b *body) sum(one, other string) value {
	for _, r := range []string{one, other} {
		if v := b.read(registerOf[r], 8); v.kind == valAddress || v.kind == valElement {
			return value{valElement, v.name, v.at}
		}
	}
	return value{}
}

// amd64 reads an instruction in the way of writing that gcc and clang use by default. The last operand
// is the target. These are told apart:
//
//	lea PLACE, R             R holds the address of a place
//	mov PLACE, R             R holds what stands there, if it is 8 bytes wide
//	mov R, PLACE             the place may hold what R holds
//	mov $SYMBOL, PLACE       the place may hold an address
//	add $N, R; add R, R      an address moves on; to an element that is computed
//	call NAME, jmp NAME      a call; jmp is one when compilers leave a function at its end
//	call *R, call *PLACE     a call through a pointer
//	jCC .L                   what the registers hold arrives at a label too
//	ret                      the result is what %rax holds
//
// Of all others only the target counts: it holds nothing known afterwards.
func amd64(b *body, op string, operands []string) {
	last := operands[len(operands)-1]
	first := operands[0]
	target, toRegister := registerOf[last]
	switch {
	case op == "notrack":
		op, rest, _ := strings.Cut(strings.TrimSpace(first), " ")
		amd64(b, op, []string{strings.TrimSpace(rest)})
	case strings.HasPrefix(op, "call") && strings.HasPrefix(first, "*"):
		if r, ok := registerOf[first[1:]]; ok {
			b.callThrough(b.read(r, 8), argumentNumber(r))
		} else {
			b.callThrough(b.holds(b.amd64Place(first[1:])), -1)
		}
	case op[0] == 'j' && strings.HasPrefix(first, ".L"):
		b.jump(first, op == "jmp")
	case op[0] == 'j' || strings.HasPrefix(op, "call"):
		if name, _, ok := symbol(first); ok {
			b.call(name)
		}
	case strings.HasPrefix(op, "cmp"), strings.HasPrefix(op, "test"), strings.HasPrefix(op, "push"), strings.HasPrefix(op, "nop"), op == "leave":
	case op == "ret":
		b.ends()
	case strings.HasPrefix(op, "lea"):
		b.write(target, b.address(b.amd64Place(first)), 8)
	case strings.HasPrefix(op, "mov") && !toRegister:
		to := b.holds(b.amd64Place(last))
		if registerOf[first] != "" {
			b.store(to, first)
		} else if name, offset, ok := symbol(strings.TrimPrefix(first, "$")); ok && first[0] == '$' {
			b.g.point(b.key(name), offset)
			b.g.hold(to, value{valAddress, b.key(name), offset})
		}
	case strings.HasPrefix(op, "mov"):
		b.amd64Move(op, first, target, registerWidth[last])
	case toRegister && isFrame(target):
	case op == "addq" && toRegister && first[0] == '$':
		b.write(target, b.address(place{base: target, offset: number10(first[1:])}), 8)
	case op == "addq" && toRegister && registerOf[first] != "":
		b.write(target, b.sum(first, last), 8)
	case toRegister:
		for _, o := range operands[:len(operands)-1] {
			b.read(registerOf[o], registerWidth[o])
		}
		b.write(target, value{}, registerWidth[last])
	}
}

// amd64Move reads a move into a register.
func (b *body) amd64Move(op, from, target string, width int) {
	source, isRegister := registerOf[from]
	switch name, offset, isSymbol := symbol(strings.TrimPrefix(from, "$")); {
	case isRegister && width == 8 && registerWidth[from] == 8:
		b.write(target, b.read(source, 8), 8)
	case isRegister:
		b.read(source, registerWidth[from])
		b.write(target, value{}, width)
	case from[0] == '$' && isSymbol:
		b.write(target, value{valAddress, b.key(name), offset}, 8)
	case from[0] == '$':
		b.write(target, value{}, anyNumber)
	default:
		v := b.holds(b.amd64Place(from))
		if width != 8 || op != "movq" {
			v = value{}
		}
		b.write(target, v, width)
	}
}

// amd64Place reads an operand in memory.
func (b *body) amd64Place(operand string) place {
	operand, _, got := strings.Cut(operand, "@GOTPCREL")
	displacement, inside, _ := strings.Cut(operand, "(")
	registers := strings.Split(strings.TrimSuffix(inside, ")"), ",")
	for i, r := range registers {
		registers[i] = strings.TrimSpace(r)
	}
	name, offset, isSymbol := symbol(displacement)
	switch {
	case isSymbol && got:
		return place{value: value{valAddress, b.key(name), offset}, direct: true}
	case isSymbol && (registers[0] == "%rip" || registers[0] == ""):
		return place{value: value{valAddress, b.key(name), offset}}
	case isSymbol:
		b.g.point(b.key(name), offset)
		b.node.refers[b.key(name)] = true
		return place{value: value{valElement, b.key(name), offset}}
	case len(registers) > 1:
		return place{value: b.sum(registers[0], registers[1]), offset: number10(displacement)}
	}
	return place{base: registerOf[registers[0]], offset: number10(displacement)}
}

// arm64 reads an instruction; the first operand is the target, but of stores. They are those of amd64 in other words:
// adrp and add take an address in two steps, ldr and str are its moves from and to memory, blr calls through a pointer.
func arm64(b *body, op string, operands []string) {
	first := operands[0]
	target, toRegister := registerOf[first]
	switch {
	case isFrame(target):
	case op == "blr":
		b.callThrough(b.read(target, 8), argumentNumber(target))
	case strings.HasPrefix(operands[len(operands)-1], ".L") && op != "adrp":
		b.jump(operands[len(operands)-1], op == "b")
	case op == "bl" || op == "b":
		if name, _, ok := symbol(first); ok {
			b.call(name)
		}
	case op == "ret":
		b.ends()
	case op == "cmp", op == "tst", op == "br", op == "nop", len(operands) < 2:
	case op == "adrp":
		if name, offset, ok := arm64Symbol(operands[1]); ok {
			b.write(target, value{valAddress, b.key(name), offset}, 8)
		}
	case strings.HasPrefix(op, "ldr") && toRegister:
		v := b.holds(b.arm64Place(operands[1]))
		if registerWidth[first] != 8 || op != "ldr" {
			v = value{}
		}
		b.write(target, v, registerWidth[first])
	case strings.HasPrefix(op, "str"):
		if _, ok := registerOf[first]; ok {
			b.store(b.holds(b.arm64Place(operands[1])), first)
		}
	case op == "add" && len(operands) == 3:
		b.write(target, b.arm64Sum(operands[1], operands[2]), registerWidth[first])
	case op == "mov":
		source, isRegister := registerOf[operands[1]]
		switch {
		case isRegister && source != "sp":
			b.write(target, b.read(source, registerWidth[first]), registerWidth[first])
		case isRegister:
			b.node.addressed = true
			b.write(target, value{}, 8)
		default:
			b.write(target, value{}, anyNumber)
		}
	case toRegister:
		for _, o := range operands[1:] {
			b.read(registerOf[o], registerWidth[o])
		}
		b.write(target, value{}, registerWidth[first])
	}
}

// arm64Symbol reads the part of an address that an instruction holds: :lo12:NAME, or :got:NAME.
func arm64Symbol(s string) (name string, offset int64, ok bool) {
	if strings.HasPrefix(s, ":") {
		s = s[strings.LastIndexByte(s, ':')+1:]
	}
	if _, isRegister := registerOf[s]; isRegister {
		return "", 0, false
	}
	return symbol(s)
}

// arm64Sum returns what an addition makes of addresses.
func (b *body) arm64Sum(one, other string) value {
	if name, offset, ok := arm64Symbol(other); ok {
		return value{valAddress, b.key(name), offset}
	}
	if _, isRegister := registerOf[other]; isRegister {
		return b.sum(one, other)
	}
	return b.address(place{base: registerOf[one], offset: number10(strings.TrimPrefix(other, "#"))})
}

// arm64Place reads an operand in memory.
func (b *body) arm64Place(operand string) place {
	parts := strings.Split(strings.Trim(operand, "[]!"), ",")
	base := registerOf[strings.TrimSpace(parts[0])]
	if len(parts) < 2 {
		return place{base: base}
	}
	second := strings.TrimSpace(parts[1])
	if name, offset, ok := arm64Symbol(second); ok {
		return place{value: value{valAddress, b.key(name), offset}, direct: strings.Contains(second, "got")}
	}
	if _, isRegister := registerOf[second]; isRegister {
		return place{value: b.sum(strings.TrimSpace(parts[0]), second)}
	}
	return place{base: base, offset: number10(strings.TrimPrefix(second, "#"))}
}
