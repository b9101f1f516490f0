package gctrace

const shapeBytes = 12

// A shape is the start of a line with 0 for each digit and a for each letter. So all timestamps
// have one shape. A shorter line leaves 0 bytes.
type shape [shapeBytes]byte

// Timestamps of package log, and of log/slog and RFC 3339.
var dates = [...]string{"0000/00/00", "0000-00-00"}

func (s *shape) learn(b []byte) {
	n := digits(b)
	if n == len(b) || s[0] != 0 && n < shapeBytes && s[n] == b[n] && s[n-1] == '0' {
		return
	}
	// It may be the rest of a gctrace line that was given up. But dates have "/" too.
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

// foreignIn returns the index of the start of a foreign line in the digits of a number of n bytes,
// or -1. 0 means no number at all.
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
	if at := end - run; run > 0 && run < shapeBytes && at >= 0 && s.fits(b[at:]) {
		return at
	}
	return -1
}

func (s *shape) fits(b []byte) bool {
	for i, c := range s {
		if c == 0 {
			return true
		}
		if i == len(b) || class(b[i]) != c {
			return false
		}
	}
	return true
}

func hasShape(b []byte, s string) bool {
	for i := range len(s) {
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

// startsLine reports whether text may start program output. A space or a comma is more likely the
// middle of "17 things".
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
