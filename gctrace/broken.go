package gctrace

import (
	"bytes"
	"regexp"
)

// limit of places at which a line is tried
const maxPlaces = 64

// broken is a gctrace line cut by other text. Its last tokens may be foreign text too, so the line
// may go on at any token from floor on. The longest match wins:
//
//	gc 6 @0.044s 2026/11/21 10:00:00 GET /search    "2026" may be the percentage: then "%" is missing
//	13%: 0.071+3.1+0.009 ms clock, ...              this fits one token earlier: "2026" was other text
type broken struct {
	v     values
	next  position // posGC: no line is broken
	lines int      // foreign lines since the cut
}

// resume finds where in b the line goes on, and how far. inside says that b does not start a line.
func (k *broken) resume(v *values, b []byte, inside bool, procs int) (best progress, start int) {
	best.next = k.next
	places := 0
	for from := k.next; from >= k.floor(); from-- {
		for at := 0; at >= 0 && places < maxPlaces; at = find(from, b, at+1) {
			places++
			try := k.v
			p := match(&try, from, b[at:], true)
			atStart := at == 0 && !inside
			if p.next > best.next && (atStart || trust(&try, from, p, p.complete(b[at:]), procs)) {
				*v, best, start = try, p, at
			}
		}
	}
	return best, start
}

// A program may write " MB goal, ", but hardly two distinct tokens.
func trust(v *values, from position, p progress, complete bool, procs int) bool {
	n := 0
	for pos := from; pos < p.next; pos++ {
		if distinct(pos) {
			n++
		}
	}
	if complete {
		return n > 0 || v.cycle().Procs == procs
	}
	return n > 1
}

// floor is the first token at which the line may go on.
func (k *broken) floor() position {
	from := k.next
	for from > posN && !distinct(from-1) {
		from--
	}
	return from
}

// distinct reports whether little other text has this token.
func distinct(pos position) bool {
	return len(grammar[pos].lit) > len("s, ") && pos != posLeak && pos != posForced
}

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

// Loggers and Docker put lines into strings of JSON. docker compose and kubectl prefix them.

// unquote cuts b behind the JSON string around index at. It changes b.
func unquote(b []byte, at int) []byte {
	if end := bytes.IndexByte(b[at:], '"'); end >= 0 {
		b = b[:at+end]
		for _, escape := range []string{`\`, `\n`, `\r`, `\`} { // the last two for a string within another one
			for hasSuffix(b[at:], escape) {
				b = b[:len(b)-len(escape)]
			}
		}
	}
	const escaped = `\u003e`
	kept := b[:at]
	for rest := b[at:]; ; {
		i := bytes.Index(rest, []byte(escaped))
		if i < 0 {
			return append(kept, rest...)
		}
		kept = append(append(kept, bytes.TrimRight(rest[:i], `\`)...), '>')
		rest = rest[i+len(escaped):]
	}
}

const (
	maxSources    = 100 // processes of one log
	maxSourceName = 100
)

var sourceName = regexp.MustCompile(`^[A-Za-z][\w.-]*$`)

// sourceOf returns the prefix of docker compose or kubectl, and its length in b, 0 without one.
//
//	web_1  | gc 1 @0.125s ...
//	[pod/web-1/main] gc 1 @0.125s ...
func sourceOf(b []byte) (name []byte, length int) {
	b = b[:min(len(b), maxSourceName)]
	if end := bytes.Index(b, []byte("] ")); end > 0 && hasPrefix(b, "[pod/") {
		return b[1:end], end + len("] ")
	}
	if end := bytes.Index(b, []byte(" | ")); end > 0 {
		if name := bytes.TrimRight(b[:end], " "); sourceName.Match(name) {
			return name, end + len(" | ")
		}
	}
	return nil, 0
}
