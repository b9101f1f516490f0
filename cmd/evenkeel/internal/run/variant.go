package run

import (
	"errors"
	"fmt"
	"strings"
)

type variant struct {
	label string
	env   []string // NAME=VALUE
	args  []string
}

const variantForm = "write it as 'LABEL: [NAME=VALUE...] [ARG...]', such as 'no gc: GOGC=off'"

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

func isAssignment(w string) bool {
	name, _, ok := strings.Cut(w, "=")
	for i, c := range name {
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return ok && name != ""
}

// splitWords splits at blanks outside quotes, with backslashes (POSIX shell, 2.2; no expansions).
func splitWords(s string) ([]string, error) {
	var words []string
	var word []byte
	inWord, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '\'':
			if i++; i == len(s) {
				return nil, errors.New("nothing follows the backslash at its end")
			}
			if quote == '"' && !strings.ContainsRune("$`\"\\", rune(s[i])) {
				word = append(word, '\\')
			}
			inWord, word = true, append(word, s[i])
		case c == quote && quote != 0:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			inWord, quote = true, c
		case strings.IndexByte(" \t\r\n", c) < 0:
			inWord, word = true, append(word, c)
		case inWord:
			words, word, inWord = append(words, string(word)), word[:0], false
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if inWord {
		words = append(words, string(word))
	}
	return words, nil
}
