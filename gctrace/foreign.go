package gctrace

import (
	"bytes"
	"regexp"
	"strings"
)

// The forms in which the runtime writes seconds, and milliseconds below 10.
var (
	secondsForm = regexp.MustCompile(`^\d+\.\d{3}`)
	millisForm  = regexp.MustCompile(`^(0\.0\d\d|0\.[1-9]\d|[1-9]\.\d)`)
)

// ownLength returns the length of a number in a torn line. If foreign text right behind it begins
// with digits, the number is shorter than it looks:
//
//	what was written    "13" by the runtime, then "17 things" by the program
//	what is read        "1317 things": 13, 131 or 1317?
//
// The next token, the runtime's form or the start of other lines decide. Otherwise the length is 0,
// because a wrong figure is worse than a lost one.
func ownLength(pos position, b []byte) int {
	t, next := &grammar[pos], &grammar[pos+1]
	n := digits(b)
	if t.decimal && n < len(b) && b[n] == '.' {
		if places := digits(b[n+1:]); places > 0 {
			n += 1 + places
		}
	}
	text, rest := b[:n], b[n:]
	if at := clockAt(b, n); at >= 0 {
		return at
	}
	switch {
	case n == 0, len(rest) == 0, hasPrefix(rest, next.lit),
		next.alt != "" && hasPrefix(rest, next.alt):
		return n
	case pos == posAt:
		return len(secondsForm.Find(text))
	case bytes.IndexByte(text, '.') >= 0:
		return len(millisForm.Find(text))
	case text[0] == '0':
		return 1
	case t.decimal && n == 1, !lineStart.Match(rest):
		return 0
	}
	return n
}

// clocks are how lines of package log, and of log/slog and RFC 3339, begin.
var clocks = []string{"2006/01/02", "2006-01-02", "15:04:05"}

// clockAt returns where a date or time begins in the digits before end, or -1.
func clockAt(b []byte, end int) int {
	for _, form := range clocks {
		if at := end - strings.IndexAny(form, "/-:"); at >= 0 && alike(b[at:], form) {
			return at
		}
	}
	return -1
}

// alike reports whether b begins as form, with any digits.
func alike(b []byte, form string) bool {
	for i := range len(form) {
		if i == len(b) || b[i] != form[i] && !(isDigit(b[i]) && isDigit(form[i])) {
			return false
		}
	}
	return true
}

// lineStart matches how program output may start. " things" is more likely its middle.
var lineStart = regexp.MustCompile(`^([\x00-\x1fA-Za-z\x80-\x{10ffff}{[(<>"'=*#$!|_\\@` + "`" + `]| [ \t]|\.(\D|$))`)

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
