package main

import (
	"debug/dwarf"
	"fmt"
	"strings"
)

// cTypeFact is what generated code relies on about a number or bool type of C.
type cTypeFact struct {
	text      string
	base      string // without typedefs; the same as text when only the size is in doubt
	size      int64
	class     class
	plainChar bool
	boolean   bool
}

// factsOf returns what to assert about the number or bool in c, an array of them perhaps.
func (facts *cFacts) factsOf(c dwarf.Type) []cTypeFact {
	for {
		b, _ := facts.bare(c)
		a, isArray := b.(*dwarf.ArrayType)
		if !isArray {
			break
		}
		c = a.Type
	}
	if anonymous(c) {
		return nil
	}
	bare, _ := facts.bare(c)
	f := cTypeFact{text: cText(unqualified(c), ""), base: cText(bare, "")}
	if n, ok := facts.number(c); ok {
		f.size, f.class, f.plainChar = n.size, n.class, n.plainChar
		return []cTypeFact{f}
	}
	if _, ok := bare.(*dwarf.BoolType); ok {
		f.size, f.boolean = bare.Size(), true
		return []cTypeFact{f}
	}
	return nil
}

// condition is what f asserts, in C: an integer constant expression, whatever else compilers fold.
// A number that is cast tells what it was cast to: 0.5 becomes 0 in an integer type, -1 stays
// negative in a signed one, and any number but 0 becomes 1 in _Bool.
func (f cTypeFact) condition() string {
	size := fmt.Sprintf("sizeof(%s) == %d", f.text, f.size)
	switch {
	case f.text == f.base && !strings.HasPrefix(f.text, "enum "):
		return size
	case f.boolean:
		return size + " && (" + f.text + ")2 == 1"
	case f.plainChar:
		return size + " && (" + f.text + ")0.5 == 0"
	case f.class == float:
		return fmt.Sprintf("%s && __builtin_types_compatible_p(%s, %s)", size, f.text, f.base)
	case f.class == unsigned:
		return fmt.Sprintf("%s && (%s)0.5 == 0 && (%s)-1 > 0", size, f.text, f.text)
	}
	return fmt.Sprintf("%s && (%s)0.5 == 0 && (%s)-1 < 0", size, f.text, f.text)
}
