package feed

import (
	"html"
	"strings"
	"unicode/utf8"
)

// plainText makes one line of plain text from what feeds put into their elements: tags
// removed, character references resolved, white space collapsed, at most maxLen bytes.
//
// It is for looks, not for safety: "&lt;b&gt;" comes out as "<b>". Whoever writes the text
// into a page has to escape it.
func plainText(s string, maxLen int) string {
	s = html.UnescapeString(stripTags(s))
	s = strings.Join(strings.Fields(s), " ")
	return cut(s, maxLen)
}

// stripTags replaces each tag with a space. A '<' opens a tag if a letter, '/' or '!'
// follows, so that "2 < 3" stays; a tag that is never closed takes the rest.
func stripTags(s string) string {
	if strings.IndexByte(s, '<') < 0 {
		return s
	}
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '<')
		if open < 0 || open+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:open])
		if s = s[open:]; !opensTag(s[1]) {
			b.WriteByte('<')
			s = s[1:]
			continue
		}
		b.WriteByte(' ')
		end := strings.IndexByte(s, '>')
		if end < 0 {
			return b.String()
		}
		s = s[end+1:]
	}
}

func opensTag(c byte) bool {
	return c == '/' || c == '!' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// cut shortens s to at most maxLen bytes, the ellipsis included, without splitting a rune.
func cut(s string, maxLen int) string {
	const ellipsis = "…"
	if len(s) <= maxLen {
		return s
	}
	end := maxLen - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}
