package reach

import (
	"maps"
	"slices"
)

// link works out what stands at which offset of structs, once all files were read. After it nothing of the graph changes
// but what is remembered of answers (resolved, known).
//
//	holds    place -> what code puts there, from the files; a place is a variable, a field, an argument, a result, a local
//	fields   offset -> the addresses that some code puts at that offset of a struct that a pointer leads to
//	may      place -> the addresses that come to it by way of variables, arguments and results, not through a field
//	stars    what is passed through pointers comes to all functions that are called so: argument n of "*"
//	tables   offset -> the addresses that stand there in a variable which begins with contents
func (g *callGraph) link() {
	if g.linked {
		return
	}
	g.linked, g.fields, g.may = true, map[int64]map[value]bool{}, map[value]map[value]bool{}
	g.tables, g.resolved = map[int64][]value{}, map[value]resolved{}
	g.stars, g.known = map[value]map[value]bool{}, map[value]near{}
	for key := range g.inner {
		if g.isFunction(key) {
			g.taken = append(g.taken, key)
		}
	}
	slices.Sort(g.taken)
	for _, n := range g.nodes {
		n.stride = n.strideOf(g)
		for at, v := range n.holds {
			n.table = n.table || v.kind == valAddress && g.isFunction(v.name)
			if v.kind != valAddress || n.function {
				continue
			}
			if n.stride > 0 {
				at %= n.stride
			}
			g.tables[at] = append(g.tables[at], v)
		}
	}
	for place, held := range g.holds { // what a pointer to a variable is used for is done to the variable
		if place.kind != valField {
			continue
		}
		for pointer := range g.holds[g.origin(place)] {
			if pointer.kind == valAddress {
				for v := range held {
					g.hold(value{valContent, pointer.name, pointer.at + place.at}, v)
				}
			}
		}
	}
	g.spread()
}

// put notes that an address stands at an offset of some struct.
func (g *callGraph) put(offset int64, v value) {
	if offset < 0 {
		return
	}
	if g.fields[offset] == nil {
		g.fields[offset] = map[value]bool{}
	}
	g.fields[offset][v] = true
}

// putAll notes that an address comes to all functions that are called through pointers, or from them.
func (g *callGraph) putAll(all, v value) {
	if g.stars[all] == nil {
		g.stars[all] = map[value]bool{}
	}
	g.stars[all][v] = true
}

// spread follows the addresses of functions and of tables of functions from where they are taken to the
// fields that hold them: what is put into a place is in all places that hold that place.
//
// It goes from the addresses to the places, and not from each call back to the addresses: there are some hundred
// addresses of tables, and tens of thousands of places. A field ends a way: its offset is noted in fields, and
// pointed looks there.
func (g *callGraph) spread() {
	into := map[value][]value{}
	for place, held := range g.holds {
		for v := range held {
			into[v] = append(into[v], place)
		}
	}
	for key, inner := range g.inner {
		for at := range inner {
			if g.isFunction(key) || g.nodes[key].table {
				a := value{valAddress, key, at}
				g.spreadOf(a, []value{a}, into)
			}
		}
	}
	for n := range int64(maxArguments) { // what is passed through pointers comes to all that are called so
		all := value{valArgument, "*", n}
		var list []value
		for _, f := range g.taken {
			list = append(list, value{valArgument, f, n})
		}
		g.spreadOf(all, list, into)
	}
	all := value{valResult, "*", 0}
	g.spreadOf(all, []value{all}, into)
}

// spreadOf follows a from some places on.
func (g *callGraph) spreadOf(a value, queue []value, into map[value][]value) {
	seen := map[value]bool{}
	visit := func(p value) {
		if seen[p] {
			return
		}
		seen[p] = true
		queue = append(queue, p)
		if g.may[p] == nil {
			g.may[p] = map[value]bool{}
		}
		g.may[p][a] = true
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		if v.kind == valResult && g.inner[v.name] != nil {
			g.putAll(value{valResult, "*", 0}, a)
		}
		for _, p := range into[v] {
			switch {
			case p.kind == valField:
				g.put(p.at, a)
			case p.kind == valArgument && p.name == "*":
				g.putAll(p, a)
			default:
				if p.kind == valLocal && g.nodes[p.name].addressed { // a struct, perhaps, that is passed by address
					g.put(anyOffset, a)
				}
				visit(p)
			}
		}
	}
}

// expand replaces what stands for all functions that are called through pointers by what comes to them.
func (g *callGraph) expand(set map[value]bool) map[value]bool {
	found := map[value]bool{}
	var add func(v value)
	add = func(v value) {
		if !found[v] {
			found[v] = true
			if v.kind != valAddress {
				for a := range g.stars[v] {
					add(a)
				}
			}
		}
	}
	for v := range set {
		add(v)
	}
	return found
}

// anyOffset stands for a field that is not known.
const anyOffset = 1 << 40

// strideOf returns how long the elements of a variable are that is an array of structs, as far as
// its contents tell: the shortest length at which addresses of functions recur. 0: it is none.
func (n *graphNode) strideOf(g *callGraph) int64 {
	kind := func(v value) int {
		switch {
		case v.kind == valUnknown:
			return 1
		case g.isFunction(v.name):
			return 2
		}
		return 3
	}
next:
	for s := int64(16); s <= n.size/2; s += 8 {
		if n.size%s != 0 {
			continue
		}
		seen := map[int64]int{}
		for at, v := range n.holds {
			if have := seen[at%s]; have != 0 && have != kind(v) {
				continue next
			}
			seen[at%s] = kind(v)
		}
		return s
	}
	return 0
}

