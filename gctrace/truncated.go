package gctrace

import "strings"

// lastLine takes what follows the last newline of the log.
func (a *assembler) lastLine(b []byte) {
	if !a.cutOff(b) {
		a.endLine(b)
		return
	}
	a.stats.Lines++
	a.stats.Truncated = true
}

// cutOff reports whether b ends in the middle of a gctrace line, and drops that.
func (a *assembler) cutOff(b []byte) bool {
	var v values
	if p, start := a.bestStart(&v, b, findGC(b), a.long); p.next >= posSpaceAt {
		if p.next >= posForced || !begins(p.next, b[start+p.used:]) {
			return false
		}
		a.giveUp()
		return true
	}
	k := &a.broken
	if k.next < posUtil || k.next >= posForced || a.long {
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

// begins reports whether rest may be the front part of the token at pos.
func begins(pos position, rest []byte) bool {
	if len(rest) == 0 {
		return true
	}
	if pos > posGC && grammar[pos-1].decimal && string(rest) == "." {
		return true
	}
	t := &grammar[pos]
	return t.scale == 0 && (strings.HasPrefix(t.lit, string(rest)) || strings.HasPrefix(t.alt, string(rest)))
}
