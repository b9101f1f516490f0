package page

import (
	"html"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Highlight returns text as HTML with each occurrence of term, whatever the case, inside a <mark>.
// Everything is escaped.
//
// Two runes are the same letter if unicode.ToLower says so, as in strings.ToLower. Offsets into a
// lower-case copy would be wrong, because "Ⱥ" has two bytes and "ⱥ" three.
func Highlight(text, term string) template.HTML {
	const open, shut = "<mark>", "</mark>"
	term = strings.ToLower(term)
	start, end := find(text, term)
	if start < 0 {
		return template.HTML(html.EscapeString(text))
	}
	var b strings.Builder
	b.Grow(len(text) + 2*len(open+shut))
	for start >= 0 {
		b.WriteString(html.EscapeString(text[:start]))
		b.WriteString(open)
		b.WriteString(html.EscapeString(text[start:end]))
		b.WriteString(shut)
		text = text[end:]
		start, end = find(text, term)
	}
	b.WriteString(html.EscapeString(text))
	return template.HTML(b.String())
}

// find returns the bounds of the first occurrence of lower, or -1.
func find(text, lower string) (start, end int) {
	if lower == "" {
		return -1, -1
	}
	head, _ := utf8.DecodeRuneInString(lower)
	for i := 0; i < len(text); {
		r, size := lowerRune(text[i:])
		if r == head {
			if n := prefixLen(text[i:], lower); n > 0 {
				return i, i + n
			}
		}
		i += size
	}
	return -1, -1
}

// prefixLen returns the length of the prefix of text that folds to lower.
func prefixLen(text, lower string) int {
	n := 0
	for _, want := range lower {
		r, size := lowerRune(text[n:])
		if size == 0 || r != want {
			return 0
		}
		n += size
	}
	return n
}

func lowerRune(s string) (r rune, size int) {
	if len(s) > 0 && s[0] < utf8.RuneSelf {
		if c := s[0]; 'A' <= c && c <= 'Z' {
			return rune(c) + 'a' - 'A', 1
		}
		return rune(s[0]), 1
	}
	r, size = utf8.DecodeRuneInString(s)
	return unicode.ToLower(r), size
}
