package gctrace

import "bytes"

const (
	maxPlaces  = 64
	backTokens = 3
)

// broken is a gctrace line cut by other text. Its last tokens may be foreign text that looked
// right. So the line may also go on at any token from floor on, and the longest match wins:
//
//	gc 6 @0.044s 2026/11/21 10:00:00 GET /search    "2026" may be the percentage: then "%" is missing
//	13%: 0.071+3.1+0.009 ms clock, ...              this fits one token earlier: "2026" was other text
type broken struct {
	v     values
	next  position // posGC: no line is broken
	lines int      // foreign lines since the cut
}

func (k *broken) extend(v *values, h *hints, b []byte) progress {
	best := progress{next: k.next}
	for from := k.next; from >= k.floor(); from-- {
		try := k.v
		if p := h.match(&try, from, b); p.next > best.next {
			*v, best = try, p
		}
	}
	return best
}

// search looks for the longest match behind other text in b.
func (k *broken) search(v *values, h *hints, b []byte) (best progress, start int) {
	best.next = k.next
	places := 0
	for from := k.next; from >= k.floor() && from+backTokens > k.next; from-- {
		for at := find(from, b, 0); at >= 0 && places < maxPlaces; at = find(from, b, at+1) {
			places++
			try := k.v
			p := h.match(&try, from, b[at:])
			if p.next <= best.next || !k.trust(&try, h, from, p, p.complete(b[at:])) {
				continue
			}
			*v, best, start = try, p, at
		}
	}
	return best, start
}

// trust reports whether tokens behind other text belong to the broken line. " MB goal, " may be a
// program's own words. Two distinct ones hardly are.
func (k *broken) trust(v *values, h *hints, from position, p progress, complete bool) bool {
	n := 0
	for pos := from; pos < p.next; pos++ {
		if distinct(pos) {
			n++
		}
	}
	if complete {
		return n > 0 || int64(v.cycle().Procs) == h.lastProcs
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

// distinct reports whether the token is a literal that little other text has.
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
