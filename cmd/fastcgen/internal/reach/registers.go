package reach

import (
	"strconv"
)

// registerOf gives the parts of a register one name.
var registerOf, registerWidth = func() (map[string]string, map[string]int) {
	names, widths := map[string]string{}, map[string]int{}
	add := func(name, whole string, width int) { names[name], widths[name] = whole, width }
	for _, r := range []string{"a", "b", "c", "d"} {
		add("%r"+r+"x", "%r"+r+"x", 8)
		add("%e"+r+"x", "%r"+r+"x", 4)
		add("%"+r+"x", "%r"+r+"x", 2)
		add("%"+r+"l", "%r"+r+"x", 1)
	}
	for _, r := range []string{"si", "di", "bp", "sp"} {
		add("%r"+r, "%r"+r, 8)
		add("%e"+r, "%r"+r, 4)
		add("%"+r, "%r"+r, 2)
		add("%"+r+"l", "%r"+r, 1)
	}
	for i := 8; i < 16; i++ {
		r := "%r" + strconv.Itoa(i)
		add(r, r, 8)
		add(r+"d", r, 4)
		add(r+"w", r, 2)
		add(r+"b", r, 1)
	}
	for i := range 31 {
		add("x"+strconv.Itoa(i), "x"+strconv.Itoa(i), 8)
		add("w"+strconv.Itoa(i), "x"+strconv.Itoa(i), 4)
	}
	add("sp", "sp", 8)
	return names, widths
}()

// argumentNumber says which argument a register carries, -1 for none.
func argumentNumber(register string) int64 {
	switch register {
	case "%rdi", "x0":
		return 0
	case "%rsi", "x1":
		return 1
	case "%rdx", "x2":
		return 2
	case "%rcx", "x3":
		return 3
	case "%r8", "x4":
		return 4
	case "%r9", "x5":
		return 5
	case "x6":
		return 6
	case "x7":
		return 7
	}
	return -1
}

const maxArguments = 8

// resultRegisters are those that carry what a function gives, on each of the processors.
var resultRegisters = []string{"%rax", "x0"}

// anyNumber is the width of a number in code, which fits arguments of 4 and of 8 bytes.
const anyNumber = 12

// Variables of a function are named by their offset in its frame. Compilers address them from the frame pointer or
// from the stack pointer, and what lies between the two is not known here: a variable is taken to be addressed in one way only.
// frameOf tells apart what is addressed from one end of the frame and from the other.
var frameOf = map[string]int64{"%rbp": 0, "x29": 0, "%rsp": 1 << 32, "sp": 1 << 32}

func isFrame(register string) bool { _, ok := frameOf[register]; return ok }
