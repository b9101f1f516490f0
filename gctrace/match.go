package gctrace

// progress says how far match came.
type progress struct {
	next position
	used int
	last int  // start of the last matched token
	cut  bool // foreign text begins right there
}

// match matches tokens from position from on at the start of b, into v. For a line that may be
// torn, others finds where foreign digits begin.
func match(v *values, from position, b []byte, others *shape) progress {
	p := progress{next: from}
	for p.next < posEnd {
		t := &grammar[p.next]
		rest := b[p.used:]
		if t.scale != 0 {
			n, x := t.number(rest)
			if n == 0 {
				return p
			}
			if others != nil {
				if at := others.foreignIn(rest, n); at >= 0 {
					p.cut = true
					return p.number(v, rest, at)
				}
			}
			v[p.next] = x
			p.last = p.used
			p.used += n
			p.next++
			continue
		}
		switch {
		case t.wrapped(rest):
			v[p.next] = 1
			p.last = p.used
			p.used = len(b)
			p.next++
			return p
		case hasPrefix(rest, t.lit):
			v[p.next] = 1
			p.last = p.used
			p.used += len(t.lit)
			p.next++
		case t.alt != "" && hasPrefix(rest, t.alt):
			v[p.next] = 0
			p.last = p.used
			p.used += len(t.alt)
			p.next = t.altNext
		default:
			return p
		}
	}
	return p
}

// wrapped reports whether rest is the token without its final blank, at which an editor broke the
// line.
func (t *token) wrapped(rest []byte) bool {
	n := len(t.lit) - 1
	return n > 1 && t.lit[n] == ' ' && len(rest) == n && string(rest) == t.lit[:n]
}

func (p progress) number(v *values, rest []byte, n int) progress {
	used, x := grammar[p.next].number(rest[:n])
	if used == 0 || used != n {
		return p
	}
	v[p.next] = x
	p.last = p.used
	p.used += n
	p.next++
	return p
}

func (p progress) complete(b []byte) bool { return p.next >= posForced && p.used == len(b) }

// number reads the longest number in range at the start of b. It returns its length, 0 without one,
// and its value.
func (t *token) number(b []byte) (n int, x int64) {
	for n < len(b) && isDigit(b[n]) {
		next := x*10 + int64(b[n]-'0')
		if next > t.max {
			return n, x * t.scale
		}
		x = next
		n++
	}
	if n == 0 {
		return 0, 0
	}
	x *= t.scale
	if !t.decimal || n+1 >= len(b) || b[n] != '.' || !isDigit(b[n+1]) {
		return n, x
	}
	n++
	unit := t.scale
	for places := 0; places < 3 && n < len(b) && isDigit(b[n]); places++ {
		unit /= 10
		x += int64(b[n]-'0') * unit
		n++
	}
	return n, x
}
