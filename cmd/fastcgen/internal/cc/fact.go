package cc

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"evenkeel.dev/cmd/fastcgen/internal/decl"
)

// Fact is what generated code relies on about a number or bool type of C.
type Fact struct {
	Text       string
	base       string // without typedefs; the same as text when only the size is in doubt
	size       int64
	class      decl.Class
	eitherSign bool // signed on one platform, not on another
	boolean    bool
}

// FactsOf returns what to assert about the number or bool in c, an array of them perhaps.
func (facts *Facts) FactsOf(c dwarf.Type) []Fact {
	for {
		b, _ := facts.Bare(c)
		a, isArray := b.(*dwarf.ArrayType)
		if !isArray {
			break
		}
		c = a.Type
	}
	if Anonymous(c) {
		return nil
	}
	bare, _ := facts.Bare(c)
	f := Fact{Text: TypeText(Unqualified(c), ""), base: TypeText(bare, "")}
	if n, ok := facts.Number(c); ok {
		f.size, f.class, f.eitherSign = n.Size, n.Class, n.PlainChar || n.Wide
		return []Fact{f}
	}
	if _, ok := bare.(*dwarf.BoolType); ok {
		f.size, f.boolean = bare.Size(), true
		return []Fact{f}
	}
	return nil
}

// Condition is what f asserts, as an integer constant expression of C. A cast tells the type: 0.5
// becomes 0 in an integer type, -1 stays negative in a signed one, and 2 becomes 1 in _Bool.
func (f Fact) Condition() string {
	size := fmt.Sprintf("sizeof(%s) == %d", f.Text, f.size)
	switch {
	case f.Text == f.base && !strings.HasPrefix(f.Text, "enum "):
		return size
	case f.boolean:
		return size + " && (" + f.Text + ")2 == 1"
	case f.eitherSign:
		return size + " && (" + f.Text + ")0.5 == 0"
	case f.class == decl.Float:
		return fmt.Sprintf("%s && __builtin_types_compatible_p(%s, %s)", size, f.Text, f.base)
	case f.class == decl.Unsigned:
		return fmt.Sprintf("%s && (%s)0.5 == 0 && (%s)-1 > 0", size, f.Text, f.Text)
	}
	return fmt.Sprintf("%s && (%s)0.5 == 0 && (%s)-1 < 0", size, f.Text, f.Text)
}
