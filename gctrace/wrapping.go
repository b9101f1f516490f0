package gctrace

import "bytes"

// Loggers and Docker put lines into strings of JSON. docker compose and kubectl prefix them.

// unquote cuts b behind the JSON string around the gctrace line at index at, and decodes the escape
// of ">". It changes b.
func unquote(b []byte, at int) []byte {
	if end := bytes.IndexByte(b[at:], '"'); end >= 0 {
		b = b[:at+end]
		for _, escape := range []string{`\`, `\n`, `\r`, `\`} { // the last two for a string within another one
			for hasSuffix(b, escape) {
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

// sourceOf returns the prefix of docker compose or kubectl, and its length in b. The length is 0
// without one.
//
//	web_1  | gc 1 @0.125s ...
//	[pod/web-1/main] gc 1 @0.125s ...
func sourceOf(b []byte) (name []byte, length int) {
	b = b[:min(len(b), maxSourceName)]
	if hasPrefix(b, "[pod/") {
		if end := bytes.Index(b, []byte("] ")); end > 0 {
			return b[1:end], end + len("] ")
		}
		return nil, 0
	}
	n := 0
	for n < len(b) && (class(b[n]) == 'a' || n > 0 && (isDigit(b[n]) || b[n] == '_' || b[n] == '-' || b[n] == '.')) {
		n++
	}
	bar := n
	for bar < len(b) && b[bar] == ' ' {
		bar++
	}
	if n == 0 || bar == n || !hasPrefix(b[bar:], "| ") {
		return nil, 0
	}
	return b[:n], bar + len("| ")
}
