package gctrace

// A line may hold several "gc "; only so many of them are tried.
const maxStarts = 16

// endLine takes a line, without its newline, or the last piece of a long one.
func (s *Scanner) endLine(b []byte) {
	s.stats.Lines++
	at := findGC(b)
	if at < 0 && s.broken.next == posGC && !s.long {
		s.foreign(b)
		return
	}
	b = trimCR(b)
	if !s.take(b, at, s.long) && !s.mixed {
		s.foreign(b)
	}
	s.long, s.mixed = false, false
}

// dropPiece takes most of a full buffer that holds no newline, and leaves what may be the
// start of a gctrace line. That depends on the bytes alone, not on how reads cut them.
func (s *Scanner) dropPiece() {
	cut := len(s.buf) - len("gc ") + 1
	if i := findGC(s.buf[len(s.buf)-keepBytes:]); i >= 0 {
		cut = len(s.buf) - keepBytes + i
	}
	piece := s.buf[:cut]
	if s.take(piece, findGC(piece), s.long) {
		s.mixed = true
	}
	s.r, s.long = cut, true
}

// foreign counts a line that holds nothing of a cycle.
func (s *Scanner) foreign(b []byte) {
	if len(b) == 0 {
		s.stats.Foreign++
		return
	}
	if c := b[0]; isDigit(c) && !s.long {
		s.hints.learn(b)
	} else if c == 'G' || b[len(b)-1] == 'd' || b[len(b)-1] == '\r' {
		// println writes the text and the newline apart: there may be more on the line.
		if t := trimCR(b); hasPrefix(t, "GC forced") || hasSuffix(t, "GC forced") {
			s.stats.ForcedLines++
			return
		}
	}
	s.stats.Foreign++
}

// take looks for a cycle, or part of one, in a line or piece whose first "gc " is at index
// at (-1: none), and reports whether it held any. inside says that b does not start a line.
func (s *Scanner) take(b []byte, at int, inside bool) bool {
	var v values
	p, start := s.bestStart(&v, b, at, inside)
	if p.next > posGC && p.complete(b[start:]) {
		s.giveUp()
		s.emit(v.cycle(), start > 0 || inside)
		return true
	}
	// From "gc 6 @0.044s " on it can only be a new line: the runtime prints one at a time.
	// Less than that may be words of a log.
	sure := p.next >= posUtil
	if sure {
		s.giveUp()
	}
	if s.broken.next != posGC && s.repair(b, inside) {
		return true
	}
	if p.next == posGC || p.next < s.broken.next {
		return s.waitOver()
	}
	s.giveUp()
	s.broken = broken{v: v, next: p.next}
	rest := b[start+p.used:]
	return len(rest) > 0 && s.repair(rest, true) || sure
}

// bestStart matches from every "gc " of b and returns how far the best came, and its index.
// inside says that b does not start a line.
func (s *Scanner) bestStart(v *values, b []byte, at int, inside bool) (best progress, start int) {
	for tries := 0; at >= 0 && tries < maxStarts; tries++ {
		var try values
		p := match(&try, posGC, b[at:], nil)
		if p.complete(b[at:]) {
			*v = try
			return p, at
		}
		p = s.hints.match(&try, posGC, b[at:])
		if p.next > posN && p.next < posUtil && !s.expected(try[posN], at == 0 && !inside) {
			p = progress{next: posN, used: len("gc ")}
		}
		if p.next > best.next {
			*v, best, start = try, p, at
		}
		next := findGC(b[at+1:])
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return best, start
}

// expected reports whether n may be the next cycle's number where little more than that has
// been seen. A program may say "gc 42 @home", but hardly at the start of a line, or of the
// very cycle that comes next.
func (s *Scanner) expected(n int64, front bool) bool {
	return n == s.hints.lastN+1 || front && n > s.hints.lastN
}

// emit makes a cycle ready for Scan and settles what is known to be lost before it.
func (s *Scanner) emit(c Cycle, recovered bool) {
	lost := s.gaveUp
	if !s.unnamed && c.N > s.hints.lastN {
		lost = max(lost, c.N-s.hints.lastN-1)
	}
	s.stats.Lost += lost
	s.gaveUp, s.unnamed = 0, false
	s.hints.lastN, s.hints.lastAt, s.hints.lastProcs = c.N, c.At, int64(c.Procs)
	s.stats.Cycles++
	if recovered {
		s.stats.Recovered++
	}
	s.ready[s.nready] = c
	s.nready++
}
