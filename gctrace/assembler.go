package gctrace

const (
	// limit of "gc " that are tried in one line
	maxStarts = 16
	// limit of foreign lines within a broken line
	maxBetween = 1024
)

// assembler finds the cycles in the lines of a log. Later lines complete a gctrace line that other
// text has cut:
//
//	a line is    the next line of the log holds          then
//	none         the front part of a gctrace line        broken
//	broken       the tokens that come next               broken, further on
//	broken       the last token                          none: it was a cycle
//	broken       the front part of a new gctrace line,   none: a cycle if all figures are there,
//	             or maxBetween times no part of one      else lost. So too at the end of the log
//
// At most one line is broken at a time. So one line of the log completes at most two cycles.
type assembler struct {
	ready []Cycle // not yet returned

	broken broken

	stats  Stats
	gaveUp int64 // since the last cycle
	last   Cycle // its N is 0 before the first one
}

func (a *assembler) endLine(b []byte) {
	a.stats.Lines++
	at := findGC(b)
	if at < 0 && a.broken.next == posGC || !a.take(trimCR(b), at) {
		a.stats.Foreign++
	}
}

// take reports whether b has a part of a cycle. at is the index of the first "gc " or -1.
func (a *assembler) take(b []byte, at int) bool {
	var v values
	p, start := a.bestStart(&v, b, at)
	if p.next > posGC && p.complete(b[start:]) {
		a.giveUp()
		a.emit(v.cycle(), false)
		return true
	}
	// Less than "gc 6 @0.044s " may be words of a log.
	sure := p.next >= posUtil
	if sure {
		a.giveUp()
	}
	if a.broken.next != posGC && a.repair(b, false) {
		return true
	}
	if p.next == posGC || p.next < a.broken.next {
		if a.broken.lines++; a.broken.lines > maxBetween {
			a.giveUp()
		}
		return false
	}
	a.giveUp()
	a.broken = broken{v: v, next: p.next}
	rest := b[start+p.used:]
	return len(rest) > 0 && a.repair(rest, true) || sure
}

func (a *assembler) bestStart(v *values, b []byte, at int) (best progress, start int) {
	for tries := 0; at >= 0 && tries < maxStarts; tries++ {
		var try values
		p := match(&try, posGC, b[at:], false)
		if p.complete(b[at:]) {
			*v = try
			return p, at
		}
		p = match(&try, posGC, b[at:], true)
		if p.next > posN && p.next < posUtil && !a.expected(try[posN], at == 0) {
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

// A program may say "gc 42 @home".
func (a *assembler) expected(n int64, front bool) bool {
	return n == a.last.N+1 || front && n > a.last.N
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
	v := k.v
	p, at := k.resume(&v, b, inside, a.last.Procs)
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

// giveUp ends the broken line. With all figures it is a cycle, though "(forced)" may be missing.
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
	return c.N == 1 || c.N > a.last.N && c.At >= a.last.At
}

func (a *assembler) emit(c Cycle, recovered bool) {
	lost := a.gaveUp
	if a.last.N > 0 && c.N > a.last.N {
		lost = max(lost, c.N-a.last.N-1)
	}
	a.stats.Lost += lost
	a.gaveUp, a.last = 0, c
	a.stats.Cycles++
	if recovered {
		a.stats.Recovered++
	}
	a.ready = append(a.ready, c)
}
