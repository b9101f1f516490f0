package gctrace

import "bytes"

const (
	// maxBetween lines of others may stand inside a broken line before it is given up.
	maxBetween = 1024
	// maxPlaces of one line are tried where a broken line could go on behind other text.
	maxPlaces = 64
	// backTokens are tried behind other text before the first one missing.
	backTokens = 3
)

// broken is a gctrace line cut by other text: what its tokens said so far, and the first one
// missing. The last tokens may be foreign text that only looked right ("2026" for a
// percentage), so the line may also go on at any token before.
type broken struct {
	v     values
	next  position // posGC: there is no broken line
	lines int      // of others since it was cut
}

// repair continues the broken line with b, at its start (unless inside, where b is the rest
// of a line) or behind other text, and reports whether b held any of it.
func (s *Scanner) repair(b []byte, inside bool) bool {
	k := &s.broken
	switch k.next {
	case posForced:
		return s.repairEnd(b, inside)
	case posEnd: // nothing is missing but the newline
		s.giveUp()
		return true
	}
	v, p, at := k.v, progress{next: k.next}, 0
	if !inside {
		p = k.extend(&v, &s.hints, b)
	}
	if p.next == k.next {
		p, at = k.search(&v, &s.hints, b)
	}
	if p.next == k.next {
		return false
	}
	*k = broken{v: v, next: p.next}
	if p.complete(b[at:]) {
		s.giveUp()
	} else if rest := b[at+p.used:]; len(rest) > 0 {
		s.repair(rest, true) // each round gains a token, so this ends
	}
	return true
}

// repairEnd looks for the end of a line that has all its figures: "(forced)", or nothing.
func (s *Scanner) repairEnd(b []byte, inside bool) bool {
	switch {
	case hasSuffix(b, grammar[posForced].lit), !inside && hasPrefix(b, grammar[posForced].lit):
		s.broken.v[posForced] = 1
	case len(b) > 0 || inside:
		return false
	}
	s.giveUp()
	return true
}

// extend tries b as the next tokens from the first one missing, and from each before it: the
// one that comes furthest wins, if it comes further than the line had before.
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

// search tries to go on behind other text in b, where the most tokens match.
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

// trust reports whether tokens that match behind other text are the broken line's. "+", "5"
// and "/" may stand in anything, " MB goal, " in a program's own words about its heap; two
// such, or one and the line's end, hardly.
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

// floor is the first token at which the line may go on: behind the last one that cannot have
// been foreign.
func (k *broken) floor() position {
	from := k.next
	for from > posN && !distinct(from-1) {
		from--
	}
	return from
}

// distinct reports whether the token is a literal that little else has.
func distinct(pos position) bool {
	return len(grammar[pos].lit) > len("s, ") && pos != posLeak && pos != posForced
}

// find returns where the token at pos could next stand in b, not before index from, or -1.
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

// waitOver counts a line of others behind a broken one, and gives that up in the end. It
// reports false: the line held nothing of a cycle.
func (s *Scanner) waitOver() bool {
	if s.broken.next == posGC {
		return false
	}
	if s.broken.lines++; s.broken.lines > maxBetween {
		s.giveUp()
	}
	return false
}

// giveUp is done with the broken line. If all figures are there it is a cycle, though the
// word "(forced)" may be missing. If there are less than "gc 6 @0.044s " it was no gctrace
// line; should it have been, the numbering will have a gap.
func (s *Scanner) giveUp() {
	k := &s.broken
	if k.next >= posForced {
		if c := k.v.cycle(); s.plausible(c) {
			s.emit(c, true)
		} else {
			s.gaveUp++
		}
	} else if k.next >= posUtil {
		s.gaveUp++
	}
	k.next, k.lines = posGC, 0
}

// plausible reports whether c, put together from pieces, can follow the last cycle. A wrong
// figure would be worse than a lost one.
func (s *Scanner) plausible(c Cycle) bool {
	if c.UtilPercent > 100 || c.Procs == 0 || c.N == 0 {
		return false
	}
	return s.unnamed || c.N == 1 || c.N > s.hints.lastN && c.At >= s.hints.lastAt
}
