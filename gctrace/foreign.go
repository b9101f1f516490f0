package gctrace

import (
	"bytes"
	"strconv"
	"time"
)

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
// The runtime's form, the expected value, or the start of other lines decide. Otherwise the number
// is missing, because a wrong figure is worse than a lost one.
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
	if i := bytes.IndexByte(text, '.'); i >= 0 && len(text) > i+places {
		return i + 1 + places
	}
	return 0
}

// The runtime's fmtNSAsMS writes 0, 0.071, 0.56, 3.1, and whole numbers from 10 on.
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

func digitsLen(text, rest []byte) int {
	if bytes.IndexByte(text, '.') >= 0 || len(rest) > 0 && !startsLine(rest) {
		return 0
	}
	return len(text)
}

const shapeBytes = 12

// A shape is the start of a line with 0 for each digit and a for each letter, so timestamps are
// alike.
type shape [shapeBytes]byte

// Timestamps of package log, and of log/slog and RFC 3339.
var dates = [...]string{"0000/00/00", "0000-00-00"}

func (s *shape) learn(b []byte) {
	n := digits(b)
	if n == len(b) || s[0] != 0 && n < shapeBytes && s[n] == b[n] && s[n-1] == '0' {
		return
	}
	// It may be the rest of a gctrace line. But dates have "/" too.
	for i := range grammar {
		if l := grammar[i].lit; l != "" && l != "/" && hasPrefix(b[n:], l) {
			return
		}
	}
	if b[n] == '.' || startsLine(b[n:]) {
		return
	}
	*s = shape{}
	for i := range min(len(b), shapeBytes) {
		s[i] = class(b[i])
	}
}

// foreignIn returns where a foreign line starts in the digits of a number, or -1.
func (s *shape) foreignIn(b []byte, n int) int {
	end := n + digits(b[n:])
	for _, d := range dates {
		if at := end - len("0000"); at >= 0 && hasShape(b[at:], d) {
			return at
		}
	}
	run := 0
	for run < shapeBytes && s[run] == '0' {
		run++
	}
	if at := end - run; run > 0 && run < shapeBytes && at >= 0 && hasShape(b[at:], string(s[:])) {
		return at
	}
	return -1
}

// hasShape reports whether b begins so. A shape ends at its first 0.
func hasShape(b []byte, s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return true
		}
		if i == len(b) || class(b[i]) != s[i] {
			return false
		}
	}
	return true
}

func class(c byte) byte {
	switch {
	case isDigit(c):
		return '0'
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return 'a'
	}
	return c
}

// startsLine reports whether program output may start so. " things" is more likely its middle.
func startsLine(b []byte) bool {
	c := b[0]
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= 0x80, c < ' ':
		return true
	case c == ' ':
		return len(b) > 1 && (b[1] == ' ' || b[1] == '\t')
	case c == '.':
		return len(b) == 1 || !isDigit(b[1])
	}
	switch c {
	case '{', '[', '(', '<', '>', '"', '\'', '`', '=', '*', '#', '$', '!', '|', '_', '\\', '@':
		return true
	}
	return false
}

// findGC returns the index of the first "gc " in b, or -1. Foreign lines spend most time here.
func findGC(b []byte) int { return bytes.Index(b, []byte("gc ")) }

func digits(b []byte) int {
	n := 0
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

func hasSuffix(b []byte, s string) bool { return len(b) >= len(s) && string(b[len(b)-len(s):]) == s }

func trimCR(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r")) }
