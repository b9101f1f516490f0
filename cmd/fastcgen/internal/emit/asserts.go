package emit

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/cc"
	"evenkeel.dev/cmd/fastcgen/internal/match"
)

// Stale is what a build says when C is not what it was when the file was made.
const Stale = "C has changed: run go generate"

// sizes asserts the sizes, kinds and signs of the C numbers that the Go side relies on.
func (g *File) sizes(b io.Writer) {
	seen := map[string]bool{}
	assert := func(list []cc.Fact) {
		for _, n := range list {
			if !seen[n.Text] && !fixed.MatchString(n.Text) {
				fmt.Fprintf(b, "_Static_assert(%s, %q);\n", n.Condition(), Stale)
			}
			seen[n.Text] = true
		}
	}
	for _, mr := range g.Match.Mirrors {
		assert(mr.Numbers)
	}
	for _, p := range g.Match.Plans {
		assert(p.Numbers)
	}
}

// fixed matches the types of which the C standard says all that generated code relies on.
var fixed = regexp.MustCompile(`^(u?int(8|16|32|64)_t|(un)?signed char|char|_Bool|bool)$`)

// cAsserts asserts the layout of a mirrored struct. In a trial, one that is packed is told apart
// from one that has changed.
func cAsserts(b *strings.Builder, mr *match.Mirror, trial bool) {
	c := mr.Decl.CText()
	if trial {
		fmt.Fprintf(b, "_Static_assert(_Alignof(%s) >= %d, %q);\n", c, mr.Align,
			match.SaidByUs+c+" is packed: C puts it where Go puts nothing of its kind; "+
				"put //fastc:opaque above it to pass pointers to it only")
	}
	fmt.Fprintf(b, "_Static_assert(sizeof(%s) == %d && _Alignof(%s) == %d, %q);\n", c, mr.Size, c, mr.Align, Stale)
	for _, f := range mr.Offsets {
		if f.CType == "" {
			fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d, %q);\n", c, f.CPath, f.Offset, Stale)
			continue
		}
		fmt.Fprintf(b, "_Static_assert(offsetof(%s, %s) == %d && __builtin_types_compatible_p(__typeof__(((%s "+
			"*)0)->%s), %s), %q);\n",
			c, f.CPath, f.Offset, c, f.CPath, f.CType, Stale)
	}
}
