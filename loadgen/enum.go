package loadgen

import (
	"fmt"
	"slices"
	"strings"
)

// enumString is the text of a constant, whose texts are in order.
func enumString(i int, texts []string, name string) string {
	if i < 0 || i >= len(texts) {
		return fmt.Sprintf("%s(%d)", name, i)
	}
	return texts[i]
}

func enumMarshal(i int, texts []string, what string) ([]byte, error) {
	if i < 0 || i >= len(texts) {
		return nil, fmt.Errorf("loadgen: no %s has the number %d", what, i)
	}
	return []byte(texts[i]), nil
}

func enumUnmarshal(text []byte, texts []string, what string) (int, error) {
	i := slices.Index(texts, string(text))
	if i < 0 {
		return 0, fmt.Errorf("loadgen: no %s %q; there are %s", what, text, strings.Join(texts, ", "))
	}
	return i, nil
}
