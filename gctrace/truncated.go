package gctrace

import "strings"

// lastLine takes what follows the last newline of the log. If it is the front part of a
// gctrace line, the log was cut there.
func (s *Scanner) lastLine(b []byte) {
	if !s.cutOff(b) {
		s.endLine(b)
		return
	}
	s.stats.Lines++
	s.stats.Truncated = true
}

// cutOff reports whether b ends in the middle of a gctrace line, and drops what there is.
func (s *Scanner) cutOff(b []byte) bool {
	var v values
	if p, start := s.bestStart(&v, b, findGC(b), s.long); p.next >= posSpaceAt {
		if p.next >= posForced || !begins(p.next, b[start+p.used:]) {
			return false
		}
		s.giveUp() // an older one, which this one ends
		return true
	}
	k := &s.broken
	if k.next < posUtil || k.next >= posForced || s.long {
		return false
	}
	for from := k.next; from >= k.floor(); from-- {
		try := k.v
		if p := match(&try, from, b, nil); p.used > 0 && p.next < posForced && begins(p.next, b[p.used:]) {
			k.next = posGC
			return true
		}
	}
	return false
}

// begins reports whether rest could be the front part of the token at pos, nothing included.
func begins(pos position, rest []byte) bool {
	if len(rest) == 0 {
		return true
	}
	if pos > posGC && grammar[pos-1].decimal && string(rest) == "." {
		return true // the point of the number before
	}
	t := &grammar[pos]
	return t.scale == 0 && (strings.HasPrefix(t.lit, string(rest)) || strings.HasPrefix(t.alt, string(rest)))
}
