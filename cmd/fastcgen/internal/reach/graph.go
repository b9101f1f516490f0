package reach

import (
	"slices"
	"strconv"
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

// callGraph is what functions and data refer to, in the assembly that the C compiler writes.
type callGraph struct {
	nodes map[string]*graphNode
	holds map[value]map[value]bool  // what code puts into a place, and what it passes
	inner map[string]map[int64]bool // the places within a variable whose address is taken; a function has it at 0
	units int

	pointers map[value]string // the names of the pointers that fields are read through: numbers of
	origins  []value

	linked   bool
	fields   map[int64]map[value]bool // the addresses that stand at an offset of some struct
	may      map[value]map[value]bool // the addresses that come to a place without standing in a field on the way
	tables   map[int64][]value        // the addresses that stand at an offset of a table
	resolved map[value]resolved       // by functions
	stars    map[value]map[value]bool // the addresses that come to all functions that are called through pointers
	known    map[value]near           // by pointed
	taken    []string                 // the functions whose address is taken
}

// graphNode is a function or a variable.
type graphNode struct {
	name     string // for a reader: C's
	function bool
	calls    map[string]bool
	refers   map[string]bool // variables and functions whose address the function takes

	sites     []site
	hands     []hand
	takes     map[int64]int // the arguments that it looks at, and how wide they are
	addressed bool          // it takes the address of a variable of its own

	holds map[int64]value // of a variable: addresses, and unknown for numbers that are not 0
	size  int64

	stride int64 // how long the elements are, 0: it is no array
	table  bool  // it holds the address of a function
}

// site is a call through a pointer.
type site struct {
	from   value
	passes map[int64]int // the arguments that may be passed, and how wide they are; nil: not known
}

// hand is a function or variable whose address is passed to a function.
type hand struct{ to, name string }

// node returns the node of that key.
func (g *callGraph) node(key, name string) *graphNode {
	n := g.nodes[key]
	if n == nil {
		n = &graphNode{name: name, calls: map[string]bool{}, refers: map[string]bool{}, holds: map[int64]value{}}
		g.nodes[key] = n
	}
	return n
}

// isFunction reports whether a symbol is a function, or nothing in these files and so one perhaps.
func (g *callGraph) isFunction(key string) bool {
	n := g.nodes[key]
	return n == nil || n.function
}

// sortedKeys makes what is found the same in each run.
func sortedKeys(m map[string]bool) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
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

// resolved is what functions found.
type resolved struct {
	functions []string
	kind      int
}

// near is what pointed found, and how near.
type near struct {
	set  map[value]bool
	kind int
}
