package gctrace

import "bytes"

// limit of places at which a line is tried
const maxPlaces = 64

// broken is a gctrace line cut by other text. Its last tokens may be foreign text too, so the line
// may go on at any token from floor on. The longest match wins:
//
//	gc 6 @0.044s 2026/11/21 10:00:00 GET /search    "2026" may be the percentage: then "%" is missing
//	13%: 0.071+3.1+0.009 ms clock, ...              this fits one token earlier: "2026" was other text
type broken struct {
	v     values
	next  position // posGC: no line is broken
	lines int      // foreign lines since the cut
}

// resume finds where in b the line goes on, and how far. inside says that b does not start a line.
func (k *broken) resume(v *values, b []byte, inside bool, procs int) (best progress, start int) {
	best.next = k.next
	places := 0
	for from := k.next; from >= k.floor(); from-- {
		for at := 0; at >= 0 && places < maxPlaces; at = find(from, b, at+1) {
			places++
			try := k.v
			p := match(&try, from, b[at:], true)
			atStart := at == 0 && !inside
			if p.next > best.next && (atStart || trust(&try, from, p, p.complete(b[at:]), procs)) {
				*v, best, start = try, p, at
			}
		}
	}
	return best, start
}

// A program may write " MB goal, ", but hardly two distinct tokens.
func trust(v *values, from position, p progress, complete bool, procs int) bool {
	n := 0
	for pos := from; pos < p.next; pos++ {
		if distinct(pos) {
			n++
		}
	}
	if complete {
		return n > 0 || v.cycle().Procs == procs
	}
	return n > 1
}

// floor is the first token at which the line may go on.
func (k *broken) floor() position {
	from := k.next
	for from > posN && !distinct(from-1) {
		from--
	}
	return from
}

// distinct reports whether little other text has this token.
func distinct(pos position) bool {
	return len(grammar[pos].lit) > len("s, ") && pos != posLeak && pos != posForced
}

func find(pos position, b []byte, from int) int {
	if from > len(b) {
		return -1
	}
	t := &grammar[pos]
	if t.scale == 0 {
		at := bytes.Index(b[from:], []byte(t.lit))
		if t.alt != "" {
			if a := bytes.Index(b[from:], []byte(t.alt)); a >= 0 && (at < 0 || a < at) {
				at = a
			}
		}
		if at < 0 {
			return -1
		}
		return from + at
	}
	for i := from; i < len(b); i++ {
		if isDigit(b[i]) && (i == 0 || !isDigit(b[i-1]) && b[i-1] != '.') {
			return i
		}
	}
	return -1
}
