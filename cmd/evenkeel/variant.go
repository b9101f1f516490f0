package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// variant is one way to start the service.
type variant struct {
	label string
	env   []string // NAME=VALUE
	args  []string // appended to COMMAND
}

const variantForm = "write it as 'LABEL: [NAME=VALUE...] [ARG...]', for instance 'no gc: GOGC=off' or 'big: -cache=1000'"

// parseVariant reads 'LABEL: [NAME=VALUE...] [ARG...]'. Words are split as a shell does.
func parseVariant(s string) (variant, error) {
	label, rest, ok := strings.Cut(s, ":")
	v := variant{label: strings.TrimSpace(label)}
	if !ok || v.label == "" {
		return v, fmt.Errorf("-variant %q: no label; %s", s, variantForm)
	}
	words, err := splitWords(rest)
	if err != nil {
		return v, fmt.Errorf("-variant %q: %w; %s", s, err, variantForm)
	}
	for len(words) > 0 && isAssignment(words[0]) {
		v.env = append(v.env, words[0])
		words = words[1:]
	}
	v.args = words
	return v, nil
}

// isAssignment reports whether a word is NAME=VALUE as a shell sees it.
func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	for i, c := range name {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return ok && name != ""
}

// splitWords splits at white space outside quotes; a backslash outside single quotes takes
// the next character as it is (POSIX shell, 2.2; no expansions).
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, c := range s {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			inWord, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			inWord, quote = true, c
		case unicode.IsSpace(c):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or backslash is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
