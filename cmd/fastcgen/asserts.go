package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

const stale = "C has changed: run go generate"

// sizes asserts the sizes, kinds and signs of the C numbers that the Go side relies on.
func (g *generator) sizes(b io.Writer) {
	seen := map[string]bool{}
	assert := func(list []cTypeFact) {
		for _, n := range list {
			if !seen[n.text] && !fixed.MatchString(n.text) {
				fmt.Fprintf(b, "_Static_assert(%s, %q);\n", n.condition(), stale)
			}
			seen[n.text] = true
		}
	}
	for _, mr := range g.m.mirrors {
		assert(mr.numbers)
	}
	for _, p := range g.m.plans {
		assert(p.numbers)
	}
}

// fixed matches the types of which the C standard says all that generated code relies on.
var fixed = regexp.MustCompile(`^(u?int(8|16|32|64)_t|(un)?signed char|char|_Bool|bool)$`)

// cAsserts asserts the layout of a mirrored struct. In a trial, one that is packed is told apart from
// one that has changed.
func cAsserts(b *strings.Builder, mr *mirror, trial bool) {
	c := mr.decl.cText()
	if trial {
		fmt.Fprintf(b, "_Static_assert(_Alignof(%s) >= %d, %q);\n", c, mr.align, saidByUs+c+" is packed: C puts it where Go puts nothing of its kind; "+
			"put //fastc:opaque above it to pass pointers to it only")
	}
	fmt.Fprintf(b, "_Static_assert(sizeof(%s) == %d && _Alignof(%s) == %d, %q);\n", c, mr.size, c, mr.align, stale)
	for _, f := range mr.offsets {
		if f.cType == "" {
			fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d, %q);\n", c, f.cPath, f.offset, stale)
			continue
		}
		fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d && __builtin_types_compatible_p(__typeof__(((%s *)0)->%s), %s), %q);\n",
			c, f.cPath, f.offset, c, f.cPath, f.cType, stale)
	}
}