// functions returns the functions whose address v may be, and how near that is.
func (g *callGraph) functions(v value) ([]string, int) {
	if r, ok := g.resolved[v]; ok {
		return r.functions, r.kind
	}
	found := map[string]bool{}
	set, kind := g.addresses(v)
	for a := range set {
		if a.at == 0 && g.isFunction(a.name) {
			found[a.name] = true
		}
	}
	r := resolved{sortedKeys(found), kind}
	g.resolved[v] = r
	return r.functions, r.kind
}

// How near what is known about a pointer is: the addresses of the nearest kind count, and no others.
const (
	named  = iota // in a variable that the pointer is read from, by name or by a pointer to it
	stored        // in a variable to which a pointer stands at the offset that the pointer to it is read from
	placed        // at the offset of any struct that code puts something into
	copied        // at the offset of any table, of which there may be a copy
	kinds
)

// addresses returns those that v may be, of the nearest kind at which there are any, and that kind.
//
// It follows what places hold, back from v. A step that rests on less than the one before makes the way's kind less
// near, never nearer. A place that was come to by a way that was not as near is followed again. So it ends: each
// place is followed at most once for each kind.
func (g *callGraph) addresses(v value) (set map[value]bool, kind int) {
	var found [kinds]map[value]bool
	for i := range found {
		found[i] = map[value]bool{}
	}
	seen := map[value]int{} // how near, and one more: what is come to again on a nearer way is followed again
	var follow func(v value, kind int)
	all := func(set map[value]bool, kind int) {
		for v := range set {
			follow(v, kind)
		}
	}
	follow = func(v value, kind int) {
		if before := seen[v]; v.kind == valUnknown || before != 0 && before <= kind+1 {
			return
		}
		seen[v] = kind + 1
		switch v.kind {
		case valAddress:
			found[kind][v] = true
			return
		case valContent, valElement:
			all(g.filled(v, false), kind)
			for held := range g.holds[v] {
				if held.kind != valField {
					follow(held, kind)
				} else if set, near := g.pointed(held); near == named {
					all(set, kind)
				} else { // what a program gives a library to begin with, say
					all(set, copied)
				}
			}
			if v.kind == valContent { // put there by a pointer to the variable, perhaps
				for inner := range g.inner[v.name] {
					maps.Copy(found[copied], g.ours(g.at(v.at-inner)))
				}
			}
			return
		case valField:
			set, near := g.pointed(v)
			all(set, max(kind, near))
			return
		case valArgument:
			if v.name != "*" && g.inner[v.name] != nil {
				follow(value{valArgument, "*", v.at}, copied)
			}
		case valResult:
			if v.name == "*" {
				for _, f := range g.taken {
					follow(value{valResult, f, 0}, max(kind, placed))
				}
			}
		}
		all(g.holds[v], kind)
	}
	follow(v, named)
	for kind, set := range found {
		if len(set) > 0 {
			return set, kind
		}
	}
	return nil, kinds
}

// filled returns the addresses that a variable begins with at v, or there in any element of an array.
func (g *callGraph) filled(v value, any bool) map[value]bool {
	found := map[value]bool{}
	n := g.nodes[v.name]
	if n == nil {
		return found
	}
	for at, held := range n.holds {
		if held.kind == valAddress && (v.kind == valElement || at == v.at || any && n.stride > 0 && at%n.stride == v.at%n.stride) {
			found[held] = true
		}
	}
	return found
}

// pointed returns what may stand in a field, and how near that is known. From the nearest on:
//
//	named    the pointer to the struct is known to be the address of some variable: what that variable holds there
//	stored   the pointer is itself read from a field: the variables whose address is put at that field's offset
//	placed   what code puts at this offset of any struct
//	copied   what stands at this offset of any table, since tables are copied into structs as a whole
func (g *callGraph) pointed(v value) (set map[value]bool, kind int) {
	if n, ok := g.known[v]; ok {
		return n.set, n.kind
	}
	origin := g.origin(v)
	pointers, kind := g.may[origin], named
	switch origin.kind {
	case valAddress:
		pointers = map[value]bool{origin: true}
	case valElement:
		pointers = map[value]bool{{valAddress, origin.name, 0}: true}
	case valField:
		pointers, kind = g.at(origin.at), stored
	}
	found := g.within(pointers, v.at)
	if len(found) == 0 {
		found, kind = g.ours(g.at(v.at)), placed
	}
	if len(found) == 0 {
		kind = copied
		found = g.within(g.expand(pointers), v.at)
		maps.Copy(found, g.expand(g.at(v.at)))
		for _, a := range g.tables[v.at] {
			found[a] = true
		}
		found = g.ours(found)
	}
	g.known[v] = near{found, kind}
	return found, kind
}

// within returns what stands at an offset of the variables that pointers point to.
func (g *callGraph) within(pointers map[value]bool, offset int64) map[value]bool {
	found := map[value]bool{}
	for a := range pointers {
		if a.kind == valAddress && !g.isFunction(a.name) {
			place := value{valContent, a.name, a.at + offset}
			maps.Copy(found, g.filled(place, true))
			maps.Copy(found, g.holds[place])
		}
	}
	return found
}

// ours leaves out what these files do not have: a function of the C library stands in a table that is
// known by name, or it would be found wherever something stands at its offset.
func (g *callGraph) ours(set map[value]bool) map[value]bool {
	found := map[value]bool{}
	for a := range set {
		if a.kind == valAddress && g.nodes[a.name] != nil {
			found[a] = true
		}
	}
	return found
}

// at returns the addresses that may stand at an offset of any struct.
func (g *callGraph) at(offset int64) map[value]bool {
	set := maps.Clone(g.fields[offset])
	if set == nil {
		set = map[value]bool{}
	}
	maps.Copy(set, g.fields[anyOffset])
	return set
}
