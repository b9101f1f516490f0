package gctrace

const (
	// maxStarts is how many "gc " of one line are tried.
	maxStarts = 16
	// maxBetween is how many foreign lines may stand inside a broken line.
	maxBetween = 1024
)

// assembler finds the cycles in the lines of a log. It keeps a gctrace line that other text has cut
// as broken until later lines complete it:
//
//	a line is    the next line of the log holds          then
//	none         the front part of a gctrace line        broken
//	broken       the tokens that come next               broken, further on
//	broken       the last token                          none: it was a cycle
//	broken       the front part of a new gctrace line,   none: a cycle if all figures are there,
//	             or maxBetween times no part of one      else lost. So too at the end of the log
//
// The runtime prints one line at a time, so at most one is broken. One line of the log then
// completes at most two cycles.
type assembler struct {
	source string
	ready  [2]Cycle // not yet returned
	nready int

	broken broken
	hints  hints
	long   bool // the next piece continues a line
	mixed  bool // an earlier piece held part of a cycle

	stats    Stats
	gaveUp   int64 // broken lines given up since the last cycle
	numbered bool  // there was a cycle, so a gap in the numbers is a loss
}

func (a *assembler) endPiece(b []byte) {
	if a.take(b, findGC(b), a.long) {
		a.mixed = true
	}
	a.long = true
}

func (a *assembler) endLine(b []byte) {
	a.stats.Lines++
	at := findGC(b)
	if at < 0 && a.broken.next == posGC && !a.long {
		a.foreign(b)
		return
	}
	if b = trimCR(b); at > 0 && b[at-1] == '"' {
		b = unquote(b, at)
	}
	if !a.take(b, at, a.long) && !a.mixed {
		a.foreign(b)
	}
	a.long, a.mixed = false, false
}

func (a *assembler) foreign(b []byte) {
	if len(b) == 0 {
		a.stats.Foreign++
		return
	}
	if c := b[0]; isDigit(c) && !a.long {
		a.hints.other.learn(b)
	} else if c == 'G' || b[len(b)-1] == 'd' || b[len(b)-1] == '\r' {
		// println writes the newline separately, so the line may have more.
		if t := trimCR(b); hasPrefix(t, "GC forced") || hasSuffix(t, "GC forced") {
			a.stats.ForcedLines++
			return
		}
	}
	a.stats.Foreign++
}

// take looks for a cycle, or part of one, in b, and reports whether b held any. at is the index of
// the first "gc " or -1. inside says that b does not start a line.
func (a *assembler) take(b []byte, at int, inside bool) bool {
	var v values
	p, start := a.bestStart(&v, b, at, inside)
	if p.next > posGC && p.complete(b[start:]) {
		a.giveUp()
		a.emit(v.cycle(), inside)
		return true
	}
	if p.next == posMSClock && hasPrefix(b[start+p.used:], "+") {
		a.giveUp()
		a.stats.FivePhases++
		return true
	}
	// Less than "gc 6 @0.044s " may be words of a log. More can only be a new line.
	sure := p.next >= posUtil
	if sure {
		a.giveUp()
	}
	if a.broken.next != posGC && a.repair(b, inside) {
		return true
	}
	if p.next == posGC || p.next < a.broken.next {
		return a.waitOver()
	}
	a.giveUp()
	a.broken = broken{v: v, next: p.next}
	rest := b[start+p.used:]
	return len(rest) > 0 && a.repair(rest, true) || sure
}

// bestStart matches from every "gc " of b, and returns the best match and its index.
func (a *assembler) bestStart(v *values, b []byte, at int, inside bool) (best progress, start int) {
	for tries := 0; at >= 0 && tries < maxStarts; tries++ {
		var try values
		p := match(&try, posGC, b[at:], nil)
		if p.complete(b[at:]) {
			*v = try
			return p, at
		}
		p = a.hints.match(&try, posGC, b[at:])
		if p.next > posN && p.next < posUtil && !a.expected(try[posN], at == 0 && !inside) {
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

// expected reports whether n may be the next number. A program may say "gc 42 @home", but hardly at
// the start of a line or with that number.
func (a *assembler) expected(n int64, front bool) bool {
	return n == a.hints.lastN+1 || front && n > a.hints.lastN
}

func (a *assembler) repair(b []byte, inside bool) bool {
	k := &a.broken
	switch k.next {
	case posForced:
		return a.repairEnd(b, inside)
	case posEnd:
		a.giveUp()
		return true
	}
	v, p, at := k.v, progress{next: k.next}, 0
	if !inside {
		p = k.extend(&v, &a.hints, b)
	}
	if p.next == k.next {
		p, at = k.search(&v, &a.hints, b)
	}
	if p.next == k.next {
		return false
	}
	*k = broken{v: v, next: p.next}
	if p.complete(b[at:]) {
		a.giveUp()
	} else if rest := b[at+p.used:]; len(rest) > 0 {
		a.repair(rest, true) // each round gains a token, so this ends
	}
	return true
}

// repairEnd looks for "(forced)", or nothing, after all figures.
func (a *assembler) repairEnd(b []byte, inside bool) bool {
	switch {
	case hasSuffix(b, grammar[posForced].lit), !inside && hasPrefix(b, grammar[posForced].lit):
		a.broken.v[posForced] = 1
	case len(b) > 0 || inside:
		return false
	}
	a.giveUp()
	return true
}

// waitOver counts a foreign line behind a broken one.
func (a *assembler) waitOver() bool {
	if a.broken.next == posGC {
		return false
	}
	if a.broken.lines++; a.broken.lines > maxBetween {
		a.giveUp()
	}
	return false
}

// giveUp ends the broken line. With all figures it is a cycle, though "(forced)" may be missing.
// With less than "gc 6 @0.044s " it may not be a gctrace line.
func (a *assembler) giveUp() {
	k := &a.broken
	if k.next >= posForced {
		if c := k.v.cycle(); a.plausible(c) {
			a.emit(c, true)
		} else {
			a.gaveUp++
		}
	} else if k.next >= posUtil {
		a.gaveUp++
	}
	k.next, k.lines = posGC, 0
}

func (a *assembler) plausible(c Cycle) bool {
	if c.UtilPercent > 100 || c.Procs == 0 || c.N == 0 {
		return false
	}
	return !a.numbered || c.N == 1 || c.N > a.hints.lastN && c.At >= a.hints.lastAt
}

func (a *assembler) emit(c Cycle, recovered bool) {
	lost := a.gaveUp
	if a.numbered && c.N > a.hints.lastN {
		lost = max(lost, c.N-a.hints.lastN-1)
	}
	a.stats.Lost += lost
	a.gaveUp, a.numbered = 0, true
	a.hints.lastN, a.hints.lastAt, a.hints.lastProcs = c.N, c.At, int64(c.Procs)
	a.stats.Cycles++
	if recovered {
		a.stats.Recovered++
	}
	c.Source = a.source
	a.ready[a.nready] = c
	a.nready++
}

func (a *assembler) next() Cycle {
	c := a.ready[0]
	a.ready[0] = a.ready[1]
	a.nready--
	return c
}
