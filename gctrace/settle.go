package gctrace

import (
	"strconv"
	"time"
)

// hints are what the log has shown so far. They tell a number from foreign digits behind it.
type hints struct {
	lastN     int64
	lastAt    time.Duration
	lastProcs int64
	other     shape // of the last foreign line that began with a digit
}

func (h *hints) match(v *values, from position, b []byte) progress {
	p := match(v, from, b, &h.other)
	if p.next == from || p.used == len(b) || p.cut {
		return p
	}
	return h.settle(v, p, b)
}

// settle looks at a match that ended in a number with foreign text right behind it. If that text
// begins with digits, the number is shorter than it looks:
//
//	what was written    "13" by the runtime, then "17 things" by the program
//	what is read        "1317 things": 13, 131 or 1317?
//
// The runtime's form (three places, millisLen), the expected value, or the start of other lines
// decide. Otherwise the number is missing, because a wrong figure is worse than a lost one.
func (h *hints) settle(v *values, p progress, b []byte) progress {
	pos := p.next - 1
	t := &grammar[pos]
	if t.scale == 0 {
		return p
	}
	end := p.used
	for end < len(b) && isDigit(b[end]) {
		end++
	}
	text, rest := b[p.last:end], b[end:]
	var n int
	switch {
	case pos == posAt:
		n = placesLen(text, 3)
	case t.decimal:
		n = millisLen(text, rest)
	default:
		n = h.wholeLen(pos, text, rest)
	}
	if n == 0 {
		return progress{next: pos, used: p.last, last: p.last}
	}
	p = progress{next: pos, used: p.last, last: p.last}
	return p.number(v, text, n)
}

func placesLen(text []byte, places int) int {
	for i, c := range text {
		if c == '.' && len(text) > i+places {
			return i + 1 + places
		}
	}
	return 0
}

// millisLen is the length of a time as fmtNSAsMS of the runtime writes it: 0, 0.071, 0.56, 3.1, and
// whole from 10 on. Only the last has no end of its own.
func millisLen(text, rest []byte) int {
	switch {
	case text[0] == '0' && (len(text) == 1 || text[1] != '.'):
		return 1
	case hasPrefix(text, "0.0"):
		return placesLen(text, 3)
	case text[0] == '0':
		return placesLen(text, 2)
	case len(text) > 1 && text[1] == '.':
		return placesLen(text, 1)
	}
	n := digitsLen(text, rest)
	if n < 2 {
		return 0
	}
	return n
}

func (h *hints) wholeLen(pos position, text, rest []byte) int {
	switch pos {
	case posN:
		if n := prefixLen(text, h.lastN+1); n > 0 {
			return n
		}
	case posProcs:
		if n := prefixLen(text, h.lastProcs); n > 0 && len(rest) > 0 && !startsLine(rest) {
			return n
		}
	}
	if text[0] == '0' {
		return 1
	}
	return digitsLen(text, rest)
}

func prefixLen(text []byte, x int64) int {
	var buf [20]byte
	if s := strconv.AppendInt(buf[:0], x, 10); hasPrefix(text, string(s)) {
		return len(s)
	}
	return 0
}

// digitsLen is the length of a run of digits if the rest looks like the start of program output.
func digitsLen(text, rest []byte) int {
	for _, c := range text {
		if c == '.' {
			return 0
		}
	}
	if len(rest) > 0 && !startsLine(rest) {
		return 0
	}
	return len(text)
}
